import { shapeRows, testContract } from "../../test/contract-rows.ts";
import { accessContext, authorizationDecision, authorizationRequest } from "../../test/valid-objects.ts";
import {
  AccessContextSchema,
  AuthorizationDecisionSchema,
  AuthorizationRequestSchema,
  DiscoveryContextSchema,
} from "./access.ts";

const alwaysNeeded = ["actor", "enabledToolNamespaces", "namespaceId", "now", "owner", "purpose", "traceId"];

testContract("an access context", AccessContextSchema, [
  ...shapeRows(accessContext, { required: ["authority", ...alwaysNeeded], optional: ["executionId"] }),
  { name: "with 0 namespaces", value: { ...accessContext, enabledToolNamespaces: [] } },
  { name: "with 256 namespaces", value: { ...accessContext, enabledToolNamespaces: Array(256).fill("files") } },
  {
    name: "with 257 namespaces",
    value: { ...accessContext, enabledToolNamespaces: Array(257).fill("files") },
    refusedAt: "/enabledToolNamespaces",
  },
  { name: "with a namespace named twice", value: { ...accessContext, enabledToolNamespaces: ["files", "files"] } },
  {
    name: "with an empty namespace",
    value: { ...accessContext, enabledToolNamespaces: [""] },
    refusedAt: "/enabledToolNamespaces/0",
  },
  { name: "whose now has no offset", value: { ...accessContext, now: "2026-02-01T09:00:00" }, refusedAt: "/now" },
  { name: "whose purpose has 512 characters", value: { ...accessContext, purpose: "a".repeat(512) } },
  {
    name: "whose purpose has 513 characters",
    value: { ...accessContext, purpose: "a".repeat(513) },
    refusedAt: "/purpose",
  },
  { name: "that brings grants", value: { ...accessContext, grants: [] }, refusedAt: "/grants" },
]);

testContract(
  "a context to read with",
  DiscoveryContextSchema,
  shapeRows(accessContext, { required: alwaysNeeded, optional: ["authority", "executionId"] }),
);

testContract("an authorization request", AuthorizationRequestSchema, [
  ...shapeRows(authorizationRequest, { required: ["action", "resource"] }),
  { name: "with an action of 128 characters", value: { ...authorizationRequest, action: "a".repeat(128) } },
  {
    name: "with an action of 129 characters",
    value: { ...authorizationRequest, action: "a".repeat(129) },
    refusedAt: "/action",
  },
  { name: "that brings a context", value: { ...authorizationRequest, context: accessContext }, refusedAt: "/context" },
  { name: "that brings grants", value: { ...authorizationRequest, grants: [] }, refusedAt: "/grants" },
]);

testContract("an authorization decision", AuthorizationDecisionSchema, [
  ...shapeRows(authorizationDecision, {
    required: ["allowed", "reasonCode"],
    optional: ["matchedGrantId", "metadata", "requiredAuthority"],
  }),
  { name: "with a reason of the host's own", value: { allowed: false, reasonCode: "acme.closed_today" } },
  { name: "whose answer is a string", value: { allowed: "true", reasonCode: "allowed" }, refusedAt: "/allowed" },
  { name: "with an empty reason", value: { allowed: false, reasonCode: "" }, refusedAt: "/reasonCode" },
]);
