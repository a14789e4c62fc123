import { describe, expect, test } from "vitest";
import {
  ask,
  capability,
  child,
  context,
  contextWithoutAuthority,
  grant,
  justAfter,
  now,
  olivia,
  parent,
  stranger,
  untyped,
  world,
  type World,
} from "../../test/decisions.ts";
import { memoryGrants, memoryUsage } from "../testing/index.ts";
import { AuditEventSchema, ReachResultSchema, type AccessContext, type Grant } from "../contracts/index.ts";
import { createKernel } from "./kernel.ts";
import { KernelError } from "./kernel-error.ts";
import type { UsageStore } from "./ports.ts";

const reports = { namespace: "documents", path: ["reports"], actions: ["read"], scope: "descendants" };

/** What `reach` says, or its code when it cannot be said. */
async function reachIn({ kernel }: World, changes: Partial<AccessContext> = {}): Promise<unknown> {
  const result = await kernel.reach(context(changes));
  expect(ReachResultSchema.safeParse(result).success).toBe(true);
  return result.status === "computed" ? result.reach : result.reasonCode;
}

const spent = (): UsageStore => ({ used: () => Promise.resolve(1), consume: () => Promise.resolve(false) });

describe("reach", () => {
  const rows: { name: string; held: Grant[]; usage?: UsageStore; context?: Partial<AccessContext>; reach: object[] }[] =
    [
      { name: "is empty without grants", held: [], reach: [] },
      { name: "is where a grant is live", held: [grant()], reach: [reports] },
      { name: "is not where a grant is not issued yet", held: [grant({ issuedAt: justAfter })], reach: [] },
      {
        name: "is not where a grant is not valid yet",
        held: [grant({ constraints: { notBefore: justAfter } })],
        reach: [],
      },
      { name: "is not where a grant has expired", held: [grant({ constraints: { expiresAt: now } })], reach: [] },
      { name: "is not where a grant is revoked", held: [grant({ revokedAt: now })], reach: [] },
      {
        name: "is where a grant serves the purpose",
        held: [grant({ constraints: { purposes: ["reporting"] } })],
        reach: [reports],
      },
      {
        name: "is not where a grant serves another purpose",
        held: [grant({ constraints: { purposes: ["billing"] } })],
        reach: [],
      },
      {
        name: "is where a use is left",
        held: [grant({ constraints: { maxUses: 2 } })],
        usage: spent(),
        reach: [reports],
      },
      {
        name: "is not where no use is left",
        held: [grant({ constraints: { maxUses: 1 } })],
        usage: spent(),
        reach: [],
      },
      { name: "is where a chain holds", held: [child(), parent()], reach: [reports] },
      { name: "is not where a chain is broken", held: [child(), parent({ revokedAt: now })], reach: [] },
      { name: "is not where a parent is missing", held: [child()], reach: [] },
      {
        name: "is where a chain holds and a use is left",
        held: [child({ constraints: { maxUses: 2 } }), parent()],
        usage: spent(),
        reach: [reports],
      },
      {
        name: "is not where a chain holds and no use is left",
        held: [child({ constraints: { maxUses: 1 } }), parent()],
        usage: spent(),
        reach: [],
      },
      {
        name: "has a place that another grant still holds",
        held: [grant({ id: "spent", constraints: { maxUses: 1 } }), grant({ id: "whole" })],
        usage: spent(),
        reach: [reports],
      },
      {
        name: "loses the actions that only a spent grant had",
        held: [
          grant({ id: "spent", constraints: { maxUses: 1 }, capabilities: [capability({ actions: ["write"] })] }),
          grant({ id: "whole" }),
        ],
        usage: spent(),
        reach: [reports],
      },
      {
        name: "has one entry a place, with the union of actions",
        held: [
          grant({
            id: "a",
            capabilities: [capability({ actions: ["write", "read"] }), capability({ actions: ["*"] })],
          }),
          grant({ id: "b", capabilities: [capability({ actions: ["read", "archive"] })] }),
        ],
        reach: [{ ...reports, actions: ["*", "archive", "read", "write"] }],
      },
      {
        name: "tells places apart by namespace, path and scope",
        held: [
          grant({
            capabilities: [
              capability(),
              capability({ scope: "exact", actions: ["write"] }),
              capability({ path: ["reports", "q1"] }),
              capability({ namespace: "mail", actions: ["send"] }),
              capability({ path: [] }),
            ],
          }),
        ],
        reach: [
          reports,
          { ...reports, scope: "exact", actions: ["write"] },
          { ...reports, path: ["reports", "q1"] },
          { ...reports, namespace: "mail", actions: ["send"] },
          { ...reports, path: [] },
        ],
      },
      {
        name: "never takes segments together",
        held: [grant({ capabilities: [capability({ path: ["a", "b"] }), capability({ path: ["a,b"] })] })],
        reach: [
          { ...reports, path: ["a", "b"] },
          { ...reports, path: ["a,b"] },
        ],
      },
      {
        name: "is where a grant names the context's owner",
        held: [grant({ capabilities: [capability({ owner: olivia })] })],
        reach: [reports],
      },
      {
        name: "is not where a grant names another owner",
        held: [grant({ capabilities: [capability({ owner: stranger })] })],
        reach: [],
      },
      {
        name: "of another tenant is not here",
        held: [grant({ namespaceId: "tenant-2" })],
        reach: [],
      },
      {
        name: "is decided at the instant of the context",
        held: [grant({ constraints: { expiresAt: now } })],
        context: { now: "2026-01-01T13:59:59+02:00" },
        reach: [reports],
      },
    ];
  for (const { name, held, usage, reach, ...row } of rows) {
    test(`${name}`, async () => {
      const found = await reachIn(world(held, usage && { usage }), row.context);
      expect(found).toHaveLength(reach.length);
      expect(found).toEqual(expect.arrayContaining(reach));
    });
  }

  test("says nothing of grants, issuers, windows or uses", async () => {
    const held = [grant({ metadata: { secret: 1 }, constraints: { maxUses: 7, expiresAt: "2027-01-01T00:00:00Z" } })];
    expect(await world(held).kernel.reach(context())).toEqual({ status: "computed", reach: [reports] });
  });

  test("has the same order whatever the order of the grants", async () => {
    const held = ["b", "a", "c"].map((id) => grant({ id, capabilities: [capability({ path: [id] })] }));
    expect(await reachIn(world(held))).toEqual(await reachIn(world(held.toReversed())));
  });

  test("does not change the grants when its answer is changed", async () => {
    const { kernel } = world([grant()]);
    const first = await kernel.reach(context());
    if (first.status === "computed") first.reach[0]?.path.push("changed");
    expect(await kernel.reach(context())).toEqual({ status: "computed", reach: [reports] });
  });

  test("is given without an authority, over the grants of every issuer", async () => {
    const held = [
      grant(),
      grant({ id: "grant-2", issuer: stranger, capabilities: [capability({ namespace: "mail" })] }),
    ];
    const result = await world(held).kernel.reach(contextWithoutAuthority());
    expect(result).toMatchObject({ status: "computed", reach: [{ namespace: "documents" }, { namespace: "mail" }] });
    expect(await reachIn(world(held))).toEqual([reports]);
  });
});

function down(): never {
  throw new Error("down");
}

describe("reach is unavailable as a whole", () => {
  const whole = grant({ id: "whole" });
  const bounded = grant({ id: "bounded", constraints: { maxUses: 1 } });
  const load = (): Promise<Grant[]> => Promise.resolve([whole, child()]);
  const rows: { name: string; made: () => World; reasonCode: string }[] = [
    { name: "when the grants cannot be read", made: () => world({ load: down }), reasonCode: "authority_unavailable" },
    {
      name: "when a grant does not fit",
      made: () => world({ load: () => Promise.resolve([whole, untyped<Grant>({})]) }),
      reasonCode: "authority_unavailable",
    },
    { name: "when a chain cannot be walked", made: () => world({ load }), reasonCode: "authority_unavailable" },
    {
      name: "when a parent cannot be read",
      made: () => world({ load, find: down }),
      reasonCode: "authority_unavailable",
    },
    {
      name: "when there is no usage store for a bounded grant",
      made: () => world([whole, bounded], { usage: "none" }),
      reasonCode: "usage_store_unavailable",
    },
    {
      name: "when the usage store throws",
      made: () => world([whole, bounded], { usage: { used: down, consume: down } }),
      reasonCode: "usage_store_unavailable",
    },
    {
      name: "when the usage store answers nonsense",
      made: () => world([whole, bounded], { usage: { used: () => Promise.resolve(Number.NaN), consume: down } }),
      reasonCode: "usage_store_unavailable",
    },
  ];
  for (const { name, made, reasonCode } of rows) {
    test(`${name}`, async () => {
      const { kernel, audit } = made();
      expect(await kernel.reach(context())).toEqual({ status: "unavailable", reasonCode });
      expect(audit.events).toEqual([
        expect.objectContaining({ type: "reach.read", outcome: "failed", reason: reasonCode }),
      ]);
    });
  }

  test("but not for a bounded grant that is not live anyway", async () => {
    const expired = grant({ id: "expired", constraints: { maxUses: 1, expiresAt: now } });
    expect(await reachIn(world([whole, expired], { usage: "none" }))).toEqual([reports]);
  });

  test("when it cannot be put in the audit log", async () => {
    const kernel = createKernel({
      grants: memoryGrants([grant()]),
      audit: { record: () => Promise.reject(new Error("full")) },
    });
    expect(await kernel.reach(context())).toEqual({ status: "unavailable", reasonCode: "authority_unavailable" });
  });
});

describe("reading reach", () => {
  test("is in the audit log, without what was seen", async () => {
    const { kernel, audit } = world([grant()]);
    await kernel.reach(contextWithoutAuthority());
    expect(audit.events).toHaveLength(1);
    expect(audit.events[0]).toMatchObject({ type: "reach.read", outcome: "succeeded", traceId: "trace-1" });
    expect(audit.events[0]).not.toHaveProperty("authority");
    expect(audit.events[0]).not.toHaveProperty("metadata");
    expect(AuditEventSchema.safeParse(audit.events[0]).success).toBe(true);
  });

  test("consumes nothing and does not ask the policy", async () => {
    const usage = memoryUsage();
    const { kernel } = world([grant({ constraints: { maxUses: 1 } })], { usage, policy: { narrow: () => ({}) } });
    expect(await kernel.reach(context())).toEqual({ status: "computed", reach: [reports] });
    expect(await usage.used("tenant-1", "grant-1")).toBe(0);
  });

  test("agrees with authorize at each place it names", async () => {
    const { kernel } = world([
      grant({ capabilities: [capability({ path: ["a"], scope: "exact" }), capability({ path: ["b"] })] }),
    ]);
    const result = await kernel.reach(context());
    const entries = result.status === "computed" ? result.reach : [];
    expect(entries).toHaveLength(2);
    for (const { path, namespace } of entries) {
      expect((await kernel.authorize(context(), ask({ path, namespace }))).allowed).toBe(true);
    }
  });

  test("throws for a context that does not fit", async () => {
    const error: unknown = await world([])
      .kernel.reach(context({ purpose: "" }))
      .catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(KernelError);
    expect(error).toMatchObject({ code: "invalid_context" });
  });

  test("rejects with the signal's own reason when it was aborted before, and asks no one", async () => {
    const reason = new Error("the caller left");
    const { kernel, audit } = world({ load: () => Promise.reject(new Error("This should not have been called.")) });
    await expect(kernel.reach(context(), { signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
    expect(audit.events).toEqual([]);
  });

  test("rejects with the signal's own reason when it is aborted while it loads", async () => {
    const reason = new Error("the caller left");
    const controller = new AbortController();
    const { kernel } = world({
      load() {
        controller.abort(reason);
        return Promise.resolve([grant()]);
      },
    });
    await expect(kernel.reach(context(), { signal: controller.signal })).rejects.toBe(reason);
  });
});
