import { describe, expect, test } from "vitest";
import {
  ask,
  assistant,
  capability,
  child,
  context,
  grant,
  justAfter,
  now,
  olivia,
  parent,
  stranger,
  world,
} from "../../test/decisions.ts";
import { memoryUsage } from "../testing/index.ts";
import type { Grant, PrincipalRef } from "../contracts/index.ts";
import { coverageOf, type ExplainedReach, type ReachScope } from "./explain-reach.ts";
import { KernelError } from "./kernel-error.ts";

const reports = { namespace: "documents", path: ["reports"], actions: ["read"], scope: "descendants" };

/** The assistant, whose grants and resources these are. */
function everywhere(changes: Partial<ReachScope> = {}): ReachScope {
  const { authority: _authority, owner: _owner, ...rest } = context();
  return { ...rest, ...changes };
}

async function explained(held: Grant[], scope: ReachScope = everywhere()): Promise<ExplainedReach[]> {
  const usage = memoryUsage();
  await usage.consume("tenant-1", "spent", 1);
  const result = await world(held, { usage }).kernel.explainReach(scope);
  return result.status === "computed" ? result.reach : [];
}

describe("explained reach", () => {
  const outdated: { name: string; held: Grant[] }[] = [
    { name: "expired", held: [grant({ constraints: { expiresAt: now } })] },
    { name: "was revoked", held: [grant({ revokedAt: now })] },
    { name: "is not issued yet", held: [grant({ issuedAt: justAfter })] },
    { name: "is not valid yet", held: [grant({ constraints: { notBefore: justAfter } })] },
    { name: "is used up", held: [grant({ id: "spent", constraints: { maxUses: 1 } })] },
    { name: "serves another purpose", held: [grant({ constraints: { purposes: ["billing"] } })] },
    { name: "has a revoked parent", held: [child(), parent({ revokedAt: now })] },
    { name: "has no parent", held: [child()] },
    { name: "belongs to another tenant", held: [grant({ namespaceId: "tenant-2" })] },
    { name: "belongs to another subject", held: [grant({ subject: stranger })] },
  ];
  for (const { name, held } of outdated) {
    test(`has nothing of a grant that ${name}`, async () => {
      expect(await explained(held)).toEqual([]);
    });
  }

  test("names every grant that says so, one entry a place", async () => {
    const held = [grant({ id: "b" }), grant({ id: "a", capabilities: [capability({ actions: ["write", "read"] })] })];
    expect(await explained(held)).toEqual([{ ...reports, actions: ["read", "write"], grantIds: ["a", "b"] }]);
    expect(await explained([child(), parent()])).toEqual([{ ...reports, grantIds: ["child"] }]);
  });

  test("separates what needs approval from what does not", async () => {
    const guarded = { ...capability({ actions: ["write"] }), approval: "each" as const };
    expect(await explained([grant({ capabilities: [capability(), guarded] })])).toEqual([
      { ...reports, actions: ["write"], approval: "each", grantIds: ["grant-1"] },
      { ...reports, grantIds: ["grant-1"] },
    ]);
  });

  test("is over the resources of every owner, and says whose, unless one is given", async () => {
    const held = [
      grant({ capabilities: [capability(), capability({ owner: olivia }), capability({ owner: stranger })] }),
    ];
    const entry = { ...reports, grantIds: ["grant-1"] };
    const [ofOlivia, ofStranger] = [
      { ...entry, owner: olivia },
      { ...entry, owner: stranger },
    ];
    expect(await explained(held)).toEqual([ofOlivia, ofStranger, entry]);
    expect(await explained(held, everywhere({ owner: olivia }))).toEqual([ofOlivia, entry]);
  });

  test("is that of every issuer unless an authority is given", async () => {
    const held = [grant(), grant({ id: "other", issuer: stranger })];
    expect(await explained(held)).toMatchObject([{ grantIds: ["grant-1", "other"] }]);
    expect(await explained(held, everywhere({ authority: stranger }))).toMatchObject([{ grantIds: ["other"] }]);
  });

  test("has the same places as reach has for the same context", async () => {
    const held = [
      grant({ capabilities: [capability(), capability({ owner: stranger, path: ["other"] })] }),
      grant({ id: "spent", constraints: { maxUses: 1 }, capabilities: [capability({ path: ["spent"] })] }),
      grant({ id: "late", revokedAt: now, capabilities: [capability({ path: ["late"] })] }),
    ];
    const usage = memoryUsage();
    await usage.consume("tenant-1", "spent", 1);
    const { kernel } = world(held, { usage });
    expect(await kernel.reach(context())).toEqual({ status: "computed", reach: [reports] });
    expect(await kernel.explainReach(context())).toEqual({
      status: "computed",
      reach: [{ ...reports, grantIds: ["grant-1"] }],
    });
  });

  test("is not in the audit log, because nothing was done, and takes no use", async () => {
    const { kernel, audit, usage } = world([grant({ constraints: { maxUses: 1 } })]);
    expect(await kernel.explainReach(everywhere())).toMatchObject({ status: "computed", reach: [{}] });
    expect(audit.events).toEqual([]);
    expect(await usage.used("tenant-1", "grant-1")).toBe(0);
  });

  test("is unavailable as a whole when it cannot be told", async () => {
    const unread = world({ load: () => Promise.reject(new Error("down")) });
    expect(await unread.kernel.explainReach(everywhere())).toEqual({
      status: "unavailable",
      reasonCode: "authority_unavailable",
    });
    const uncounted = world([grant(), grant({ id: "bounded", constraints: { maxUses: 1 } })], { usage: "none" });
    expect(await uncounted.kernel.explainReach(everywhere())).toEqual({
      status: "unavailable",
      reasonCode: "usage_store_unavailable",
    });
  });

  test("takes no longer for grants of one place than for as many of places of their own", async () => {
    const count = 3000;
    const timeOf = async (pathOf: (place: number) => string[]): Promise<number> => {
      const held = Array.from({ length: count }, (_, place) =>
        grant({ id: `grant-${place}`, capabilities: [capability({ path: pathOf(place) })] }),
      );
      const { kernel } = world(held);
      // What is read and checked once for a set of grants is not counted.
      await kernel.explainReach(everywhere());
      // The shortest of several: other processes and the garbage collector only make one longer.
      const times: number[] = [];
      while (times.length < 5) {
        const started = performance.now();
        await kernel.explainReach(everywhere());
        times.push(performance.now() - started);
      }
      return Math.min(...times);
    };
    const apart = await timeOf((place) => [`place-${place}`]);
    expect(await timeOf(() => ["one"])).toBeLessThan(apart * 3 + 300);
  });

  test("throws for a scope that does not fit", async () => {
    const error: unknown = await world([])
      .kernel.explainReach(everywhere({ purpose: "" }))
      .catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(KernelError);
    expect(error).toMatchObject({ code: "invalid_context" });
  });

  test("rejects with the signal's own reason when it was aborted before", async () => {
    const reason = new Error("the caller left");
    const call = { signal: AbortSignal.abort(reason) };
    await expect(world([grant()]).kernel.explainReach(everywhere(), call)).rejects.toBe(reason);
  });
});

describe("what a grant covers", () => {
  const place = { namespace: "documents", path: ["reports", "q1"] };

  const rows: {
    name: string;
    capabilities: Grant["capabilities"];
    owner?: PrincipalRef;
    action?: string;
    is: object[];
  }[] = [
    { name: "a place below it", capabilities: [capability()], is: [{ actions: ["read"] }] },
    { name: "a place below one that is exact", capabilities: [capability({ scope: "exact" })], is: [] },
    { name: "a place beside it", capabilities: [capability({ path: ["reports", "q"] })], is: [] },
    { name: "another namespace", capabilities: [capability({ namespace: "mail" })], is: [] },
    {
      name: "the action asked for",
      capabilities: [capability({ actions: ["read", "write"] })],
      action: "write",
      is: [{ actions: ["write"] }],
    },
    { name: "another action", capabilities: [capability()], action: "write", is: [] },
    {
      name: "every action",
      capabilities: [capability({ actions: ["*"] })],
      action: "write",
      is: [{ actions: ["*"] }],
    },
    {
      name: "what several capabilities allow",
      capabilities: [capability({ actions: ["write"] }), capability(), capability({ path: [] })],
      is: [{ actions: ["read", "write"] }],
    },
    {
      name: "any owner's place, when no owner is asked for",
      capabilities: [capability({ owner: stranger })],
      is: [{ actions: ["read"], owner: stranger }],
    },
    {
      name: "the place of the owner that it names",
      capabilities: [capability({ owner: olivia })],
      owner: olivia,
      is: [{ actions: ["read"], owner: olivia }],
    },
    { name: "the place of another owner", capabilities: [capability({ owner: stranger })], owner: olivia, is: [] },
    { name: "any owner's place", capabilities: [capability()], owner: olivia, is: [{ actions: ["read"] }] },
    {
      name: "what needs approval, apart",
      capabilities: [capability(), { ...capability({ actions: ["write"] }), approval: "each" }],
      is: [{ actions: ["write"], approval: "each" }, { actions: ["read"] }],
    },
  ];
  for (const { name, capabilities, owner, action, is } of rows) {
    test(`${is.length > 0 ? "has" : "has not"} ${name}`, () => {
      const found = coverageOf(grant({ capabilities }), { ...place, ...(owner && { owner }) }, action);
      expect(found).toEqual(is);
    });
  }

  test("is what a decision allows", async () => {
    const held = grant({
      capabilities: [capability({ actions: ["read"] }), capability({ path: ["x"], actions: ["*"] })],
    });
    const { kernel } = world([held]);
    for (const request of [ask(), ask({ action: "write" }), ask({ path: ["x", "y"], action: "write" })]) {
      const { allowed } = await kernel.authorize(context({ actor: assistant }), request);
      expect(coverageOf(held, request.resource, request.action).length > 0).toBe(allowed);
    }
  });
});
