import { describe, expect, test } from "vitest";
import {
  alice,
  ask,
  assistant,
  capability,
  context,
  contextWithoutAuthority,
  grant,
  olivia,
  stranger,
  untyped,
  world,
} from "../../test/decisions.ts";
import { watched } from "../../test/watched-promise.ts";
import type { Grant } from "../contracts/index.ts";
import { compileAuthority } from "./authority.ts";
import type { GrantScope, GrantSource } from "./ports.ts";

function sourceOf(load: () => unknown): GrantSource {
  return { load: async () => untyped<Grant[]>(await load()) };
}

/** A grant that counts how often its id is read. */
function countingGrant(): { held: Grant; reads: () => number } {
  let reads = 0;
  const held = Object.defineProperty(grant(), "id", {
    enumerable: true,
    get() {
      reads += 1;
      return "grant-1";
    },
  });
  return { held, reads: () => reads };
}

describe("a set of grants", () => {
  test("in a frozen array that comes again is compiled for good", () => {
    const frozen = Object.freeze([grant()]);
    compileAuthority(frozen);
    expect(compileAuthority(frozen)).toBe(compileAuthority(frozen));
  });

  test("in a frozen array that comes for the first time is left as it is, and so is decided on anew the second time", async () => {
    const held = grant();
    const frozen = Object.freeze([held]);
    const { kernel } = world(sourceOf(() => frozen));
    expect((await kernel.authorize(context(), ask())).reasonCode).toBe("allowed");
    held.revokedAt = "2026-01-01T00:00:00Z";
    expect((await kernel.authorize(context(), ask())).reasonCode).toBe("no_matching_grant");
    expect(() => delete held.revokedAt).toThrow(TypeError);
  });

  test("of frozen grants that come again in fresh arrays is compiled grant by grant for good", () => {
    const [one, other] = [Object.freeze(grant()), Object.freeze(grant({ id: "grant-2" }))];
    compileAuthority([one, other]);
    const second = compileAuthority([one, other]);
    expect(compileAuthority([one, other]).grants).toEqual(second.grants);
    expect(compileAuthority([one, other]).grants[1]).toBe(second.grants[1]);
  });

  test("in an array that is not frozen is compiled each time, as it is then", () => {
    const mutable = [grant()];
    const before = compileAuthority(mutable);
    mutable.push(grant({ id: "grant-2" }));
    expect(compileAuthority(mutable).grants.map((one) => one.grant.id)).toEqual(["grant-1", "grant-2"]);
    expect(before.grants).toHaveLength(1);
  });

  test("in a frozen array is not read again by the third decision", async () => {
    const { held, reads } = countingGrant();
    const { kernel } = world(sourceOf(() => frozen));
    const frozen = Object.freeze([held]);
    await kernel.authorize(context(), ask());
    await kernel.authorize(context(), ask());
    const readOnce = reads();
    expect(await kernel.authorize(context(), ask())).toMatchObject({ allowed: true });
    expect(readOnce).toBeGreaterThan(0);
    expect(reads()).toBe(readOnce);
  });

  test("in fresh arrays is read again by every decision", async () => {
    const { held, reads } = countingGrant();
    const { kernel } = world(sourceOf(() => [held]));
    await kernel.authorize(context(), ask());
    const readOnce = reads();
    await kernel.authorize(context(), ask());
    expect(reads()).toBeGreaterThan(readOnce);
  });

  test("in fresh arrays is decided on as it is each time", async () => {
    const answers = [[grant()], [], [grant({ id: "grant-2" })]];
    const { kernel } = world(sourceOf(() => answers.shift()));
    expect((await kernel.authorize(context(), ask())).matchedGrantId).toBe("grant-1");
    expect((await kernel.authorize(context(), ask())).reasonCode).toBe("no_matching_grant");
    expect((await kernel.authorize(context(), ask())).matchedGrantId).toBe("grant-2");
  });

  test("in the same promise of a frozen array is not waited for by the third decision", async () => {
    const { promise, waits } = watched(Object.freeze([grant()]));
    const { kernel } = world({ load: () => promise });
    await kernel.authorize(context(), ask());
    await kernel.authorize(context(), ask());
    const waitedOnce = waits();
    expect(await kernel.authorize(context(), ask())).toMatchObject({ allowed: true });
    expect(waitedOnce).toBeGreaterThan(0);
    expect(waits()).toBe(waitedOnce);
  });

  test("in the same promise is there for decisions that wait for it at the same time", async () => {
    const same = Promise.resolve(Object.freeze([grant()]));
    const { kernel } = world({ load: () => same });
    const decisions = await Promise.all([kernel.authorize(context(), ask()), kernel.authorize(context(), ask())]);
    expect(decisions.map(({ reasonCode }) => reasonCode)).toEqual(["allowed", "allowed"]);
  });

  test("in the same promise of an array that is not frozen is decided on as it is each time", async () => {
    const held = [grant()];
    const same = Promise.resolve(held);
    const { kernel } = world({ load: () => same });
    expect((await kernel.authorize(context(), ask())).reasonCode).toBe("allowed");
    held.length = 0;
    expect((await kernel.authorize(context(), ask())).reasonCode).toBe("no_matching_grant");
  });

  test("in a promise that takes no mark is waited for each time", async () => {
    const { promise, waits } = watched(Object.freeze([grant()]));
    Object.freeze(promise);
    const { kernel } = world({ load: () => promise });
    await kernel.authorize(context(), ask());
    const waitedOnce = waits();
    expect(await kernel.authorize(context(), ask())).toMatchObject({ allowed: true });
    expect(waits()).toBe(2 * waitedOnce);
  });

  test("in a frozen array cannot be changed below its surface either", () => {
    const frozen = Object.freeze([grant()]);
    compileAuthority(frozen);
    compileAuthority(frozen);
    expect(() => frozen[0]?.capabilities.push(capability({ path: [] }))).toThrow(TypeError);
  });

  test("is tried without counted uses first, else as loaded", () => {
    const bounded = { maxUses: 1 };
    const set = compileAuthority([
      grant({ id: "a", constraints: bounded }),
      grant({ id: "b" }),
      grant({ id: "c", constraints: bounded }),
      grant({ id: "d" }),
    ]);
    expect(set.grants.map((one) => one.grant.id)).toEqual(["b", "d", "a", "c"]);
  });

  test("knows which of its grants need more than the clock", () => {
    const set = compileAuthority([
      grant({ id: "plain", constraints: { expiresAt: "2027-01-01T00:00:00Z" } }),
      grant({ id: "bounded", constraints: { maxUses: 1 } }),
      grant({ id: "derived", parentId: "parent" }),
    ]);
    expect(set.conditional.map((one) => one.grant.id)).toEqual(["derived", "bounded"]);
  });
});

/** A set with a hole in front, as `delete grants[0]` leaves it. */
function withHole(...grants: readonly Grant[]): Grant[] {
  const sparse: Grant[] = [];
  grants.forEach((one, place) => {
    sparse[place + 1] = one;
  });
  return sparse;
}

describe("a grant source", () => {
  const thousands = Array.from({ length: 16_385 }, (_, place) => grant({ id: `grant-${place}` }));
  const rows: { name: string; load: () => unknown; reasonCode: string }[] = [
    { name: "that returns the grant asked for is believed", load: () => [grant()], reasonCode: "allowed" },
    { name: "that returns no grant is believed", load: () => [], reasonCode: "no_matching_grant" },
    { name: "that returns 16,384 grants is believed", load: () => thousands.slice(1), reasonCode: "allowed" },
    { name: "that returns 16,385 grants", load: () => thousands, reasonCode: "authority_unavailable" },
    { name: "that rejects", load: () => Promise.reject(new Error("down")), reasonCode: "authority_unavailable" },
    {
      name: "that throws",
      load: () => {
        throw new Error("down");
      },
      reasonCode: "authority_unavailable",
    },
    { name: "that returns nothing", load: () => undefined, reasonCode: "authority_unavailable" },
    { name: "that returns null", load: () => null, reasonCode: "authority_unavailable" },
    { name: "that returns one grant and no array", load: () => grant(), reasonCode: "authority_unavailable" },
    {
      name: "that returns something like an array",
      load: () => ({ 0: grant(), length: 1 }),
      reasonCode: "authority_unavailable",
    },
    {
      name: "that returns a set that is no array",
      load: () => new Set([grant()]),
      reasonCode: "authority_unavailable",
    },
    {
      name: "that returns a grant that does not fit",
      load: () => [grant(), { ...grant(), id: "" }],
      reasonCode: "authority_unavailable",
    },
    {
      name: "that returns a grant with an unknown key",
      load: () => [grant(), { ...grant(), root: true }],
      reasonCode: "authority_unavailable",
    },
    { name: "that returns null among grants", load: () => [grant(), null], reasonCode: "authority_unavailable" },
    {
      name: "that returns a grant with a path through `..`",
      load: () => [grant(), grant({ capabilities: [capability({ path: [".."] })] })],
      reasonCode: "authority_unavailable",
    },
    {
      name: "that returns a grant of another tenant",
      load: () => [grant(), grant({ namespaceId: "tenant-2" })],
      reasonCode: "authority_unavailable",
    },
    {
      name: "that returns only grants of another tenant",
      load: () => [grant({ namespaceId: "tenant-2" })],
      reasonCode: "authority_unavailable",
    },
    {
      name: "that returns a grant of another actor",
      load: () => [grant(), grant({ subject: stranger })],
      reasonCode: "authority_unavailable",
    },
    {
      name: "that returns only grants of another actor",
      load: () => [grant({ subject: stranger })],
      reasonCode: "authority_unavailable",
    },
    {
      name: "that returns a grant of an actor of another kind with the same id",
      load: () => [grant({ subject: { kind: "human", userId: "assistant" } })],
      reasonCode: "authority_unavailable",
    },
    {
      name: "that returns a grant of another issuer",
      load: () => [grant(), grant({ issuer: olivia })],
      reasonCode: "authority_unavailable",
    },
    {
      name: "that returns only grants of another issuer",
      load: () => [grant({ issuer: olivia })],
      reasonCode: "authority_unavailable",
    },
    {
      name: "that returns a superset in which the foreign grant is not even live",
      load: () => [grant(), grant({ subject: stranger, revokedAt: "2025-01-01T00:00:00Z" })],
      reasonCode: "authority_unavailable",
    },
    {
      name: "that returns the grant asked for behind a hole",
      load: () => withHole(grant()),
      reasonCode: "authority_unavailable",
    },
    {
      name: "that returns a grant of another actor and tenant behind a hole",
      load: () => withHole(grant({ subject: stranger, namespaceId: "tenant-2" })),
      reasonCode: "authority_unavailable",
    },
  ];
  for (const { name, load, reasonCode } of rows) {
    const isUnavailable = reasonCode === "authority_unavailable";
    test(`${name}${isUnavailable ? " is unavailable" : ""}`, async () => {
      const { kernel, portErrors } = world(sourceOf(load));
      const decision = await kernel.authorize(context(), ask());
      expect(decision.reasonCode).toBe(reasonCode);
      expect(decision.allowed).toBe(reasonCode === "allowed");
      expect(portErrors.map(({ failure }) => failure)).toEqual(isUnavailable ? [{ port: "grants" }] : []);
    });
  }

  test("that returns grants as wide as the contract allows is believed", async () => {
    const capabilities = Array.from({ length: 64 }, () => capability());
    const { kernel } = world(
      sourceOf(() => Array.from({ length: 2_500 }, (_, place) => grant({ id: `grant-${place}`, capabilities }))),
    );
    expect(await kernel.authorize(context(), ask())).toMatchObject({ allowed: true, reasonCode: "allowed" });
  });

  for (const given of [undefined, null, 7, "grants"]) {
    test(`that gives ${given} in place of a promise is unavailable`, async () => {
      const { kernel, portErrors } = world({ load: () => untyped<Promise<Grant[]>>(given) });
      expect((await kernel.authorize(context(), ask())).reasonCode).toBe("authority_unavailable");
      expect(portErrors[0]?.failure).toEqual({ port: "grants" });
    });
  }

  test("that gives one promise to all actors is unavailable to those it does not belong to", async () => {
    const same = Promise.resolve(Object.freeze([grant()]));
    const { kernel, portErrors } = world({ load: () => same });
    expect((await kernel.authorize(context(), ask())).reasonCode).toBe("allowed");
    expect((await kernel.authorize(context({ actor: stranger }), ask())).reasonCode).toBe("authority_unavailable");
    expect(portErrors).toHaveLength(1);
  });

  test("that returns one frozen array to all actors is unavailable to those it does not belong to", async () => {
    const frozen = Object.freeze([grant()]);
    const { kernel } = world(sourceOf(() => frozen));
    const asked = [
      context(),
      context({ actor: { kind: "agent", agentId: "other" } }),
      context({ namespaceId: "tenant-2" }),
      context({ authority: stranger }),
      context(),
    ];
    const reasons = [];
    for (const one of asked) reasons.push((await kernel.authorize(one, ask())).reasonCode);
    expect(reasons).toEqual([
      "allowed",
      "authority_unavailable",
      "authority_unavailable",
      "authority_unavailable",
      "allowed",
    ]);
  });

  test("never shows its own words to the caller, only to the operator", async () => {
    const { kernel, portErrors } = world(sourceOf(() => Promise.reject(new Error("password is hunter2"))));
    expect(await kernel.authorize(context(), ask())).toEqual({ allowed: false, reasonCode: "authority_unavailable" });
    expect(portErrors).toEqual([{ failure: { port: "grants" }, message: "Error: password is hunter2" }]);
  });

  test("is asked for the whole scope, with the caller's signal", async () => {
    const asked: { scope: GrantScope; signal: AbortSignal }[] = [];
    const { kernel } = world({
      load(scope, signal) {
        asked.push({ scope, signal });
        return Promise.resolve([grant()]);
      },
    });
    const { signal } = new AbortController();
    await kernel.authorize(context({ executionId: "execution-1" }), ask(), { signal });
    expect(asked[0]?.scope).toEqual({
      namespaceId: "tenant-1",
      actor: assistant,
      authority: alice,
      owner: olivia,
      purpose: "reporting",
      now: "2026-01-01T12:00:00Z",
      traceId: "trace-1",
    });
    expect(asked[0]?.signal).toBe(signal);
  });

  test("is called on its own object", async () => {
    class Store implements GrantSource {
      readonly held = [grant()];
      load(): Promise<readonly Grant[]> {
        return Promise.resolve(this.held);
      }
    }
    expect(await world(new Store()).kernel.authorize(context(), ask())).toMatchObject({ allowed: true });
  });
});

describe("for discovery without an authority", () => {
  const mixed = [grant(), grant({ id: "grant-2", issuer: stranger, capabilities: [capability({ path: ["drafts"] })] })];

  test("grants of any issuer count, and none is named to the source", async () => {
    const asked: GrantScope[] = [];
    const { kernel } = world({
      load(scope) {
        asked.push(scope);
        return Promise.resolve(mixed);
      },
    });
    expect(await kernel.reach(contextWithoutAuthority())).toEqual({
      status: "computed",
      reach: [
        { namespace: "documents", path: ["drafts"], actions: ["read"], scope: "descendants" },
        { namespace: "documents", path: ["reports"], actions: ["read"], scope: "descendants" },
      ],
    });
    expect(asked[0]).not.toHaveProperty("authority");
  });

  test("with an authority, the same answer is unavailable", async () => {
    const { kernel } = world(sourceOf(() => mixed));
    expect(await kernel.reach(context())).toEqual({ status: "unavailable", reasonCode: "authority_unavailable" });
  });

  test("grants of another actor are unavailable all the same", async () => {
    const { kernel } = world(sourceOf(() => [grant({ subject: stranger })]));
    expect(await kernel.reach(contextWithoutAuthority())).toEqual({
      status: "unavailable",
      reasonCode: "authority_unavailable",
    });
  });
});
