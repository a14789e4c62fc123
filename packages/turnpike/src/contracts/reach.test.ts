import { shapeRows, testContract } from "../../test/contract-rows.ts";
import { reachEntry, reachResults } from "../../test/valid-objects.ts";
import { ReachEntrySchema, ReachResultSchema } from "./reach.ts";

testContract("a reach entry", ReachEntrySchema, [
  ...shapeRows(reachEntry, { required: ["namespace", "path", "actions", "scope"] }),
  { name: "with a grant id", value: { ...reachEntry, grantId: "grant-1" }, refusedAt: "/grantId" },
  { name: "with an issuer", value: { ...reachEntry, issuer: "alice" }, refusedAt: "/issuer" },
  { name: "with an expiry", value: { ...reachEntry, expiresAt: "2026-01-01T00:00:00Z" }, refusedAt: "/expiresAt" },
  { name: "with an empty action", value: { ...reachEntry, actions: [""] }, refusedAt: "/actions/0" },
  { name: "with a bad path", value: { ...reachEntry, path: ["a/b"] }, refusedAt: "/path/0" },
  { name: "of an unknown scope", value: { ...reachEntry, scope: "all" }, refusedAt: "/scope" },
]);

testContract("a computed reach", ReachResultSchema, [
  ...shapeRows(reachResults.computed, { required: ["status", "reach"] }),
  { name: "of nothing", value: { status: "computed", reach: [] } },
  {
    name: "with a reason",
    value: { ...reachResults.computed, reasonCode: "authority_unavailable" },
    refusedAt: "/reasonCode",
  },
]);

testContract("an unavailable reach", ReachResultSchema, [
  ...shapeRows(reachResults.unavailable, { required: ["status", "reasonCode"] }),
  { name: "for want of authority", value: { status: "unavailable", reasonCode: "authority_unavailable" } },
  {
    name: "for another reason",
    value: { status: "unavailable", reasonCode: "audit_unavailable" },
    refusedAt: "/reasonCode",
  },
  { name: "with a shortened list", value: { ...reachResults.unavailable, reach: [] }, refusedAt: "/reach" },
]);

testContract("a reach", ReachResultSchema, [
  { name: "of another status", value: { status: "partial", reach: [] }, refusedAt: "/status" },
]);
