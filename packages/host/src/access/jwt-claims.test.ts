import { describe, expect, test } from "vitest";
import { DiscoveryContextSchema } from "turnpike/contracts";
import { identityProvider, noon, trusting } from "../../test/identity-provider.ts";
import type { JwtConfig } from "./jwt-config.ts";
import { createJwtVerifier } from "./jwt.ts";

const plain: JwtConfig["claims"] = { tenant: "tenant", actor: "sub", purposes: "scope" };
const alice = { kind: "human", userId: "alice" };
const bot = { kind: "agent", agentId: "bot" };

async function accessBy(mapping: JwtConfig["claims"], claims: Record<string, unknown>) {
  const provider = await identityProvider();
  const verified = await createJwtVerifier(trusting(provider, { claims: mapping })).verify(
    await provider.sign(claims),
    noon,
  );
  return verified && { namespaceId: verified.namespaceId, ...verified.access };
}

describe("claims become a credential", () => {
  for (const row of [
    {
      name: "a subject with its kind is actor and owner",
      mapping: plain,
      claims: {},
      access: {
        namespaceId: "tenant-1",
        actor: alice,
        owner: alice,
        authority: alice,
        purposes: ["support", "billing"],
      },
    },
    {
      name: "a bare subject gets the configured kind",
      mapping: { ...plain, kind: "human" as const },
      claims: { sub: "alice" },
      access: {
        namespaceId: "tenant-1",
        actor: alice,
        owner: alice,
        authority: alice,
        purposes: ["support", "billing"],
      },
    },
    {
      name: "actor, owner, authority, tenant and purposes come from the claims they are mapped to",
      mapping: { tenant: "org", actor: "bot", owner: "user", authority: "boss", purposes: "why" },
      claims: { org: "acme", bot: "agent:bot", user: "human:alice", boss: "human:alice", why: ["support"] },
      access: { namespaceId: "acme", actor: bot, owner: alice, authority: alice, purposes: ["support"] },
    },
    {
      name: "an authority claim that is absent leaves the authority open",
      mapping: { ...plain, authority: "boss" },
      claims: {},
      access: {
        namespaceId: "tenant-1",
        actor: alice,
        owner: alice,

        purposes: ["support", "billing"],
      },
    },
    {
      name: "purposes may be a list, and one of them may have blanks",
      mapping: plain,
      claims: { scope: ["plan a trip", "support"] },
      access: {
        namespaceId: "tenant-1",
        actor: alice,
        owner: alice,
        authority: alice,
        purposes: ["plan a trip", "support"],
      },
    },
    {
      name: "whom it may name as sender is a list of principals, or words in one string",
      mapping: { ...plain, senders: "may_name" },
      claims: { may_name: "human:alice agent:bot" },
      access: {
        namespaceId: "tenant-1",
        actor: alice,
        owner: alice,
        authority: alice,
        purposes: ["support", "billing"],
        senders: [alice, bot],
      },
    },
    {
      name: "bare senders get the configured kind",
      mapping: { ...plain, kind: "human" as const, senders: "may_name" },
      claims: { sub: "alice", may_name: ["alice"] },
      access: {
        namespaceId: "tenant-1",
        actor: alice,
        owner: alice,
        authority: alice,
        purposes: ["support", "billing"],
        senders: [alice],
      },
    },
    ...[undefined, "", "unreadable", [7, null, "robot:x"], {}].map((may_name) => ({
      name: `a token that is to say whom it may name and says ${JSON.stringify(may_name)} may name no sender`,
      mapping: { ...plain, senders: "may_name" },
      claims: { may_name },
      access: {
        namespaceId: "tenant-1",
        actor: alice,
        owner: alice,
        authority: alice,
        purposes: ["support", "billing"],
        senders: [],
      },
    })),
    ...[true, "true", 1, undefined].map((pep) => ({
      name: `a token whose claim says ${JSON.stringify(pep)} may ${pep === true ? "" : "not "}ask about others`,
      mapping: { ...plain, evaluates: "pep" },
      claims: { pep, evaluates: true },
      access: {
        namespaceId: "tenant-1",
        actor: alice,
        owner: alice,
        authority: alice,
        purposes: ["support", "billing"],
        ...(pep === true && { evaluates: true }),
      },
    })),
    {
      name: "no claim lets a token ask about others unless one is configured",
      mapping: plain,
      claims: { evaluates: true, undefined: true },
      access: {
        namespaceId: "tenant-1",
        actor: alice,
        owner: alice,
        authority: alice,
        purposes: ["support", "billing"],
      },
    },
    {
      name: "no claim makes an operator",
      mapping: plain,
      claims: { admin: true, role: "admin" },
      access: {
        namespaceId: "tenant-1",
        actor: alice,
        owner: alice,
        authority: alice,
        purposes: ["support", "billing"],
      },
    },
  ]) {
    test(row.name, async () => {
      expect(await accessBy(row.mapping, row.claims)).toEqual(row.access);
    });
  }
});

describe("a token is not valid when", () => {
  for (const row of [
    { name: "it has no tenant", claims: { tenant: undefined } },
    { name: "its tenant is the operators' own", claims: { tenant: "operators" } },
    { name: "its tenant is no text", claims: { tenant: 7 } },
    { name: "its tenant is empty", claims: { tenant: "" } },
    { name: "its tenant is blank", claims: { tenant: "  " } },
    { name: "its tenant is too long for an identifier", claims: { tenant: "x".repeat(257) } },
    { name: "its subject has no kind", claims: { sub: "alice" } },
    { name: "its subject is of an unknown kind", claims: { sub: "robot:alice" } },
    { name: "it has no purposes", claims: { scope: undefined } },
    { name: "its purposes are empty", claims: { scope: "  " } },
    { name: "its purposes are no text", claims: { scope: [1, null, {}] } },
    { name: "its only purpose is too long for one", claims: { scope: "x".repeat(513) } },
    { name: "the owner it is to name is absent", claims: {}, mapping: { ...plain, owner: "user" } },
    { name: "the owner it names is none", claims: { user: "alice" }, mapping: { ...plain, owner: "user" } },
    { name: "the actor it is to name is absent", claims: {}, mapping: { ...plain, actor: "bot", owner: "sub" } },
    {
      name: "the bare id of its actor is no text",
      claims: { user: 7 },
      mapping: { ...plain, actor: "user", kind: "human" as const },
    },
    {
      name: "its bare id is mapped to a kind and empty",
      claims: { sub: " " },
      mapping: { ...plain, kind: "human" as const },
    },
  ]) {
    test(row.name, async () => {
      expect(await accessBy(row.mapping ?? plain, row.claims)).toBeUndefined();
    });
  }
});

test("whatever a token says, the context it leads to fits the contract", async () => {
  const unfit: string[] = [];
  for (const tenant of ["tenant-1", "", " ", "x".repeat(300)]) {
    const access = await accessBy(plain, { tenant });
    if (access === undefined) continue;
    const { purposes, ...rest } = access;
    const context = { ...rest, purpose: purposes[0], enabledToolNamespaces: [], now: noon.toISOString(), traceId: "t" };
    if (!DiscoveryContextSchema.safeParse(context).success) unfit.push(tenant);
  }
  expect(unfit).toEqual([]);
});
