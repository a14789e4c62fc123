import { expect, test } from "vitest";
import {
  agent,
  alice,
  bob,
  callOf,
  capability,
  contextOf,
  deferred,
  descriptorOf,
  fails,
  grantOf,
  later,
  needs,
  noteTool,
  now,
  portSecret,
  providerOf,
  refusingAudit,
  rejection,
  runAgent,
  said,
  untyped,
  worldOf,
  type World,
} from "../../test/deployment.ts";
import { never, ticks } from "../../test/turns.ts";
import {
  EscalationSchema,
  ToolResultSchema,
  type AccessContext,
  type AuditEvent,
  type AuthorityRequestInput,
  type DiscoveryContext,
  type Grant,
  type ToolCall,
} from "../contracts/index.ts";
import type { GrantSource, KernelOptions } from "./ports.ts";
import type { TurnToAdmit } from "./admit-turn.ts";
import type { TurnScope } from "./turn-scope.ts";

const run = grantOf("run", { capabilities: [runAgent] });
const { signal } = new AbortController();

async function admit(
  world: World,
  turn: Partial<TurnToAdmit> = {},
  context: AccessContext = contextOf(),
): Promise<TurnScope> {
  const admission = await world.kernel.admitTurn(context, { agent, ...turn });
  if (admission.kind === "refused") throw new Error(`refused: ${admission.reason}`);
  return admission.scope;
}

function read(note: string): ToolCall {
  return callOf({ arguments: { note } });
}

test("admission takes service.execution / [agent, id] / invoke, counts its use, and is refused when none is left", async () => {
  const bounded = grantOf("run", { capabilities: [runAgent], constraints: { maxUses: 1 } });
  const { kernel, events, usage } = worldOf({ grants: [bounded] });
  expect(await kernel.admitTurn(contextOf(), { agent })).toMatchObject({ kind: "admitted" });
  expect(
    events.map(({ type, outcome, action, resource, grantId }) => ({ type, outcome, action, resource, grantId })),
  ).toStrictEqual([
    {
      type: "authorization.checked",
      outcome: "allowed",
      action: "invoke",
      resource: { namespace: "service.execution", path: ["agent", "helper"] },
      grantId: "run",
    },
    { type: "turn.started", outcome: "allowed", action: undefined, resource: undefined, grantId: undefined },
  ]);
  expect(await usage.used("demo", "run")).toBe(1);
  expect(await kernel.admitTurn(contextOf(), { agent })).toStrictEqual({ kind: "refused", reason: "grant_exhausted" });
});

const bounded = grantOf("run", { capabilities: [runAgent], constraints: { maxUses: 1 } });
const derived = grantOf("run", { capabilities: [runAgent], parentId: "parent" });
const refusals: {
  name: string;
  world: Parameters<typeof worldOf>[0];
  context?: unknown;
  turn?: TurnToAdmit;
  reason: string;
}[] = [
  { name: "no grant", world: {}, reason: "no_matching_grant" },
  {
    name: "a grant to run another agent",
    world: { grants: [run] },
    turn: { agent: { kind: "agent", agentId: "other" } },
    reason: "no_matching_grant",
  },
  {
    name: "a grant for another action",
    world: { grants: [grantOf("run", { capabilities: [{ ...runAgent, actions: ["read"] }] })] },
    reason: "no_matching_grant",
  },
  {
    name: "an agent id that is no path segment",
    world: { grants: [grantOf("run", { capabilities: [capability("service.execution", [], "*")] })] },
    turn: { agent: { kind: "agent", agentId: "../helper" } },
    reason: "invalid_request",
  },
  {
    name: "a context that does not fit",
    world: { grants: [run] },
    context: { ...contextOf(), now: "noon" },
    reason: "invalid_context",
  },
  {
    name: "a context without authority",
    world: { grants: [run] },
    context: { ...contextOf(), authority: undefined },
    reason: "invalid_context",
  },
  { name: "grants that cannot be read", world: { source: { load: fails } }, reason: "authority_unavailable" },
  {
    name: "a use that cannot be counted",
    world: { grants: [bounded], usage: { used: fails, consume: fails } },
    reason: "usage_store_unavailable",
  },
  {
    name: "no store to count uses",
    world: { grants: [bounded], countsUses: false },
    reason: "usage_store_unavailable",
  },
  {
    name: "a policy that refuses",
    world: { grants: [run], policy: { narrow: () => ({}) } },
    reason: "host_policy_denied",
  },
  {
    name: "a policy that throws",
    world: {
      grants: [run],
      policy: {
        narrow: () => {
          throw new Error(portSecret);
        },
      },
    },
    reason: "host_policy_unavailable",
  },
  {
    name: "a chain that cannot be read",
    world: { source: { load: () => Promise.resolve([derived]), find: fails } },
    reason: "delegation_chain_unverified",
  },
  { name: "a chain that is broken", world: { grants: [derived] }, reason: "delegation_chain_invalid" },
  {
    name: "a tool of which it is unknown whether it is granted",
    world: {
      source: { load: () => Promise.resolve([run, grantOf("notes", { parentId: "parent" })]), find: fails },
      tools: [noteTool()],
    },
    reason: "authority_unavailable",
  },
  {
    name: "a sink that refuses the decision",
    world: { grants: [run], audit: refusingAudit(() => true) },
    reason: "audit_unavailable",
  },
  {
    name: "a sink that refuses the start",
    world: { grants: [run], audit: refusingAudit(({ type }) => type === "turn.started") },
    reason: "audit_unavailable",
  },
];

for (const row of refusals) {
  test(`with ${row.name} a turn is refused: ${row.reason}`, async () => {
    const { kernel } = worldOf(row.world);
    const admission = await kernel.admitTurn(untyped<AccessContext>(row.context ?? contextOf()), row.turn ?? { agent });
    expect(admission).toStrictEqual({ kind: "refused", reason: row.reason });
  });
}

test("the end of a turn that never had a scope can be recorded all the same", async () => {
  const { kernel, events } = worldOf();
  await kernel.recordTurnEnd(contextOf({ executionId: "turn-1" }), { outcome: "denied", reason: "actor_mismatch" });
  expect(events).toMatchObject([
    { type: "turn.ended", outcome: "denied", reason: "actor_mismatch", executionId: "turn-1" },
  ]);
});

test("an aborted admission rejects with its reason; nothing is taken or recorded", async () => {
  const reason = new Error("the caller went away");
  const { kernel, usage, events } = worldOf({ grants: [bounded] });
  expect(await rejection(kernel.admitTurn(contextOf(), { agent }, { signal: AbortSignal.abort(reason) }))).toBe(reason);
  expect([await usage.used("demo", "run"), events.length]).toStrictEqual([0, 0]);
});

test("the turn's tools are the visible ones among those given, its reach is the context's, and both are frozen or fresh", async () => {
  const hidden = noteTool({ name: "mail.find" });
  const world = worldOf({
    grants: [run, grantOf("grant-1")],
    tools: [noteTool(), noteTool({ name: "files.find" }), hidden],
  });
  const visible = await world.kernel.listTools(contextOf());
  const [first] = visible;
  for (const row of [
    { name: "none given", turn: {}, tools: ["files.find", "files.read"] },
    { name: "all visible given", turn: { tools: visible }, tools: ["files.find", "files.read"] },
    { name: "some given", turn: { tools: first === undefined ? [] : [first] }, tools: ["files.find"] },
    {
      name: "a hidden one given",
      turn: { tools: [...visible, hidden.descriptor] },
      tools: ["files.find", "files.read"],
    },
    { name: "an unknown one given", turn: { tools: [noteTool({ name: "files.none" }).descriptor] }, tools: [] },
    { name: "an empty list given", turn: { tools: [] }, tools: [] },
  ]) {
    const scope = await admit(world, row.turn);
    expect({ name: row.name, tools: scope.tools.map((tool) => tool.name) }).toStrictEqual({
      name: row.name,
      tools: row.tools,
    });
    expect(Object.isFrozen(scope.tools)).toBe(true);
  }
  expect((await admit(world)).reach).toStrictEqual({
    status: "computed",
    reach: [
      { namespace: "files", path: ["notes"], actions: ["read"], scope: "descendants" },
      { namespace: "service.execution", path: ["agent", "helper"], actions: ["invoke"], scope: "exact" },
    ],
  });
});

test("a descriptor that was given in another form is not what the turn offers", async () => {
  const world = worldOf({ grants: [run, grantOf("grant-1")], tools: [noteTool()] });
  const forged = { ...noteTool().descriptor, description: "Reads everything.", readWrite: "write" as const };
  const scope = await admit(world, { tools: [forged] });
  expect(scope.tools).toMatchObject([{ description: "Reads one note.", readWrite: "read" }]);
});

const both = contextOf({ enabledToolNamespaces: ["files", "mail"] });

test("given the very list that listTools returned, a provider is asked once for list, admission and calls together", async () => {
  const provider = providerOf("post", ["mail"], () => Promise.resolve([noteTool({ name: "mail.find" })]));
  const world = worldOf({ grants: [run, grantOf("grant-1")], toolProviders: [provider] });
  const tools = await world.kernel.listTools(both);
  const scope = await admit(world, { tools }, both);
  expect(said(await scope.invokeTool(callOf({ tool: "mail.find" }), now, signal))).toBe("succeeded");
  expect(said(await scope.invokeTool(callOf({ tool: "mail.find", id: "call-2" }), now, signal))).toBe("succeeded");
  expect(provider.asked).toBe(1);
});

test("given any other list, a provider is asked once for admission and calls together", async () => {
  const provider = providerOf("post", ["mail"], () => Promise.resolve([noteTool({ name: "mail.find" })]));
  const world = worldOf({ grants: [run, grantOf("grant-1")], toolProviders: [provider] });
  const scope = await admit(world, { tools: [noteTool({ name: "mail.find" }).descriptor] }, both);
  expect(said(await scope.invokeTool(callOf({ tool: "mail.find" }), now, signal))).toBe("succeeded");
  expect(provider.asked).toBe(1);
});

test("a list made for one context never brings that context's tools into another's turn", async () => {
  const hers = noteTool({ name: "mail.find" });
  const his = noteTool({ name: "mail.find" });
  const provider = providerOf("post", ["mail"], ({ owner }) =>
    Promise.resolve([owner.kind === "human" && owner.userId === "alice" ? hers : his]),
  );
  const world = worldOf({ grants: [run, grantOf("grant-1")], toolProviders: [provider] });
  const tools = await world.kernel.listTools(both);
  const scope = await admit(world, { tools }, { ...both, owner: bob });
  await scope.invokeTool(callOf({ tool: "mail.find" }), now, signal);
  expect({ hers: hers.calls.length, his: his.calls.length }).toStrictEqual({ hers: 0, his: 1 });
});

const { authority: _left, ...undecided } = both;
const elsewhere: { name: string; listed?: DiscoveryContext; admitted: Partial<AccessContext> }[] = [
  { name: "in another tenant", admitted: { namespaceId: "elsewhere" } },
  { name: "for another purpose", admitted: { purpose: "other" } },
  { name: "of another trace", admitted: { traceId: "trace-2" } },
  { name: "by another actor", admitted: { actor: { kind: "agent", agentId: "other" } } },
  { name: "over another owner's resources", admitted: { owner: bob } },
  { name: "on another authority", admitted: { authority: bob } },
  { name: "on an authority that the list was not made for", listed: undecided, admitted: {} },
  { name: "with other namespaces", admitted: { enabledToolNamespaces: ["mail"] } },
];
for (const { name, listed = both, admitted } of elsewhere) {
  test(`a list is not used again for a turn ${name}: its provider is asked anew`, async () => {
    const provider = providerOf("post", ["mail"], () => Promise.resolve([noteTool({ name: "mail.find" })]));
    const may = [runAgent, capability("service.execution", ["agent", "other"], "invoke")];
    const source: GrantSource = {
      load: ({ namespaceId, actor: subject, authority: issuer = alice }) =>
        Promise.resolve([grantOf("run", { namespaceId, subject, issuer, capabilities: may })]),
    };
    const world = worldOf({ source, toolProviders: [provider] });
    const tools = await world.kernel.listTools(listed);
    const context = { ...both, ...admitted };
    await admit(world, { tools, agent: context.actor.kind === "agent" ? context.actor : agent }, context);
    expect(provider.asked).toBe(2);
  });
}

test("a list is used again at another instant and in another execution of the same access", async () => {
  const provider = providerOf("post", ["mail"]);
  const world = worldOf({ grants: [run], toolProviders: [provider] });
  const tools = await world.kernel.listTools(both);
  await admit(world, { tools }, { ...both, now: later, executionId: "turn-1" });
  expect(provider.asked).toBe(1);
});

for (const row of [
  {
    name: "whose last use was taken",
    grant: { constraints: { maxUses: 1 } },
    spoil: ({ usage }: World) => usage.consume("demo", "notes", 1),
  },
  {
    name: "whose chain was broken",
    grant: { parentId: "parent" },
    spoil: ({ grants }: World) => Promise.resolve(grants.revoke("demo", "parent", now)),
  },
]) {
  test(`a list that was made at the same instant offers nothing of a grant ${row.name} since`, async () => {
    const parent = grantOf("parent", { subject: alice, issuer: bob, constraints: { delegationDepth: 1 } });
    const world = worldOf({ grants: [run, parent, grantOf("notes", row.grant)], tools: [noteTool()] });
    const tools = await world.kernel.listTools(contextOf());
    expect((await admit(world, { tools })).tools).toBe(tools);
    await row.spoil(world);
    expect((await admit(world, { tools })).tools).toStrictEqual([]);
  });
}

test("a provider that is down at admission takes only its own tools out of the turn", async () => {
  const world = worldOf({
    grants: [run, grantOf("grant-1")],
    tools: [noteTool()],
    toolProviders: [providerOf("post", ["mail"], fails)],
  });
  const scope = await admit(world, {}, both);
  expect(scope.tools.map((tool) => tool.name)).toStrictEqual(["files.read"]);
  expect(["files.read", "files.none", "mail.find", "mailbox.find"].map((name) => scope.offers(name))).toStrictEqual([
    true,
    false,
    true,
    false,
  ]);
  expect(await scope.invokeTool(callOf({ tool: "mail.find" }), now, signal)).toMatchObject({
    status: "failed",
    error: { code: "tool_catalog_unavailable" },
  });
  expect(said(await scope.invokeTool(callOf(), now, signal))).toBe("succeeded");
});

// INVARIANT of the semantics: inside a turn authority can only shrink. Each row admits at 12:00, changes the grants,
// and calls at 12:10; the tool stays visible through "today", so the answer is about the note "diary".
const today = grantOf("today", { capabilities: [capability("files", ["notes", "today"], "read")] });
const diary = [capability("files", ["notes", "diary"], "read")];
const parent = grantOf("parent", {
  subject: alice,
  issuer: bob,
  capabilities: diary,
  constraints: { delegationDepth: 1 },
});

interface ShrinkRow {
  name: string;
  before: readonly Grant[];
  /** What happens between admission and the call. */
  change?: (world: World) => void;
  allowed: boolean;
}

const shrinking: ShrinkRow[] = [
  {
    name: "a grant that was there at admission carries on",
    before: [grantOf("diary", { capabilities: diary })],
    allowed: true,
  },
  {
    name: "a grant issued after admission does not widen",
    before: [],
    change: ({ grants }) => grants.issue(grantOf("diary", { capabilities: diary, issuedAt: "2026-01-01T12:05:00Z" })),
    allowed: false,
  },
  {
    name: "a grant put in after admission with an older date does not widen",
    before: [],
    change: ({ grants }) => grants.issue(grantOf("diary", { capabilities: diary })),
    allowed: false,
  },
  {
    name: "a grant that the source knew at admission and that is issued only afterwards does not widen",
    before: [grantOf("diary", { capabilities: diary, issuedAt: "2026-01-01T12:05:00Z" })],
    allowed: false,
  },
  {
    name: "a grant that begins only after admission does not widen",
    before: [grantOf("diary", { capabilities: diary, constraints: { notBefore: "2026-01-01T12:05:00Z" } })],
    allowed: false,
  },
  {
    name: "a grant revoked before the call stops it",
    before: [grantOf("diary", { capabilities: diary })],
    change: ({ grants }) => grants.revoke("demo", "diary", "2026-01-01T12:05:00Z"),
    allowed: false,
  },
  {
    name: "a grant revoked from a later instant on does not stop it",
    before: [grantOf("diary", { capabilities: diary })],
    change: ({ grants }) => grants.revoke("demo", "diary", "2026-01-01T12:10:01Z"),
    allowed: true,
  },
  {
    name: "a grant that expires before the call stops it",
    before: [grantOf("diary", { capabilities: diary, constraints: { expiresAt: "2026-01-01T12:05:00Z" } })],
    allowed: false,
  },
  {
    name: "a grant that expires after the call does not stop it",
    before: [grantOf("diary", { capabilities: diary, constraints: { expiresAt: "2026-01-01T12:10:01Z" } })],
    allowed: true,
  },
  {
    name: "a grant rewritten narrower under the same id stops it",
    before: [grantOf("diary", { capabilities: diary })],
    change: ({ grants }) => grants.issue(grantOf("diary", { capabilities: today.capabilities })),
    allowed: false,
  },
  {
    name: "a grant rewritten with a wider path under the same id does not widen",
    before: [grantOf("diary", { capabilities: today.capabilities })],
    change: ({ grants }) => grants.issue(grantOf("diary", { capabilities: [capability("files", [], "*")] })),
    allowed: false,
  },
  {
    name: "a grant rewritten with a later end under the same id does not widen",
    before: [grantOf("diary", { capabilities: diary, constraints: { expiresAt: "2026-01-01T12:05:00Z" } })],
    change: ({ grants }) => grants.issue(grantOf("diary", { capabilities: diary })),
    allowed: false,
  },
  {
    name: "a grant rewritten for more purposes under the same id does not widen",
    before: [grantOf("diary", { capabilities: diary, constraints: { purposes: ["other"] } })],
    change: ({ grants }) => grants.issue(grantOf("diary", { capabilities: diary })),
    allowed: false,
  },
  {
    name: "a grant that was revoked at admission and is restored under the same id does not widen",
    before: [grantOf("diary", { capabilities: diary, revokedAt: "2026-01-01T11:00:00Z" })],
    change: ({ grants }) => grants.issue(grantOf("diary", { capabilities: diary })),
    allowed: false,
  },
  {
    name: "a grant revoked in the turn and issued anew under the same id does not come back",
    before: [grantOf("diary", { capabilities: diary })],
    change({ grants }) {
      grants.revoke("demo", "diary", "2026-01-01T12:04:00Z");
      grants.issue(grantOf("diary", { capabilities: diary, issuedAt: "2026-01-01T12:05:00Z" }));
    },
    allowed: false,
  },
  {
    name: "a derived grant whose parent was there at admission carries on",
    before: [parent, grantOf("diary", { capabilities: diary, parentId: "parent" })],
    allowed: true,
  },
  {
    name: "a derived grant whose parent is revoked before the call stops it",
    before: [parent, grantOf("diary", { capabilities: diary, parentId: "parent" })],
    change: ({ grants }) => grants.revoke("demo", "parent", "2026-01-01T12:05:00Z"),
    allowed: false,
  },
  {
    name: "a parent issued after admission does not widen through the child that waited for it",
    before: [grantOf("diary", { capabilities: diary, parentId: "parent" })],
    change: ({ grants }) => grants.issue({ ...parent, issuedAt: "2026-01-01T12:05:00Z" }),
    allowed: false,
  },
  {
    name: "a derived grant with a whole chain that is rewritten as a root under the same id does not widen",
    before: [parent, grantOf("diary", { capabilities: diary, parentId: "parent" })],
    change: ({ grants }) => grants.issue(grantOf("diary", { capabilities: diary })),
    allowed: false,
  },
  {
    name: "a root that is rewritten as a derived grant under the same id does not widen",
    before: [parent, grantOf("diary", { capabilities: diary })],
    change: ({ grants }) => grants.issue(grantOf("diary", { capabilities: diary, parentId: "parent" })),
    allowed: false,
  },
  {
    name: "a derived grant with a broken chain that is rewritten as a root under the same id does not widen",
    before: [grantOf("diary", { capabilities: diary, parentId: "parent" })],
    change: ({ grants }) => grants.issue(grantOf("diary", { capabilities: diary })),
    allowed: false,
  },
];

for (const row of shrinking) {
  test(`${row.name}: the next call is ${row.allowed ? "allowed" : "denied and nothing runs"}`, async () => {
    const tool = noteTool();
    const world = worldOf({ grants: [run, today, ...row.before], tools: [tool] });
    const scope = await admit(world);
    row.change?.(world);
    expect(said(await scope.invokeTool(read("today"), later, signal))).toBe("succeeded");
    const result = await scope.invokeTool(callOf({ id: "call-2", arguments: { note: "diary" } }), later, signal);
    expect(result.status).toBe(row.allowed ? "succeeded" : "denied");
    expect(tool.calls).toHaveLength(row.allowed ? 2 : 1);
  });
}

test("a tool stays invisible through a grant whose chain was broken at admission and was mended since", async () => {
  const tool = noteTool();
  const world = worldOf({
    grants: [run, grantOf("diary", { capabilities: diary, parentId: "parent" })],
    tools: [tool],
  });
  const scope = await admit(world);
  world.grants.issue(parent);
  expect(said(await scope.invokeTool(read("diary"), later, signal))).toBe("tool_unavailable");
  expect(world.events.at(-1)).toMatchObject({ metadata: { hidden: "not-granted" } });
});

test("a tool stays invisible through a grant whose uses could not be counted at admission", async () => {
  let isDown = true;
  const usage = {
    used: () => (isDown ? fails() : Promise.resolve(0)),
    consume: () => Promise.resolve(true),
  };
  const doubtful = grantOf("diary", { capabilities: diary, constraints: { maxUses: 5 } });
  const world = worldOf({ grants: [run, today, doubtful], tools: [noteTool()], usage });
  const scope = await admit(world);
  isDown = false;
  world.grants.revoke("demo", "today", "2026-01-01T12:05:00Z");
  expect(said(await scope.invokeTool(read("diary"), later, signal))).toBe("tool_unavailable");
});

for (const row of [
  { name: "with more uses", constraints: { maxUses: 5 } },
  { name: "without a count", constraints: {} },
]) {
  test(`a bounded grant rewritten ${row.name} under the same id does not widen a running turn`, async () => {
    const tool = noteTool();
    const world = worldOf({ grants: [run, grantOf("grant-1", { constraints: { maxUses: 1 } })], tools: [tool] });
    const scope = await admit(world);
    expect(said(await scope.invokeTool(callOf(), now, signal))).toBe("succeeded");
    world.grants.issue(grantOf("grant-1", { constraints: row.constraints }));
    expect((await scope.invokeTool(callOf({ id: "call-2" }), later, signal)).status).toBe("denied");
    expect(tool.calls).toHaveLength(1);
  });
}

test("uses are counted across turns: what one turn spent the next does not have", async () => {
  const world = worldOf({ grants: [run, grantOf("grant-1", { constraints: { maxUses: 1 } })], tools: [noteTool()] });
  const first = await admit(world);
  expect(said(await first.invokeTool(callOf(), now, signal))).toBe("succeeded");
  expect((await first.invokeTool(callOf({ id: "call-2" }), now, signal)).status).toBe("denied");
  expect((await admit(world)).tools).toStrictEqual([]);
});

test("each call is decided and recorded at its own instant", async () => {
  const world = worldOf({ grants: [run, grantOf("grant-1")], tools: [noteTool()] });
  const scope = await admit(world, {}, contextOf({ executionId: "turn-1" }));
  await scope.invokeTool(callOf(), later, signal);
  await scope.end({ outcome: "succeeded" }, "2026-01-01T12:20:00Z");
  expect(world.events.map(({ type, at, executionId }) => [type, at, executionId])).toStrictEqual([
    ["authorization.checked", "2026-01-01T12:00:00Z", "turn-1"],
    ["turn.started", "2026-01-01T12:00:00Z", "turn-1"],
    ["authorization.checked", "2026-01-01T12:10:00Z", "turn-1"],
    ["tool.invoked", "2026-01-01T12:10:00Z", "turn-1"],
    ["turn.ended", "2026-01-01T12:20:00Z", "turn-1"],
  ]);
});

test("grants that cannot be read any more stop the next call", async () => {
  let isDown = false;
  const source = { load: () => (isDown ? fails() : Promise.resolve([run, grantOf("grant-1")])) };
  const tool = noteTool();
  const scope = await admit(worldOf({ source, tools: [tool] }));
  expect(said(await scope.invokeTool(callOf(), now, signal))).toBe("succeeded");
  isDown = true;
  expect(said(await scope.invokeTool(callOf({ id: "call-2" }), now, signal))).toBe("authority_unavailable");
  expect(tool.calls).toHaveLength(1);
});

test("a call of another trace, an unknown tool or an aborted signal is refused in a turn as outside of one", async () => {
  const tool = noteTool();
  const scope = await admit(worldOf({ grants: [run, grantOf("grant-1")], tools: [tool] }));
  expect(said(await scope.invokeTool(callOf({ traceId: "trace-2" }), now, signal))).toBe("trace_mismatch");
  expect(said(await scope.invokeTool(callOf({ tool: "files.none" }), now, signal))).toBe("tool_unavailable");
  const reason = new Error("the deadline passed");
  expect(await rejection(scope.invokeTool(callOf(), now, AbortSignal.abort(reason)))).toBe(reason);
  expect(tool.calls).toStrictEqual([]);
});

test("after the end every call is refused with tool_unavailable, recorded, and nothing runs", async () => {
  const tool = noteTool();
  const world = worldOf({ grants: [run, grantOf("grant-1", { constraints: { maxUses: 2 } })], tools: [tool] });
  const scope = await admit(world);
  expect(said(await scope.invokeTool(callOf(), now, signal))).toBe("succeeded");
  await scope.end({ outcome: "cancelled", reason: "turn_cancelled" }, later);
  expect(world.events.at(-1)).toMatchObject({ type: "turn.ended", outcome: "cancelled", reason: "turn_cancelled" });
  const late = await scope.invokeTool(callOf({ id: "call-2" }), later, signal);
  expect(late).toMatchObject({
    status: "denied",
    callId: "call-2",
    tool: "files.read",
    error: { code: "tool_unavailable" },
  });
  expect(world.events.at(-1)).toMatchObject({
    type: "tool.invoked",
    outcome: "denied",
    operationId: "call-2",
    reason: "tool_unavailable",
  });
  expect(tool.calls).toHaveLength(1);
  expect(await world.usage.used("demo", "grant-1")).toBe(1);
});

test("a call that is decided when the turn ends has no effect any more, and the audit log says so", async () => {
  const tool = noteTool({ descriptor: descriptorOf({ readWrite: "write" }) });
  const gate = deferred<void>();
  const stored: AuditEvent[] = [];
  const audit = {
    async record(event: AuditEvent): Promise<void> {
      if (event.type === "authorization.checked" && event.tool !== undefined) await gate.promise;
      stored.push(event);
    },
  };
  const scope = await admit(worldOf({ grants: [run, grantOf("grant-1")], tools: [tool], audit }));
  const calling = scope.invokeTool(callOf(), now, signal);
  await ticks(50);
  await scope.end({ outcome: "cancelled" }, later);
  gate.resolve();
  expect(said(await calling)).toBe("tool_unavailable");
  expect([tool.calls.length, scope.mayHaveTakenEffect]).toStrictEqual([0, false]);
  expect(stored.at(-1)).toMatchObject({ type: "tool.invoked", outcome: "denied", reason: "tool_unavailable" });
});

test("after the end there is no escalation either", async () => {
  const world = worldOf({ grants: [run, toEscalate] });
  const scope = await admit(world);
  await scope.end({ outcome: "succeeded" }, later);
  const recorded = world.events.length;
  expect(await scope.escalate({ reason: "May I?" }, later, signal)).toStrictEqual({
    kind: "refused",
    reason: "tool_unavailable",
  });
  expect(world.events).toHaveLength(recorded);
});

test("a turn ends for its calls at once, also when the sink refuses its end", async () => {
  const tool = noteTool();
  const audit = refusingAudit(({ type }) => type === "turn.ended");
  const world = worldOf({ grants: [run, grantOf("grant-1")], tools: [tool], audit });
  const scope = await admit(world);
  const ending = scope.end({ outcome: "succeeded" }, later);
  expect(said(await scope.invokeTool(callOf(), later, signal))).toBe("tool_unavailable");
  await ending;
  expect(tool.calls).toStrictEqual([]);
  expect(world.auditErrors).toMatchObject([{ event: { type: "turn.ended", outcome: "succeeded" } }]);
});

for (const code of [
  "step_limit_exceeded",
  "tool_call_limit_exceeded",
  "duplicate_call_id",
  "tool_unavailable",
] as const) {
  test(`a call that the turn refuses with ${code} is denied, recorded, and nothing runs`, async () => {
    const tool = noteTool();
    const world = worldOf({ grants: [run, grantOf("grant-1")], tools: [tool] });
    const scope = await admit(world);
    const result = await scope.refuseTool(callOf(), later, code);
    expect(result).toMatchObject({
      status: "denied",
      callId: "call-1",
      tool: "files.read",
      completedAt: later,
      error: { code },
    });
    expect(ToolResultSchema.safeParse(result).success).toBe(true);
    expect(world.events.at(-1)).toMatchObject({
      type: "tool.invoked",
      outcome: "denied",
      at: "2026-01-01T12:10:00Z",
      tool: "files.read",
      operationId: "call-1",
      reason: code,
    });
    expect(tool.calls).toStrictEqual([]);
  });
}

const toEscalate = grantOf("escalate", {
  capabilities: [capability("service", ["escalation"], "request", { scope: "exact" })],
});
const ask: AuthorityRequestInput = {
  capabilities: [capability("files", ["private"], "read")],
  constraints: { maxUses: 1 },
};

test("an escalation is pending with the owner, whose identity comes from the context, whatever the ask says", async () => {
  const world = worldOf({ grants: [run, toEscalate] });
  const scope = await admit(world);
  const forged = untyped<AuthorityRequestInput>({
    ...ask,
    metadata: { note: "please" },
    id: "forged",
    namespaceId: "elsewhere",
    owner: bob,
    requester: bob,
    purpose: "spy",
    requestedAt: "1999-01-01T00:00:00Z",
    grants: [],
  });
  const outcome = await scope.escalate({ reason: "May I?", requestedAuthority: forged }, later, signal);
  expect(outcome).toStrictEqual({
    kind: "pending",
    escalation: {
      status: "pending",
      reason: "May I?",
      requestedAt: "2026-01-01T12:10:00Z",
      reviewer: alice,
      requestedAuthority: {
        id: expect.stringMatching(/^[0-9a-f]+$/),
        namespaceId: "demo",
        owner: alice,
        requester: agent,
        purpose: "help",
        requestedAt: "2026-01-01T12:10:00Z",
        capabilities: ask.capabilities,
        constraints: { maxUses: 1 },
        metadata: { note: "please" },
      },
    },
  });
  expect(EscalationSchema.safeParse("escalation" in outcome && outcome.escalation).success).toBe(true);
  expect(world.events.slice(-2)).toMatchObject([
    {
      type: "authorization.checked",
      outcome: "allowed",
      action: "request",
      resource: { namespace: "service", path: ["escalation"] },
      grantId: "escalate",
    },
    { type: "escalation.requested", outcome: "escalated", at: "2026-01-01T12:10:00Z", receiver: alice },
  ]);
});

test("the same ask has the same id at any time, another ask another", async () => {
  const scope = await admit(worldOf({ grants: [run, toEscalate] }));
  const idOf = async (one: AuthorityRequestInput, at: string): Promise<string | undefined> => {
    const outcome = await scope.escalate({ reason: "May I?", requestedAuthority: one }, at, signal);
    return outcome.kind === "pending" ? outcome.escalation.requestedAuthority?.id : undefined;
  };
  const first = await idOf(ask, now);
  expect(first).toBeDefined();
  expect(await idOf(ask, later)).toBe(first);
  expect(await idOf({ ...ask, constraints: { maxUses: 2 } }, now)).not.toBe(first);
});

test("an escalation without an ask asks for nothing, and none resolves anything: the authority stays as it was", async () => {
  const world = worldOf({ grants: [run, today, toEscalate], tools: [noteTool()] });
  const scope = await admit(world);
  expect(await scope.escalate({ reason: "Stuck." }, later, signal)).toStrictEqual({
    kind: "pending",
    escalation: { status: "pending", reason: "Stuck.", requestedAt: "2026-01-01T12:10:00Z", reviewer: alice },
  });
  expect((await scope.invokeTool(read("diary"), later, signal)).status).toBe("denied");
});

const asOthers: AuthorityRequestInput = { capabilities: [capability("files", ["private"], "read", { owner: bob })] };

for (const row of [
  { name: "without a grant to escalate", world: { grants: [run] }, ask, reason: "no_matching_grant" },
  {
    name: "with a grant that ended",
    world: { grants: [run, { ...toEscalate, revokedAt: later }] },
    ask,
    reason: "no_matching_grant",
  },
  {
    name: "for something of another owner",
    world: { grants: [run, toEscalate] },
    ask: asOthers,
    reason: "invalid_request",
  },
]) {
  test(`an escalation ${row.name} is refused with ${row.reason}, and the audit log says so`, async () => {
    const world = worldOf(row.world);
    const scope = await admit(world);
    const outcome = await scope.escalate({ reason: "May I?", requestedAuthority: row.ask }, later, signal);
    expect(outcome).toStrictEqual({ kind: "refused", reason: row.reason });
    expect(world.events.at(-1)).toMatchObject({ outcome: "denied", reason: row.reason });
    expect(scope.mustEnd).toBeUndefined();
  });
}

test("a grant to escalate that was issued after admission does not widen", async () => {
  const world = worldOf({ grants: [run] });
  const scope = await admit(world);
  world.grants.issue(toEscalate);
  expect(await scope.escalate({ reason: "May I?" }, later, signal)).toStrictEqual({
    kind: "refused",
    reason: "no_matching_grant",
  });
});

for (const row of [
  { name: "its decision", type: "authorization.checked" },
  { name: "the escalation", type: "escalation.requested" },
]) {
  test(`an escalation is none when the sink refuses ${row.name}, and the turn must end`, async () => {
    const audit = refusingAudit(({ type, at }) => type === row.type && at === later);
    const scope = await admit(worldOf({ grants: [run, toEscalate], audit }));
    expect(await scope.escalate({ reason: "May I?" }, later, signal)).toStrictEqual({
      kind: "refused",
      reason: "audit_unavailable",
    });
    expect(scope.mustEnd).toBe("audit_unavailable");
  });
}

const reference = { id: "escalation-1", expiresAt: later };

for (const row of [
  { name: "stores it", answer: () => Promise.resolve(), stored: {} },
  { name: "stores it and names its reference", answer: () => Promise.resolve(reference), stored: { reference } },
  { name: "stores it and names half a reference", answer: () => Promise.resolve({ id: "escalation-1" }), stored: {} },
  { name: "stores it and says something", answer: () => Promise.resolve("stored"), stored: {} },
  { name: "has no room", answer: () => Promise.resolve("full"), reason: "too_many_escalations" },
  { name: "fails", answer: fails, reason: "escalation_unavailable" },
  { name: "does not answer", answer: never, reason: "escalation_unavailable", mayHave: true },
]) {
  test(`an escalation whose queue ${row.name} is ${row.reason ?? "pending"}`, async () => {
    const escalations = untyped<KernelOptions["escalations"] & object>({ add: row.answer });
    const world = worldOf({ grants: [run, toEscalate], escalations, toolTimeoutMs: row.mayHave ? 1 : 60_000 });
    const scope = await admit(world);
    const outcome = await scope.escalate({ reason: "May I?" }, later, signal);
    const pending = { status: "pending", reason: "May I?", requestedAt: later, reviewer: alice };
    expect(outcome).toStrictEqual(
      row.stored ? { kind: "pending", escalation: pending, ...row.stored } : { kind: "refused", reason: row.reason },
    );
    const told = world.events.filter(({ type }) => type === "escalation.requested");
    expect(told.map(({ outcome: one, reason }) => [one, reason])).toStrictEqual([
      ["escalated", undefined],
      ...(row.stored ? [] : [["failed", row.reason]]),
    ]);
    expect(scope.mayHaveTakenEffect).toBe(row.mayHave === true);
  });
}

const writing = descriptorOf({ readWrite: "write" });

for (const row of [
  { name: "a read", tool: noteTool(), call: {}, mayHave: false },
  {
    name: "an idempotent write",
    tool: noteTool({ descriptor: { ...writing, annotations: { idempotent: true } } }),
    call: {},
    mayHave: false,
  },
  { name: "a write", tool: noteTool({ descriptor: writing }), call: {}, mayHave: true },
  { name: "a write that throws", tool: noteTool({ descriptor: writing, invoke: fails }), call: {}, mayHave: true },
  {
    name: "a write outside the tool's ceiling",
    tool: noteTool({ descriptor: writing, requirement: () => needs("private") }),
    call: {},
    mayHave: false,
  },
  {
    name: "a write of another trace",
    tool: noteTool({ descriptor: writing }),
    call: { traceId: "trace-2" },
    mayHave: false,
  },
]) {
  test(`after ${row.name} a turn ${row.mayHave ? "may" : "cannot"} have had an effect that must not happen twice`, async () => {
    const scope = await admit(worldOf({ grants: [run, grantOf("grant-1")], tools: [row.tool] }));
    expect(scope.mayHaveTakenEffect).toBe(false);
    await scope.invokeTool(callOf(row.call), now, signal);
    expect(scope.mayHaveTakenEffect).toBe(row.mayHave);
  });
}

test("a call whose outcome is unknown is told as that, and may have had its effect", async () => {
  const tool = noteTool();
  const world = worldOf({ grants: [run, grantOf("grant-1")], tools: [tool] });
  const scope = await admit(world);
  const result = await scope.interruptTool(callOf(), later);
  expect(result).toMatchObject({ status: "failed", callId: "call-1", tool: "files.read", completedAt: later });
  expect(said(result)).toBe("tool_interrupted");
  expect(world.events.at(-1)).toMatchObject({ type: "tool.invoked", outcome: "failed", reason: "tool_interrupted" });
  expect(scope.mayHaveTakenEffect).toBe(true);
  expect(tool.calls).toEqual([]);
});

test("a call whose decision cannot be recorded does not run, and the turn must end", async () => {
  const tool = noteTool();
  const audit = refusingAudit(({ at }) => at === later);
  const scope = await admit(worldOf({ grants: [run, grantOf("grant-1")], tools: [tool], audit }));
  expect(said(await scope.invokeTool(callOf(), now, signal))).toBe("succeeded");
  expect(await scope.invokeTool(callOf({ id: "call-2" }), later, signal)).toMatchObject({
    status: "failed",
    error: { code: "audit_unavailable" },
  });
  expect(tool.calls).toHaveLength(1);
  expect(scope.mustEnd).toBe("audit_unavailable");
});
