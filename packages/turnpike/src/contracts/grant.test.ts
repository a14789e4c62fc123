import { shapeRows, testContract } from "../../test/contract-rows.ts";
import { authorityRequest, capability, constraints, grant } from "../../test/valid-objects.ts";
import { AuthorityRequestSchema, CapabilitySchema, ConstraintsSchema, GrantSchema, ScopeSchema } from "./grant.ts";

testContract("a scope", ScopeSchema, [
  { name: "exact", value: "exact" },
  { name: "descendants", value: "descendants" },
  { name: "children", value: "children", refusedAt: "" },
]);

testContract("a capability", CapabilitySchema, [
  ...shapeRows(capability, { required: ["resource", "actions", "scope"] }),
  { name: "for every action", value: { ...capability, actions: ["*"] } },
  { name: "with 64 actions", value: { ...capability, actions: Array(64).fill("read") } },
  { name: "with 65 actions", value: { ...capability, actions: Array(65).fill("read") }, refusedAt: "/actions" },
  { name: "with 0 actions", value: { ...capability, actions: [] }, refusedAt: "/actions" },
  { name: "with an empty action", value: { ...capability, actions: ["read", ""] }, refusedAt: "/actions/1" },
  { name: "whose actions are a string", value: { ...capability, actions: "*" }, refusedAt: "/actions" },
]);

testContract("a set of constraints", ConstraintsSchema, [
  ...shapeRows(constraints, {
    required: [],
    optional: ["purposes", "notBefore", "expiresAt", "maxUses", "delegationDepth", "budgets"],
  }),
  { name: "that is empty", value: {} },
  { name: "with 1 purpose", value: { purposes: ["help"] } },
  { name: "with 64 purposes", value: { purposes: Array(64).fill("help") } },
  { name: "with 0 purposes", value: { purposes: [] }, refusedAt: "/purposes" },
  { name: "with 65 purposes", value: { purposes: Array(65).fill("help") }, refusedAt: "/purposes" },
  { name: "with a purpose of 513 characters", value: { purposes: ["a".repeat(513)] }, refusedAt: "/purposes/0" },
  { name: "with 1 use", value: { maxUses: 1 } },
  { name: "with 0 uses", value: { maxUses: 0 }, refusedAt: "/maxUses" },
  { name: "with one and a half uses", value: { maxUses: 1.5 }, refusedAt: "/maxUses" },
  { name: "with a number of uses in a string", value: { maxUses: "3" }, refusedAt: "/maxUses" },
  { name: "with four budgets", value: { budgets: Array.from({ length: 4 }, () => ({ unit: "EUR", limit: "1" })) } },
  {
    name: "with five budgets",
    value: { budgets: Array.from({ length: 5 }, () => ({ unit: "EUR", limit: "1" })) },
    refusedAt: "/budgets",
  },
  { name: "with no budget", value: { budgets: [] }, refusedAt: "/budgets" },
  { name: "with delegation depth 0", value: { delegationDepth: 0 } },
  { name: "with delegation depth -1", value: { delegationDepth: -1 }, refusedAt: "/delegationDepth" },
  { name: "with delegation depth 0.5", value: { delegationDepth: 0.5 }, refusedAt: "/delegationDepth" },
  {
    name: "with a window of no length",
    value: { notBefore: "2026-01-01T00:00:00Z", expiresAt: "2026-01-01T00:00:00Z" },
  },
  {
    name: "with a window that only its offsets put in order",
    value: { notBefore: "2026-01-01T01:00:00+02:00", expiresAt: "2026-01-01T00:00:00Z" },
  },
  {
    name: "with a window that ends before it starts",
    value: { notBefore: "2026-01-01T00:00:00.001Z", expiresAt: "2026-01-01T00:00:00Z" },
    refusedAt: "/notBefore",
  },
  {
    name: "with a window that its offsets turn round",
    value: { notBefore: "2026-01-01T00:00:00Z", expiresAt: "2026-01-01T01:00:00+02:00" },
    refusedAt: "/notBefore",
  },
]);

testContract("a grant", GrantSchema, [
  ...shapeRows(grant, {
    required: ["id", "namespaceId", "subject", "issuer", "capabilities", "constraints", "issuedAt"],
    optional: ["revokedAt", "parentId", "metadata"],
  }),
  { name: "without any constraint", value: { ...grant, constraints: {} } },
  { name: "with 64 capabilities", value: { ...grant, capabilities: Array(64).fill(capability) } },
  {
    name: "with 65 capabilities",
    value: { ...grant, capabilities: Array(65).fill(capability) },
    refusedAt: "/capabilities",
  },
  { name: "with 0 capabilities", value: { ...grant, capabilities: [] }, refusedAt: "/capabilities" },
  { name: "whose subject is a name", value: { ...grant, subject: "assistant" }, refusedAt: "/subject" },
  { name: "issued on a day", value: { ...grant, issuedAt: "2026-01-01" }, refusedAt: "/issuedAt" },
  { name: "whose metadata is a list", value: { ...grant, metadata: [] }, refusedAt: "/metadata" },
]);

testContract("an authority request", AuthorityRequestSchema, [
  ...shapeRows(authorityRequest, {
    required: ["id", "namespaceId", "owner", "requester", "purpose", "requestedAt", "capabilities"],
    optional: ["constraints", "metadata"],
  }),
  { name: "with 64 capabilities", value: { ...authorityRequest, capabilities: Array(64).fill(capability) } },
  {
    name: "with 65 capabilities",
    value: { ...authorityRequest, capabilities: Array(65).fill(capability) },
    refusedAt: "/capabilities",
  },
  {
    name: "with a window that ends before it starts",
    value: {
      ...authorityRequest,
      constraints: { notBefore: "2026-01-02T00:00:00Z", expiresAt: "2026-01-01T00:00:00Z" },
    },
    refusedAt: "/constraints/notBefore",
  },
]);
