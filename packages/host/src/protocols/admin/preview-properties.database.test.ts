import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  principalKey,
  type AccessContext,
  type AuthorizationRequest,
  type Constraints,
  type Grant,
  type PrincipalRef,
} from "turnpike/contracts";
import { databaseKinds, newTenant, sharedDatabase } from "../../../test/databases.ts";
import { bob, officeTime, openOffice, type Office } from "../../../test/office.ts";
import { alice, assistant, context, grant } from "../../../test/records.ts";

const helper: PrincipalRef = { kind: "agent", agentId: "helper" };
const principals = [alice, bob, assistant, helper];
const places = [["notes"], ["notes", "today"], ["letters"]];

const principal = fc.constantFrom(...principals);
const anyConstraints: fc.Arbitrary<Constraints> = fc.record(
  {
    delegationDepth: fc.integer({ min: 0, max: 3 }),
    expiresAt: fc.constantFrom("2026-01-01T11:00:00Z", "2027-01-01T00:00:00Z"),
    maxUses: fc.constant(1),
    purposes: fc.constantFrom(["support"], ["billing"], ["support", "billing"]),
  },
  { requiredKeys: [] },
);

/** Mostly those of a grant that counts and may be passed on. */
const constraints = fc.oneof(
  { weight: 2, arbitrary: fc.constant<Constraints>({ delegationDepth: 2 }) },
  { weight: 1, arbitrary: anyConstraints },
);

/** A grant of a small world; one with a parent is mostly passed on by the actor who holds that. */
const term = fc.record({
  subject: principal,
  issuer: principal,
  parent: fc.option(fc.nat({ max: 5 }), { nil: undefined, freq: 3 }),
  isOfHolder: fc.boolean(),
  place: fc.constantFrom(...places),
  approval: fc.option(fc.constant("each" as const), { nil: undefined, freq: 5 }),
  constraints,
  isSpent: fc.boolean(),
});
type Term = typeof term extends fc.Arbitrary<infer One> ? One : never;

const world = fc.record({
  held: fc.array(term, { minLength: 1, maxLength: 6 }),
  acts: fc.array(
    fc.record({
      /** Whose grant is exercised: one of those held, or the draft. */
      of: fc.nat({ max: 6 }),
      /** Where: there, or somewhere else. */
      elsewhere: fc.option(fc.constantFrom(...places, ["diary"]), { nil: undefined, freq: 2 }),
      purpose: fc.constantFrom("support", "billing"),
    }),
    { minLength: 4, maxLength: 10 },
  ),
  change: fc.oneof(fc.record({ draft: term }), fc.record({ revoke: fc.nat({ max: 5 }) })),
});

function grantOf(id: string, made: Term, namespaceId: string, held: readonly Grant[]): Grant {
  const parent = made.parent === undefined ? undefined : held[made.parent];
  const isDerived = parent !== undefined && made.isOfHolder;
  return grant(id, {
    namespaceId,
    subject: made.subject,
    issuer: isDerived ? parent.subject : made.issuer,
    capabilities: isDerived
      ? parent.capabilities
      : [
          {
            resource: { namespace: "files", path: made.place },
            actions: ["read"],
            scope: "descendants",
            ...(made.approval && { approval: made.approval }),
          },
        ],
    constraints: isDerived
      ? { ...parent.constraints, delegationDepth: Math.max(0, (parent.constraints.delegationDepth ?? 0) - 1) }
      : made.constraints,
    ...(parent && { parentId: parent.id }),
  });
}

/** How each act is decided now, by its key. */
async function verdicts({ kernel }: Office, asked: readonly [AccessContext, AuthorizationRequest][]) {
  const found = new Map<string, string>();
  for (const [who, request] of asked)
    found.set(keyOf(who, request.resource.path), (await kernel.explain(who, request)).decision.reasonCode);
  return found;
}

function keyOf(
  { actor, authority, purpose }: Pick<AccessContext, "actor" | "authority" | "purpose">,
  path: unknown,
): string {
  return JSON.stringify([principalKey(actor), principalKey(authority), purpose, path]);
}

interface Previewed {
  problem?: string;
  changed: (Pick<AccessContext, "actor" | "authority" | "purpose"> & {
    resource: { path: string[] };
    before: { reasonCode: string };
    after: { reasonCode: string };
  })[];
}

describe.each(databaseKinds)("on %s", (kind) => {
  const open = sharedDatabase(kind);

  test("a preview is what happens: the change is made, and the same acts are decided differently", async () => {
    const office = await openOffice(await open());
    const seen = { problems: 0, differences: 0 };
    await fc.assert(
      fc.asyncProperty(world, async ({ held, acts, change }) => {
        const namespaceId = newTenant();
        const issued: Grant[] = [];
        for (const [place, made] of held.entries()) {
          const one = grantOf(`grant-${place}`, made, namespaceId, issued);
          issued.push(one);
          await office.stores.grants.issue(one);
          if (made.isSpent && one.constraints.maxUses !== undefined)
            await office.stores.usage.consume(namespaceId, one.id, 1);
        }
        const known = "draft" in change ? [...issued, grantOf("draft", change.draft, namespaceId, issued)] : issued;
        const asked = acts.map(({ of, elsewhere, purpose }): [AccessContext, AuthorizationRequest] => {
          const { subject: actor, issuer: authority, capabilities } = known[of % known.length] ?? grant("none");
          const path = elsewhere ?? capabilities[0]?.resource.path ?? [];
          const request = { action: "read", resource: { namespace: "files", path } };
          return [context({ namespaceId, now: officeTime, actor, authority, purpose }), request];
        });
        for (const [who, request] of asked) await office.kernel.authorize(who, request);
        const before = await verdicts(office, asked);
        const [path, body, made] =
          "draft" in change
            ? draftOf(grantOf("draft", change.draft, namespaceId, issued), namespaceId)
            : revocationOf(issued[change.revoke % issued.length]?.id ?? "", namespaceId);
        const { body: previewed } = await office.post<Previewed>("/admin/v1/grants/preview", body);
        const { status } = await office.post(path, made);
        const after = await verdicts(office, asked);
        const differences = [...before].filter(([key, reason]) => after.get(key) !== reason);
        expect(previewed.problem !== undefined).toBe(status >= 400);
        expect(
          new Map(
            previewed.changed.map((one) => [
              keyOf(one, one.resource.path),
              [one.before.reasonCode, one.after.reasonCode],
            ]),
          ),
        ).toEqual(new Map(differences.map(([key, reason]) => [key, [reason, after.get(key)]])));
        seen.problems += previewed.problem === undefined ? 0 : 1;
        seen.differences += differences.length;
      }),
      { numRuns: 30 },
    );
    // The worlds are not all alike.
    expect([seen.problems > 0, seen.differences > 0]).toEqual([true, true]);
  });
});

function draftOf(draft: Grant, namespaceId: string): [string, object, object] {
  return ["/admin/v1/grants", { namespaceId, draft }, draft];
}

function revocationOf(id: string, namespaceId: string): [string, object, object] {
  return ["/admin/v1/grants/revoke", { namespaceId, revoke: id }, { namespaceId, id }];
}
