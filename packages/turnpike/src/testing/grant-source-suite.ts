import type { Grant, PrincipalRef } from "../contracts/index.ts";
import { parseInstant } from "../internal/index.ts";
import type { GrantScope, GrantSource, VersionedGrants } from "../kernel/index.ts";
import { expectSame, type PortCase } from "./port-case.ts";

/** A grant source that holds exactly the given grants, and a way to revoke one of them. */
export interface GrantSourceUnderTest {
  source: GrantSource;
  revoke(namespaceId: string, grantId: string, at: string): Promise<void> | void;
}

const alice: PrincipalRef = { kind: "human", userId: "alice" };
const bob: PrincipalRef = { kind: "human", userId: "bob" };
const assistant: PrincipalRef = { kind: "agent", agentId: "assistant" };
const namesake: PrincipalRef = { kind: "service", serviceId: "assistant" };
const now = "2026-01-01T12:00:00Z";

function grant(id: string, changes: Partial<Grant> = {}): Grant {
  return {
    id,
    namespaceId: "tenant-1",
    subject: assistant,
    issuer: alice,
    capabilities: [
      { resource: { namespace: "files", path: ["a", "b c", "ä"] }, actions: ["read", "*"], scope: "descendants" },
    ],
    constraints: {},
    issuedAt: "2026-01-01T10:00:00+01:00",
    ...changes,
  };
}

const full: Grant = grant("full", {
  constraints: {
    purposes: ["support"],
    notBefore: "2026-01-01T00:00:00Z",
    expiresAt: "2027-01-01T00:00:00.123456Z",
    maxUses: 3,
    delegationDepth: 0,
  },
  capabilities: [{ resource: { namespace: "files", owner: alice, path: [] }, actions: ["read"], scope: "exact" }],
  parentId: "elsewhere",
  metadata: { note: { nested: [1, null, "x"] } },
});

const world: readonly Grant[] = [
  grant("plain"),
  full,
  grant("from-bob", { issuer: bob }),
  grant("of-namesake", { subject: namesake }),
  grant("other-tenant", { namespaceId: "tenant-2" }),
  grant("plain", { namespaceId: "tenant-3" }),
];

/** A source may say that a grant was revoked earlier than it was, so that no clock brings it back, but never later. */
function isRevokedAt(found: Grant | undefined, at: string): boolean {
  const revokedAt = found?.revokedAt === undefined ? undefined : parseInstant(found.revokedAt);
  return revokedAt !== undefined && revokedAt <= (parseInstant(at) ?? Number.NaN);
}

function scope(changes: Partial<GrantScope> = {}): GrantScope {
  return {
    namespaceId: "tenant-1",
    actor: assistant,
    authority: alice,
    owner: alice,
    purpose: "any",
    now,
    traceId: "trace-1",
    ...changes,
  };
}

function grantsOf(answer: readonly Grant[] | VersionedGrants): readonly Grant[] {
  return "version" in answer ? answer.grants : answer;
}

/**
 * Whether a grant source answers exactly what it is asked for, and forgets nothing.
 *
 * @example
 * import { grantSourceSuite, memoryGrants } from "turnpike/testing";
 *
 * const cases = grantSourceSuite(async (grants) => {
 *   const source = memoryGrants(grants);
 *   return { source, revoke: source.revoke };
 * });
 * for (const { run } of cases) await run();
 * console.log(cases.length > 0); // true
 */
export function grantSourceSuite(open: (grants: readonly Grant[]) => Promise<GrantSourceUnderTest>): PortCase[] {
  const signal = new AbortController().signal;
  const idsOf = async ({ source }: GrantSourceUnderTest, asked: GrantScope): Promise<string[]> =>
    grantsOf(await source.load(asked, signal))
      .map(({ id }) => id)
      .toSorted();
  return [
    {
      name: "loads the grants of this actor from this issuer in this tenant, and no others",
      async run() {
        const opened = await open(world);
        expectSame(await idsOf(opened, scope()), ["full", "plain"], "grants from alice");
        expectSame(await idsOf(opened, scope({ authority: bob })), ["from-bob"], "grants from bob");
        expectSame(
          await idsOf(opened, scope({ namespaceId: "tenant-2" })),
          ["other-tenant"],
          "grants of another tenant",
        );
        expectSame(
          await idsOf(opened, scope({ actor: namesake })),
          ["of-namesake"],
          "grants of a namesake of another kind",
        );
      },
    },
    {
      name: "loads the grants of every issuer when no authority is given",
      async run() {
        const { authority: _any, ...anyIssuer } = scope();
        expectSame(await idsOf(await open(world), anyIssuer), ["from-bob", "full", "plain"], "grants of any issuer");
      },
    },
    {
      name: "answers with an empty list when there is nothing, and does not throw",
      async run() {
        expectSame(await idsOf(await open(world), scope({ actor: bob })), [], "grants of an actor without any");
      },
    },
    {
      name: "gives every field back as it was",
      async run() {
        const { source } = await open(world);
        const loaded = grantsOf(await source.load(scope(), signal)).find(({ id }) => id === "full");
        expectSame(loaded, full, "the grant with every field");
      },
    },
    {
      name: "leaves inactive grants in the answer: what is live is the kernel's to say",
      async run() {
        const inactive = grant("expired", { constraints: { expiresAt: "2020-01-01T00:00:00Z" } });
        expectSame(await idsOf(await open([inactive]), scope()), ["expired"], "an expired grant");
      },
    },
    {
      name: "shows a revocation to the next load and the next find",
      async run() {
        const opened = await open(world);
        await opened.source.load(scope(), signal);
        await opened.revoke("tenant-1", "plain", now);
        const loaded = grantsOf(await opened.source.load(scope(), signal)).find(({ id }) => id === "plain");
        expectSame(isRevokedAt(loaded, now), true, "whether the loaded grant is revoked");
        const found = await opened.source.find?.("tenant-1", "plain", signal);
        expectSame(isRevokedAt(found, now), opened.source.find !== undefined, "whether the found grant is revoked");
        expectSame(
          (await opened.source.find?.("tenant-3", "plain", signal))?.revokedAt,
          undefined,
          "the same id elsewhere",
        );
      },
    },
    {
      name: "finds one grant by tenant and id, and undefined where there is none",
      async run() {
        const { source } = await open(world);
        if (source.find === undefined) return;
        expectSame(
          (await source.find("tenant-2", "other-tenant", signal))?.namespaceId,
          "tenant-2",
          "a grant of another tenant",
        );
        expectSame(
          (await source.find("tenant-3", "plain", signal))?.namespaceId,
          "tenant-3",
          "an id that two tenants use",
        );
        expectSame(
          (await source.find("tenant-2", "plain", signal)) === undefined,
          true,
          "a grant that only others have",
        );
        expectSame(
          (await source.find("tenant-1", "no-such", signal)) === undefined,
          true,
          "a grant that does not exist",
        );
      },
    },
  ];
}
