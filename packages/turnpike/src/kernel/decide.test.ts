import { describe, expect, test } from "vitest";
import {
  ask,
  capability,
  child,
  context,
  grant,
  now,
  parent,
  untyped,
  world,
  type World,
} from "../../test/decisions.ts";
import { memoryGrants, memoryResources, memoryUsage } from "../testing/index.ts";
import type { AccessContext, AuthorizationRequest, Grant, ResourceOperationRequest } from "../contracts/index.ts";
import type { GrantSource, HostPolicy, UsageStore } from "./ports.ts";

const bounded = (id: string, maxUses = 1): Grant => grant({ id, constraints: { maxUses } });

const operation = (operationId = "operation-1"): ResourceOperationRequest => ({ operationId, ...ask() });

/** A world whose documents can be read. */
function documents(held: readonly Grant[] | GrantSource, ports: Parameters<typeof world>[1] = {}): World {
  return world(held, { resources: [memoryResources("documents")], ...ports });
}

/** A usage store that records what it was asked. */
function listedUsage(spent: readonly string[] = []): { usage: UsageStore; calls: string[] } {
  const calls: string[] = [];
  return {
    calls,
    usage: {
      used(namespaceId, grantId) {
        calls.push(`used ${namespaceId} ${grantId}`);
        return Promise.resolve(spent.includes(grantId) ? 1_000 : 0);
      },
      consume(namespaceId, grantId, maxUses) {
        calls.push(`consume ${namespaceId} ${grantId} ${maxUses}`);
        return Promise.resolve(!spent.includes(grantId));
      },
    },
  };
}

const brokenUsage = (answer: () => unknown): UsageStore => ({
  used: async () => untyped<number>(await answer()),
  consume: async () => untyped<boolean>(await answer()),
});

const fail = (): never => {
  throw new Error("the port's own words");
};

describe("the order of candidates", () => {
  test("an unbounded grant is taken before a bounded one that was loaded first, and no use is spent", async () => {
    const { usage, calls } = listedUsage();
    const { kernel } = documents([bounded("bounded"), grant({ id: "unbounded" })], { usage });
    expect((await kernel.authorize(context(), ask())).matchedGrantId).toBe("unbounded");
    expect((await kernel.invokeResource(context(), operation())).status).toBe("succeeded");
    expect(calls).toEqual([]);
  });

  test("an unreadable usage store does not hide an unbounded grant", async () => {
    const { kernel, portErrors } = documents([bounded("bounded"), grant({ id: "unbounded" })], {
      usage: brokenUsage(fail),
    });
    expect((await kernel.authorize(context(), ask())).matchedGrantId).toBe("unbounded");
    expect((await kernel.invokeResource(context(), operation())).status).toBe("succeeded");
    expect(portErrors).toEqual([]);
  });

  test("an unbounded grant that is not live leaves the act to a bounded one", async () => {
    const { kernel } = world([grant({ id: "unbounded", revokedAt: now }), bounded("bounded")]);
    expect((await kernel.authorize(context(), ask())).matchedGrantId).toBe("bounded");
  });

  test("among equals the one that was loaded first is taken", async () => {
    const { kernel } = world([grant({ id: "first" }), grant({ id: "second" })]);
    expect((await kernel.authorize(context(), ask())).matchedGrantId).toBe("first");
  });

  test("a spent grant leaves the act to the next, until all are spent", async () => {
    const { kernel, audit } = documents([bounded("first"), bounded("second", 2)]);
    const statuses: string[] = [];
    for (const id of ["a", "b", "c", "d"])
      statuses.push((await kernel.invokeResource(context(), operation(id))).status);
    expect(statuses).toEqual(["succeeded", "succeeded", "succeeded", "denied"]);
    const decisions = audit.events.filter(({ type }) => type === "authorization.checked");
    expect(decisions.map(({ grantId }) => grantId)).toEqual(["first", "second", "second", undefined]);
    expect((await kernel.authorize(context(), ask())).reasonCode).toBe("grant_exhausted");
  });

  test("a grant whose chain is broken leaves the act to the next", async () => {
    const { kernel } = world([child(), grant({ id: "whole" })]);
    expect((await kernel.authorize(context(), ask())).matchedGrantId).toBe("whole");
  });

  test("a use that cannot be counted leaves the act to the next bounded grant", async () => {
    const counted = memoryUsage();
    const usage: UsageStore = {
      ...counted,
      used: (namespaceId, id) => (id === "first" ? fail() : counted.used(namespaceId, id)),
    };
    const { kernel } = world([bounded("first"), bounded("second")], { usage });
    expect((await kernel.authorize(context(), ask())).matchedGrantId).toBe("second");
  });
});

describe("counted uses", () => {
  test("authorize only reads, however often", async () => {
    const { usage, calls } = listedUsage();
    const { kernel } = documents([bounded("bounded", 3)], { usage });
    for (let time = 0; time < 5; time += 1) expect((await kernel.authorize(context(), ask())).allowed).toBe(true);
    expect(calls).toEqual(Array.from({ length: 5 }, () => "used tenant-1 bounded"));
  });

  test("explain and reach only read", async () => {
    const { usage, calls } = listedUsage();
    const { kernel } = documents([bounded("bounded", 3)], { usage });
    await kernel.explain(context(), ask());
    await kernel.reach(context());
    expect(calls).toEqual(["used tenant-1 bounded", "used tenant-1 bounded"]);
  });

  test("an execution consumes one use, of at most as many as the grant allows", async () => {
    const { usage, calls } = listedUsage();
    const { kernel } = documents([bounded("bounded", 3)], { usage });
    await kernel.invokeResource(context(), operation());
    expect(calls).toEqual(["consume tenant-1 bounded 3"]);
  });

  for (const row of [
    { name: "is left at two of three", used: 2, reasonCode: "allowed" },
    { name: "is not left at three of three", used: 3, reasonCode: "grant_exhausted" },
    { name: "is not left beyond the maximum", used: 4, reasonCode: "grant_exhausted" },
  ]) {
    test(`a use ${row.name}`, async () => {
      const { kernel } = world([bounded("bounded", 3)], { usage: brokenUsage(() => row.used) });
      expect((await kernel.authorize(context(), ask())).reasonCode).toBe(row.reasonCode);
    });
  }

  test("a hundred concurrent executions of a grant with ten uses give exactly ten successes", async () => {
    const { kernel, usage } = documents([bounded("bounded", 10)]);
    const results = await Promise.all(
      Array.from({ length: 100 }, (_, place) => kernel.invokeResource(context(), operation(`operation-${place}`))),
    );
    const denied = results.filter((result) => result.status === "denied").map(({ error }) => error.code);
    expect(results.filter(({ status }) => status === "succeeded")).toHaveLength(10);
    expect(denied).toEqual(Array.from({ length: 90 }, () => "grant_exhausted"));
    expect(await usage.used("tenant-1", "bounded")).toBe(10);
  });

  test("the uses of equal ids in two tenants are counted apart", async () => {
    const { kernel } = documents([bounded("bounded"), { ...bounded("bounded"), namespaceId: "tenant-2" }]);
    const statuses = [];
    for (const namespaceId of ["tenant-1", "tenant-2", "tenant-1"]) {
      statuses.push((await kernel.invokeResource(context({ namespaceId }), operation())).status);
    }
    expect(statuses).toEqual(["succeeded", "succeeded", "denied"]);
  });

  const failures: { name: string; answer?: () => unknown; reports: number }[] = [
    { name: "is not there", reports: 0 },
    { name: "throws", answer: fail, reports: 1 },
    { name: "rejects", answer: () => Promise.reject(new Error("down")), reports: 1 },
    { name: "answers nothing", answer: () => undefined, reports: 1 },
    { name: "answers null", answer: () => null, reports: 1 },
    { name: "answers a text", answer: () => "0", reports: 1 },
    { name: "answers NaN", answer: () => Number.NaN, reports: 1 },
    { name: "answers less than nothing", answer: () => -1, reports: 1 },
    { name: "answers half a use", answer: () => 0.5, reports: 1 },
    { name: "answers infinity", answer: () => Infinity, reports: 1 },
  ];
  for (const { name, answer, reports } of failures) {
    test(`a bounded grant fails closed when the usage store ${name}`, async () => {
      const usage = answer === undefined ? "none" : brokenUsage(answer);
      const { kernel, portErrors } = documents([bounded("bounded")], { usage });
      expect(await kernel.authorize(context(), ask())).toEqual({
        allowed: false,
        reasonCode: "usage_store_unavailable",
      });
      expect(await kernel.invokeResource(context(), operation())).toMatchObject({
        status: "denied",
        error: { code: "usage_store_unavailable" },
      });
      expect(portErrors.map(({ failure }) => failure)).toEqual(
        Array.from({ length: 2 * reports }, () => ({ port: "usage", id: "bounded" })),
      );
    });
  }

  for (const row of [
    { name: "a count", answer: 0 },
    { name: "a count that would be true", answer: 1 },
  ]) {
    test(`an execution fails closed when consume answers ${row.name}`, async () => {
      const { kernel } = documents([bounded("bounded")], { usage: brokenUsage(() => row.answer) });
      const result = await kernel.invokeResource(context(), operation());
      expect(result).toMatchObject({ status: "denied", error: { code: "usage_store_unavailable" } });
    });
  }

  test("authorize fails closed when the count is a boolean", async () => {
    const { kernel } = world([bounded("bounded")], { usage: brokenUsage(() => false) });
    expect((await kernel.authorize(context(), ask())).reasonCode).toBe("usage_store_unavailable");
  });

  test("an unbounded grant needs no usage store", async () => {
    const { kernel } = documents([grant()], { usage: "none" });
    expect((await kernel.authorize(context(), ask())).allowed).toBe(true);
  });
});

describe("the host's policy", () => {
  const rows: { name: string; narrow: () => unknown; decision: object; reports?: number }[] = [
    {
      name: "allows by saying nothing",
      narrow: () => undefined,
      decision: { allowed: true, reasonCode: "allowed", matchedGrantId: "grant-1" },
    },
    {
      name: "refuses with an empty reason",
      narrow: () => ({}),
      decision: { allowed: false, reasonCode: "host_policy_denied" },
    },
    {
      name: "refuses with a reason, which the caller sees",
      narrow: () => ({ metadata: { rule: "office hours" } }),
      decision: { allowed: false, reasonCode: "host_policy_denied", metadata: { rule: "office hours" } },
    },
    ...(
      [
        { name: "throws", narrow: fail },
        { name: "answers true", narrow: () => true },
        { name: "answers false", narrow: () => false },
        { name: "answers null", narrow: () => null },
        { name: "answers a text", narrow: () => "no" },
        { name: "answers a number", narrow: () => 0 },
        { name: "answers a list", narrow: () => [] },
        { name: "answers a list of reasons", narrow: () => [{ metadata: {} }] },
        { name: "answers a function", narrow: () => fail },
        { name: "answers an object that says allowed", narrow: () => ({ allowed: true }) },
        { name: "answers a reason and something more", narrow: () => ({ metadata: {}, allowed: true }) },
        { name: "gives a text for metadata", narrow: () => ({ metadata: "no" }) },
        { name: "gives null for metadata", narrow: () => ({ metadata: null }) },
        { name: "gives a list for metadata", narrow: () => ({ metadata: [] }) },
        { name: "gives metadata that is no JSON", narrow: () => ({ metadata: { at: new Date(0) } }) },
        { name: "answers a promise to allow", narrow: () => Promise.resolve() },
        { name: "answers a promise to refuse", narrow: () => Promise.resolve({}) },
        { name: "answers a promise that fails", narrow: () => Promise.reject(new Error("late")) },
      ] satisfies { name: string; narrow: () => unknown }[]
    ).map((row) => ({ ...row, decision: { allowed: false, reasonCode: "host_policy_unavailable" }, reports: 1 })),
  ];
  for (const { name, narrow, decision, reports = 0 } of rows) {
    test(`${name}${reports > 0 ? " and is unavailable" : ""}`, async () => {
      const policy: HostPolicy = { narrow: () => untyped(narrow()) };
      const { kernel, portErrors } = world([grant()], { policy });
      expect(await kernel.authorize(context(), ask())).toEqual(decision);
      expect(portErrors.map(({ failure }) => failure)).toEqual(
        Array.from({ length: reports }, () => ({ port: "policy" })),
      );
    });
  }

  test("can never allow what no grant does, and is not even asked", async () => {
    let asked = 0;
    const policy: HostPolicy = {
      narrow() {
        asked += 1;
        return undefined;
      },
    };
    for (const held of [[], [grant({ revokedAt: now })], [child()]]) {
      expect((await world(held, { policy }).kernel.authorize(context(), ask())).allowed).toBe(false);
    }
    expect(asked).toBe(0);
  });

  test("is asked once a decision, about exactly what was asked", async () => {
    const asked: [AuthorizationRequest, AccessContext][] = [];
    const policy: HostPolicy = {
      narrow(request, of) {
        asked.push([request, of]);
        return undefined;
      },
    };
    const { usage } = listedUsage(["first", "second"]);
    const { kernel } = world([bounded("first"), bounded("second")], { policy, usage });
    await kernel.authorize(context(), ask());
    expect(asked).toEqual([[ask(), context()]]);
    expect(Object.isFrozen(asked[0]?.[0].resource.path)).toBe(true);
    expect(Object.isFrozen(asked[0]?.[1].actor)).toBe(true);
  });

  test("refuses before a use is spent", async () => {
    const { usage, calls } = listedUsage();
    const { kernel } = documents([bounded("bounded")], { usage, policy: { narrow: () => ({}) } });
    expect(await kernel.invokeResource(context(), operation())).toMatchObject({
      error: { code: "host_policy_denied" },
    });
    expect(calls).toEqual([]);
  });

  test("is called on its own object", async () => {
    class Policy implements HostPolicy {
      readonly reason = { metadata: { from: "a class" } };
      narrow(): { metadata: { from: string } } {
        return this.reason;
      }
    }
    const { kernel } = world([grant()], { policy: new Policy() });
    expect((await kernel.authorize(context(), ask())).metadata).toEqual({ from: "a class" });
  });
});

describe("of several reasons the most telling is given", () => {
  const unreadable = child({ id: "unreadable", parentId: "unreadable-parent" });
  const broken = child({ id: "broken", parentId: "missing" });
  const whole = child({ id: "whole", parentId: "parent" });
  const spent = bounded("spent");
  const uncounted = bounded("uncounted");
  const uncovering = grant({ id: "uncovering", capabilities: [capability({ namespace: "mail" })] });
  const refuse: HostPolicy = { narrow: () => ({ metadata: { rule: "closed" } }) };
  const crash: HostPolicy = { narrow: fail };

  const rows: { reason: string; over: string; held: Grant[]; policy?: HostPolicy }[] = [
    { reason: "usage_store_unavailable", over: "delegation_chain_unverified", held: [unreadable, uncounted] },
    { reason: "usage_store_unavailable", over: "delegation_chain_invalid", held: [broken, uncounted] },
    { reason: "usage_store_unavailable", over: "grant_exhausted", held: [spent, uncounted] },
    { reason: "usage_store_unavailable", over: "grant_exhausted that came later", held: [uncounted, spent] },
    {
      reason: "host_policy_unavailable",
      over: "delegation_chain_unverified",
      held: [unreadable, whole],
      policy: crash,
    },
    { reason: "host_policy_unavailable", over: "delegation_chain_invalid", held: [broken, whole], policy: crash },
    { reason: "delegation_chain_unverified", over: "delegation_chain_invalid", held: [broken, unreadable] },
    { reason: "delegation_chain_unverified", over: "host_policy_denied", held: [unreadable, whole], policy: refuse },
    { reason: "delegation_chain_unverified", over: "grant_exhausted", held: [unreadable, spent] },
    { reason: "delegation_chain_invalid", over: "host_policy_denied", held: [broken, whole], policy: refuse },
    { reason: "delegation_chain_invalid", over: "grant_exhausted", held: [broken, spent] },
    { reason: "host_policy_denied", over: "grant_exhausted, because it is asked first", held: [spent], policy: refuse },
    { reason: "grant_exhausted", over: "no_matching_grant", held: [uncovering, spent] },
    { reason: "no_matching_grant", over: "nothing", held: [uncovering] },
  ];
  for (const { reason, over, held, policy } of rows) {
    test(`${reason} over ${over}`, async () => {
      const source = memoryGrants([parent()]);
      const usage: UsageStore = {
        used: (_namespaceId, id) => (id === "uncounted" ? fail() : Promise.resolve(1)),
        consume: () => Promise.resolve(false),
      };
      const { kernel } = world(
        {
          load: () => Promise.resolve(held),
          find: (namespaceId, id) => (id === "unreadable-parent" ? fail() : source.find(namespaceId, id)),
        },
        { usage, ...(policy && { policy }) },
      );
      const decision = await kernel.authorize(context(), ask());
      expect(decision.reasonCode).toBe(reason);
      expect(decision.metadata).toEqual(reason === "host_policy_denied" ? { rule: "closed" } : undefined);
    });
  }
});

describe("authority never combines", () => {
  const rows: { name: string; held: Grant[]; reasonCode: string }[] = [
    {
      name: "the action of one grant and the path of another",
      held: [
        grant({ capabilities: [capability({ actions: ["write"] })] }),
        grant({ id: "grant-2", capabilities: [capability({ path: ["other"] })] }),
      ],
      reasonCode: "no_matching_grant",
    },
    {
      name: "the action of one capability and the path of another",
      held: [grant({ capabilities: [capability({ actions: ["write"] }), capability({ path: ["other"] })] })],
      reasonCode: "no_matching_grant",
    },
    {
      name: "the window of one grant and the capability of another",
      held: [
        grant({ capabilities: [capability({ namespace: "mail" })] }),
        grant({ id: "grant-2", constraints: { expiresAt: now } }),
      ],
      reasonCode: "no_matching_grant",
    },
    {
      name: "the purpose of one grant and the capability of another",
      held: [
        grant({ constraints: { purposes: ["reporting"] }, capabilities: [capability({ path: ["other"] })] }),
        grant({ id: "grant-2", constraints: { purposes: ["billing"] } }),
      ],
      reasonCode: "no_matching_grant",
    },
  ];
  for (const { name, held, reasonCode } of rows) {
    test(`${name} allow nothing together`, async () => {
      expect((await world(held).kernel.authorize(context(), ask())).reasonCode).toBe(reasonCode);
    });
  }

  test("one capability that has the action and the path allows alone", async () => {
    const held = [
      grant({ capabilities: [capability({ actions: ["write"] }), capability({ path: ["other"] }), capability()] }),
    ];
    expect((await world(held).kernel.authorize(context(), ask())).reasonCode).toBe("allowed");
  });
});
