import { describe, expect, test } from "vitest";
import {
  agent,
  alice,
  bob,
  callOf,
  capability,
  contextOf,
  fails,
  grantOf,
  later,
  needs,
  noteTool,
  operationOf,
  portSecret,
  rejection,
  runAgent,
  untyped,
  worldOf,
  type World,
} from "../../test/deployment.ts";
import type { AuthorizationRequest, Grant, ResourceOperation, ToolCall } from "../contracts/index.ts";
import type { RunningAct } from "./covers.ts";
import type { KernelOptions } from "./ports.ts";

type Inspect = (act: RunningAct, world: World) => Promise<void>;
type Ports = Partial<Omit<KernelOptions, "grants">>;

const neverAborted = new AbortController().signal;

/** Both ways to read the note of today, with an inspection of the act while it runs. */
const acts: Record<
  string,
  (ports: Ports, grants: readonly Grant[], inspect: Inspect) => Promise<{ world: World; status: string }>
> = {
  "a tool call": async (ports, grants, inspect) => {
    const world: World = worldOf({ ...ports, grants, tools: [inspectingTool((call) => inspect(call, world))] });
    return { world, status: (await world.kernel.invokeTool(contextOf(), callOf())).status };
  },
  "a resource operation": async (ports, grants, inspect) => {
    const provider = {
      namespace: "files",
      async invoke(operation: ResourceOperation) {
        await inspect(operation, world);
        const { operationId, context } = operation;
        return { status: "succeeded" as const, operationId, completedAt: context.now, output: null };
      },
    };
    const world: World = worldOf({ ...ports, grants, resources: [provider] });
    return { world, status: (await world.kernel.invokeResource(contextOf(), operationOf())).status };
  },
};

function inspectingTool(inspect: (call: ToolCall) => Promise<void>) {
  return noteTool({
    async invoke(context, call) {
      await inspect(call);
      return { status: "succeeded", callId: call.id, tool: call.tool, completedAt: context.now, output: null };
    },
  });
}

const today = grantOf("today", { capabilities: [capability("files", ["notes", "today"], "read", { scope: "exact" })] });
const diary = grantOf("diary", { capabilities: [capability("files", ["notes", "diary"], "read", { scope: "exact" })] });
const parent = grantOf("parent", {
  subject: alice,
  issuer: bob,
  capabilities: diary.capabilities,
  constraints: { delegationDepth: 1 },
});

interface Row {
  name: string;
  grants: readonly Grant[];
  ports?: Ports;
  /** Grants of one use that are used up before. */
  spent?: readonly string[];
  asks: AuthorizationRequest;
  covered: boolean;
}

const rows: Row[] = [
  { name: "the place that it was decided on", grants: [today], asks: needs("notes", "today"), covered: true },
  { name: "a place below an exact grant", grants: [today], asks: needs("notes", "today", "noon"), covered: false },
  { name: "the place above an exact grant", grants: [today], asks: needs("notes"), covered: false },
  { name: "a place beside an exact grant", grants: [today], asks: needs("notes", "diary"), covered: false },
  { name: "another place below a wide grant", grants: [grantOf("wide")], asks: needs("notes", "diary"), covered: true },
  { name: "a place far below a wide grant", grants: [grantOf("wide")], asks: needs("notes", "a", "b"), covered: true },
  { name: "the top of a wide grant", grants: [grantOf("wide")], asks: needs("notes"), covered: true },
  { name: "a place above a wide grant", grants: [grantOf("wide")], asks: needs(), covered: false },
  { name: "a namesake beside a wide grant", grants: [grantOf("wide")], asks: needs("notes2"), covered: false },
  {
    name: "another action",
    grants: [grantOf("wide")],
    asks: { ...needs("notes", "diary"), action: "write" },
    covered: false,
  },
  {
    name: "another resource namespace",
    grants: [grantOf("wide")],
    asks: { action: "read", resource: { namespace: "mail", path: ["notes"] } },
    covered: false,
  },
  { name: "what another grant allows", grants: [today, diary], asks: needs("notes", "diary"), covered: true },
  {
    name: "what two capabilities allow only together",
    grants: [
      {
        ...today,
        capabilities: [
          ...today.capabilities,
          capability("files", ["notes", "diary"], "list"),
          capability("files", ["letters"], "read"),
        ],
      },
    ],
    asks: needs("notes", "diary"),
    covered: false,
  },
  ...[
    { state: "is revoked", change: { revokedAt: "2026-01-01T11:00:00Z" } },
    { state: "has expired", change: { constraints: { expiresAt: "2026-01-01T12:00:00Z" } } },
    { state: "has not begun", change: { constraints: { notBefore: "2026-01-01T12:00:01Z" } } },
    { state: "is not issued yet", change: { issuedAt: "2026-01-01T12:00:01Z" } },
    { state: "is for another purpose", change: { constraints: { purposes: ["spy"] } } },
    { state: "has a broken chain", change: { parentId: "nowhere" } },
    { state: "is over another owner's places", change: { capabilities: [ofBob()] } },
  ].map(({ state, change }) => ({
    name: `what another grant would allow that ${state}`,
    grants: [today, { ...diary, ...change }],
    asks: needs("notes", "diary"),
    covered: false,
  })),
  {
    name: "what another grant allows whose chain holds",
    grants: [today, parent, { ...diary, parentId: "parent" }],
    asks: needs("notes", "diary"),
    covered: true,
  },
  {
    name: "what the grant allows whose last use the act itself took",
    grants: [grantOf("once", { constraints: { maxUses: 1 } })],
    asks: needs("notes", "diary"),
    covered: true,
  },
  {
    name: "what another grant allows that has a use left",
    grants: [today, { ...diary, constraints: { maxUses: 1 } }],
    asks: needs("notes", "diary"),
    covered: true,
  },
  {
    name: "what another grant would allow that is used up",
    grants: [today, { ...diary, constraints: { maxUses: 1 } }],
    spent: ["diary"],
    asks: needs("notes", "diary"),
    covered: false,
  },
  {
    name: "what another grant would allow whose uses cannot be counted",
    grants: [today, { ...diary, constraints: { maxUses: 1 } }],
    ports: { usage: { used: fails, consume: fails } },
    asks: needs("notes", "diary"),
    covered: false,
  },
  {
    name: "what the host's policy allows",
    grants: [grantOf("wide")],
    ports: { policy: { narrow: ({ resource }) => (resource.path.includes("diary") ? {} : undefined) } },
    asks: needs("notes", "letters"),
    covered: true,
  },
  {
    name: "what the host's policy refuses",
    grants: [grantOf("wide")],
    ports: { policy: { narrow: ({ resource }) => (resource.path.includes("diary") ? {} : undefined) } },
    asks: needs("notes", "diary"),
    covered: false,
  },
  {
    name: "what the grant allows whose last use the act itself took, and the policy allows",
    grants: [grantOf("once", { constraints: { maxUses: 1 } })],
    ports: { policy: { narrow: () => undefined } },
    asks: needs("notes", "diary"),
    covered: true,
  },
  {
    name: "a place of the owner by name",
    grants: [grantOf("wide")],
    asks: { action: "read", resource: { namespace: "files", path: ["notes", "diary"], owner: alice } },
    covered: true,
  },
  {
    name: "a place of another owner",
    grants: [grantOf("wide")],
    asks: { action: "read", resource: { namespace: "files", path: ["notes", "diary"], owner: bob } },
    covered: false,
  },
  {
    name: "a place of another owner that a grant names",
    grants: [today, grantOf("bobs", { capabilities: [ofBob()] })],
    asks: { action: "read", resource: { namespace: "files", path: ["notes", "diary"], owner: bob } },
    covered: false,
  },
  { name: "a path that is none", grants: [grantOf("wide")], asks: needs("notes", ".."), covered: false },
  { name: "a request that is none", grants: [grantOf("wide")], asks: untyped({ action: "read" }), covered: false },
];

function ofBob() {
  return capability("files", ["notes", "diary"], "read", { owner: bob });
}

describe.each(Object.entries(acts))("%s", (_name, act) => {
  for (const { name, grants, ports = {}, spent = [], asks, covered } of rows) {
    test(`${covered ? "covers" : "does not cover"} ${name}`, async () => {
      const answers: boolean[] = [];
      const { status } = await act(ports, grants, async (running, { kernel, usage }) => {
        for (const id of spent) await usage.consume("demo", id, 1);
        answers.push(await kernel.covers(running, asks), await kernel.covers(running, asks));
      });
      expect([status, answers]).toEqual(["succeeded", [covered, covered]]);
    });
  }

  test("is checked without a trace and without a use", async () => {
    const once = { ...diary, constraints: { maxUses: 2 } };
    const seen: unknown[] = [];
    await act({ policy: { narrow: () => undefined } }, [today, once], async (running, { kernel, usage, events }) => {
      const before = JSON.stringify(events);
      for (const place of ["today", "diary", "letters"]) await kernel.covers(running, needs("notes", place));
      seen.push(
        JSON.stringify(events) === before,
        await usage.used("demo", "diary"),
        await usage.used("demo", "today"),
      );
    });
    expect(seen).toEqual([true, 0, 0]);
  });

  test("that was allowed on a bounded grant has taken one use and no more", async () => {
    const { world } = await act({}, [grantOf("once", { constraints: { maxUses: 1 } })], async (running, { kernel }) => {
      for (const place of ["today", "diary"]) await kernel.covers(running, needs("notes", place));
    });
    expect(await world.usage.used("demo", "once")).toBe(1);
  });

  test("depends on what it was decided on: a grant revoked or issued while it runs changes nothing for it", async () => {
    const answers: boolean[] = [];
    const { world } = await act({}, [today], async (running, { kernel, grants }) => {
      grants.revoke("demo", "today", "2026-01-01T11:00:00Z");
      grants.issue(diary);
      answers.push(await kernel.covers(running, needs("notes", "today")));
      answers.push(await kernel.covers(running, needs("notes", "diary")));
    });
    expect(answers).toEqual([true, false]);
    const next = await world.kernel.authorize(contextOf(), needs("notes", "today"));
    expect(next.allowed).toBe(false);
  });

  test("does not cover what hangs on a chain that was cut while it runs", async () => {
    const answers: boolean[] = [];
    const held = [today, parent, { ...diary, parentId: "parent" }];
    await act({}, held, async (running, { kernel, grants }) => {
      grants.revoke("demo", "parent", "2026-01-01T11:00:00Z");
      answers.push(await kernel.covers(running, needs("notes", "diary")));
    });
    expect(answers).toEqual([false]);
  });

  const strangers: { name: string; of: (running: RunningAct) => unknown }[] = [
    { name: "a copy of it", of: (running) => ({ ...running }) },
    { name: "its text", of: (running) => JSON.parse(JSON.stringify(running)) as unknown },
    { name: "an act that was made up", of: () => callOf() },
    { name: "an empty object", of: () => ({}) },
  ];
  for (const { name, of } of strangers) {
    test(`is known by itself: ${name} covers nothing`, async () => {
      const answers: boolean[] = [];
      await act({}, [grantOf("wide")], async (running, { kernel }) => {
        answers.push(await kernel.covers(untyped(of(running)), needs("notes", "today")));
        answers.push(await kernel.covers(running, needs("notes", "today")));
      });
      expect(answers).toEqual([false, true]);
    });
  }

  test("of one kernel is nothing to another", async () => {
    const other = worldOf({ grants: [grantOf("wide")] });
    const answers: boolean[] = [];
    await act({}, [grantOf("wide")], async (running) => {
      answers.push(await other.kernel.covers(running, needs("notes", "today")));
    });
    expect(answers).toEqual([false]);
  });

  test("covers nothing more where the policy fails, and the operator is told", async () => {
    let isBroken = false;
    const policy = {
      narrow() {
        if (isBroken) throw new Error(portSecret);
        return undefined;
      },
    };
    const answers: boolean[] = [];
    const { world } = await act({ policy }, [grantOf("wide")], async (running, { kernel }) => {
      isBroken = true;
      answers.push(await kernel.covers(running, needs("notes", "diary")));
    });
    expect(answers).toEqual([false]);
    expect(world.portErrors).toMatchObject([{ failure: { port: "policy" } }]);
  });

  test("is not checked for a caller who has gone", async () => {
    const reasons: unknown[] = [];
    const gone = new Error("gone");
    await act({}, [grantOf("wide")], async (running, { kernel }) => {
      const asked = kernel.covers(running, needs("notes", "diary"), { signal: AbortSignal.abort(gone) });
      reasons.push(await rejection(asked).catch(() => "answered"));
    });
    expect(reasons).toEqual([gone]);
  });
});

test("a call whose tool changed its arguments depends on the requirement of the changed ones", async () => {
  const answers: boolean[] = [];
  const tool = noteTool({
    parse: () => ({ note: "diary" }),
    async invoke(context, call) {
      for (const place of ["today", "diary"]) answers.push(await world.kernel.covers(call, needs("notes", place)));
      return { status: "succeeded", callId: call.id, tool: call.tool, completedAt: context.now, output: null };
    },
  });
  const world: World = worldOf({ grants: [diary], tools: [tool] });
  expect((await world.kernel.invokeTool(contextOf(), callOf())).status).toBe("succeeded");
  expect(answers).toEqual([false, true]);
});

describe("inside a turn", () => {
  const run = grantOf("run", { capabilities: [runAgent] });
  const turnRows: { name: string; before?: readonly Grant[]; change?: (world: World) => void; covered: boolean }[] = [
    { name: "what a grant allows that was there at admission", before: [diary], covered: true },
    { name: "what a grant allows that was issued since", change: ({ grants }) => grants.issue(diary), covered: false },
    {
      name: "what a grant allowed that was revoked since",
      before: [diary],
      change: ({ grants }) => grants.revoke("demo", "diary", "2026-01-01T12:05:00Z"),
      covered: false,
    },
    {
      name: "what a grant allowed that has expired since",
      before: [{ ...diary, constraints: { expiresAt: "2026-01-01T12:05:00Z" } }],
      covered: false,
    },
    {
      name: "what another grant allows that was rewritten wider since",
      before: [{ ...diary, capabilities: [capability("files", ["notes", "letters"], "read")] }],
      change: ({ grants }) => grants.issue(diary),
      covered: false,
    },
    {
      name: "what the act's own grant allows since it was rewritten wider",
      change: ({ grants }) => grants.issue({ ...today, capabilities: [capability("files", [], "*")] }),
      covered: false,
    },
  ];
  for (const { name, before = [], change, covered } of turnRows) {
    test(`a call ${covered ? "covers" : "does not cover"} ${name}`, async () => {
      const answers: boolean[] = [];
      const tool = inspectingTool(async (call) => {
        answers.push(await world.kernel.covers(call, needs("notes", "today")));
        answers.push(await world.kernel.covers(call, needs("notes", "diary")));
      });
      const world: World = worldOf({ grants: [run, today, ...before], tools: [tool] });
      const admission = await world.kernel.admitTurn(contextOf(), { agent });
      if (admission.kind !== "admitted") throw new Error(admission.reason);
      change?.(world);
      const result = await admission.scope.invokeTool(callOf(), later, neverAborted);
      expect([result.status, answers]).toEqual(["succeeded", [true, covered]]);
    });
  }
});
