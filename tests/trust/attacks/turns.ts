import { eventually } from "../../../packages/host/test/host-calls.ts";
import { attack, type Attack, type Group, type Seen, together } from "./attack.ts";
import { answerTo, change, http, run, statusOf } from "./surfaces.ts";
import { helper, issue, openWorld, type Person, type World } from "./world.ts";

const pays = (to: string, amount = 1) => ({ tool: "bank.pay", arguments: { to, amount } });
const reads = (path: string) => ({ tool: "files.read", arguments: { path } });
const ended = "200 succeeded: ";
const later = { prefer: "respond-async" };
const leavesTurn = { leaves: ["turns", "replay"] } as const;

/** Orders to a runtime that get it nothing, and orders that it may carry out. */
function ordered(name: string, orders: object, held: string, more: Record<string, unknown> = {}): Attack {
  return attack({
    name,
    surface: "HTTP",
    attack: (world) => run(world, "assistant", orders, more),
    held,
    ...leavesTurn,
    control: (world) => run(world, "assistant", { calls: [pays("shop")] }),
    succeeds: `${ended}succeeded`,
  });
}

/** Resolves when a turn has come to a status. */
function comesTo(world: World, as: Person, id: string, wanted: string): Promise<void> {
  return eventually(async () => {
    const { body } = await answerTo(world, `/v1/turns/${id}`, { as });
    const { status } = body as { status: string };
    if (status !== wanted) throw new Error(`The turn is ${status}.`);
  });
}

/** A turn that waits for an answer, of the assistant. */
async function waiting(world: World): Promise<string> {
  const id = world.fresh("turn");
  const orders = { calls: [{ tool: "service.escalate", arguments: { reason: `Shall ${id} go on?` } }] };
  await run(world, "assistant", orders, { id, headers: later });
  await comesTo(world, "assistant", id, "waiting");
  return id;
}

/** Cancels a turn of the assistant, and waits until it has ended. */
async function cancel(world: World, id: string): Promise<Seen> {
  const answer = await statusOf(world, `/v1/turns/${id}/cancel`, { as: "assistant", method: "POST" });
  await comesTo(world, "assistant", id, "cancelled");
  return answer;
}

/** What one asks of a turn of another caller, and what its own agent is told. */
function ofAnother(
  name: string,
  [method, path]: readonly [string, (id: string) => string],
  control: (world: World, id: string) => Promise<Seen>,
  succeeds: string,
): Attack {
  return attack({
    name,
    surface: "HTTP",
    prepare: waiting,
    attack: (world, id) => http(world, path(id), { as: "helper", method }),
    held: "404 not_found",
    control,
    succeeds,
  });
}

/** Starts a turn of the assistant so many times at once, with one body or with another each. */
async function startAtOnce(world: World, bodyOf: (place: number) => object): Promise<Seen> {
  const id = world.fresh("turn");
  const orders = { calls: [{ tool: "service.escalate", arguments: { reason: `Shall ${id} go on?` } }] };
  const starts = Array.from({ length: 6 }, (_, place) =>
    run(world, "assistant", { ...orders, ...bodyOf(place) }, { id, headers: later }),
  );
  const answers = await Promise.all(starts);
  await comesTo(world, "assistant", id, "waiting");
  return together(answers.map(({ says, text }) => ({ says: says.replace(/ (running|waiting)$/, ""), text })));
}

const rows: readonly Attack[] = [
  ordered(
    "A runtime calls a tool that no grant offers it",
    { calls: [{ tool: "files.snapshot.create", arguments: { path: "" } }] },
    `${ended}denied no_matching_grant`,
  ),
  ordered(
    "A runtime calls a tool that there is not",
    { calls: [{ tool: "host.exec", arguments: { command: "id" } }] },
    `${ended}denied tool_unavailable`,
  ),
  ordered(
    "A runtime pays another party whom the agent may not pay",
    { calls: [pays("thief")] },
    `${ended}denied no_matching_grant`,
  ),
  ordered(
    "A runtime reads what the agent may not read",
    { calls: [reads("diary/today")] },
    `${ended}denied no_matching_grant`,
  ),
  ordered(
    "A runtime changes the limits and the tools that it was given",
    { widens: true, calls: [pays("thief"), pays("thief")] },
    `${ended}denied no_matching_grant, denied tool_call_limit_exceeded`,
    { options: { maxToolCalls: 1 } },
  ),
  ordered(
    "A runtime makes more calls than the turn has",
    { calls: [reads("notes/todo"), pays("shop")] },
    `${ended}succeeded, denied tool_call_limit_exceeded`,
    { options: { maxToolCalls: 1 } },
  ),
  attack({
    name: "An agent starts one id at once with six bodies, of which one may run",
    surface: "HTTP",
    attack: (world) => startAtOnce(world, (place) => ({ place })),
    held: "1 x 202, 5 x 409 replay_conflict",
    leaves: ["turns", "replay", "escalations"],
    control: (world) => startAtOnce(world, () => ({})),
    succeeds: "6 x 202",
  }),
  ordered(
    "A runtime calls in the name of another trace",
    { calls: [{ ...pays("shop"), traceId: "another" }] },
    `${ended}denied trace_mismatch`,
  ),
  ordered(
    "A runtime ends its turn with something that is no outcome",
    { returns: { type: "approve", grants: ["*"] } },
    "200 failed invalid_runtime_outcome",
  ),
  attack({
    name: "A request chooses the runtime of its turn",
    surface: "HTTP",
    attack: (world) => run(world, "assistant", {}, { runtime: { id: "root" } }),
    held: "400 invalid_request",
    control: (world) => run(world, "assistant", {}),
    succeeds: "200 succeeded",
  }),
  attack({
    name: "A request hands tools and grants to its turn",
    surface: "HTTP",
    attack: (world) => run(world, "assistant", {}, { tools: [{ name: "host.exec" }], grants: [{ id: "all" }] }),
    held: "400 invalid_request",
    control: (world) => run(world, "assistant", {}, { state: { tools: "only words" } }),
    succeeds: "200 succeeded",
  }),
  attack({
    name: "A request asks for more steps than there may be",
    surface: "HTTP",
    attack: (world) => run(world, "assistant", {}, { options: { maxToolCalls: 10_001 } }),
    held: "400 invalid_request",
    control: (world) => run(world, "assistant", {}, { options: { maxToolCalls: 10_000 } }),
    succeeds: "200 succeeded",
  }),
  attack({
    name: "An agent starts its turn with a message to another agent",
    surface: "HTTP",
    attack: (world) => {
      const message = {
        version: 1,
        id: world.fresh("message"),
        createdAt: "2026-01-01T00:00:00Z",
        traceId: "t",
        purpose: "support",
        sender: helper,
        receiver: helper,
        payload: {},
      };
      return run(world, "assistant", {}, { message });
    },
    held: "200 denied receiver_mismatch",
    leaves: ["turns"],
    control: (world) => run(world, "assistant", {}),
    succeeds: "200 succeeded",
  }),
  attack({
    name: "An agent runs a turn after the grant that admits it is gone",
    surface: "HTTP",
    async prepare(world) {
      await change(world, "grants/revoke", { namespaceId: "globex", id: "turns" }).catch(() => undefined);
    },
    attack: (world) => run(world, "globexAssistant", {}),
    held: "200 denied no_matching_grant",
    leaves: ["turns"],
    control: (world) => run(world, "assistant", {}),
    succeeds: "200 succeeded",
  }),
  attack({
    name: "A runtime escalates without the tool for it, to get what it asks",
    surface: "HTTP",
    async prepare(world) {
      await issue(world, "service.execution/agent/helper", { subject: helper, actions: ["invoke"] });
    },
    attack: (world) =>
      http(world, "/v1/turns", {
        as: "helper",
        headers: { "x-trace-id": "t" },
        body: turnOfHelper(world, { escalate: { reason: "Everything, please." } }),
      }),
    held: "200 failed tool_unavailable",
    leaves: ["turns", "replay"],
    control: (world) => run(world, "assistant", { escalate: { reason: "This, please." } }),
    succeeds: "200 escalated",
  }),
  attack({
    name: "A runtime asks for authority over what is another party's, who is not believed to be the owner",
    surface: "HTTP",
    attack: (world) => askedFor(world, "bob"),
    held: "200 escalated, for alice",
    leaves: ["turns", "replay", "escalations"],
    control: (world) => askedFor(world, "alice"),
    succeeds: "200 escalated, for alice",
  }),
  ofAnother(
    "An attacker reads the state of another agent's turn",
    ["GET", (id) => `/v1/turns/${id}`],
    (world, id) => http(world, `/v1/turns/${id}`, { as: "assistant" }),
    "200 waiting",
  ),
  ofAnother(
    "An attacker reads the events of another agent's turn",
    ["GET", (id) => `/v1/turns/${id}/events`],
    (world, id) => http(world, `/v1/turns/${id}/events`, { as: "assistant" }),
    "200",
  ),
  ofAnother("An attacker cancels another agent's turn", ["POST", (id) => `/v1/turns/${id}/cancel`], cancel, "202"),
  attack({
    name: "An attacker starts a turn under the id of one that waits, to hear its answer",
    surface: "HTTP",
    async prepare(world) {
      await issue(world, "service.execution/agent/helper", { subject: helper, actions: ["invoke"] });
      return waiting(world);
    },
    async attack(world, id) {
      const answer = await answerTo(world, "/v1/turns", {
        as: "helper",
        headers: { "x-trace-id": "t", ...later },
        body: { ...turnOfHelper(world, {}), executionId: id },
      });
      await comesTo(world, "helper", id, "succeeded");
      return {
        says: `${answer.status} of ${(answer.body as { agent: { agentId: string } }).agent.agentId}`,
        text: answer.text,
      };
    },
    held: "202 of helper",
    leaves: ["turns", "replay"],
    control: (world, id) => http(world, `/v1/turns/${id}`, { as: "assistant" }),
    succeeds: "200 waiting",
  }),
  attack({
    name: "An attacker lists turns and looks for those of others",
    surface: "HTTP",
    prepare: waiting,
    attack: (world, id) => listed(world, "helper", id),
    held: "200, it is not there",
    control: (world, id) => listed(world, "assistant", id),
    succeeds: "200, it is there",
  }),
  attack({
    name: "An attacker writes a turn's id in a path so that it means another route",
    surface: "HTTP",
    prepare: waiting,
    attack: (world, id) => http(world, `/v1/turns/${id}%2Fcancel`, { as: "assistant", method: "POST" }),
    held: "405 method_not_allowed",
    control: cancel,
    succeeds: "202",
  }),
];

/** Ends a turn with an escalation that names an owner, and tells whose it became. */
async function askedFor(world: World, owner: string): Promise<Seen> {
  const { says, text } = await run(world, "assistant", {
    escalate: { reason: `For ${owner}, ${world.fresh()}.`, requestedAuthority: requested(owner) },
  });
  const { escalation } = JSON.parse(text) as { escalation: { requestedAuthority: { owner: { userId: string } } } };
  return { says: `${says}, for ${escalation.requestedAuthority.owner.userId}`, text };
}

async function listed(world: World, as: "helper" | "assistant", id: string) {
  const { status, text } = await answerTo(world, "/v1/turns?limit=200", { as });
  return { says: `${status}, it is ${text.includes(`"${id}"`) ? "there" : "not there"}`, text };
}

function turnOfHelper(world: World, payload: object) {
  const message = {
    version: 1,
    id: world.fresh("message"),
    createdAt: "2026-01-01T00:00:00Z",
    traceId: "t",
    purpose: "support",
    sender: helper,
    receiver: helper,
    payload,
  };
  return { version: 1, executionId: world.fresh("turn"), agent: helper, message };
}

function requested(owner: string) {
  return {
    id: "request",
    namespaceId: "acme",
    owner: { kind: "human", userId: owner },
    requester: { kind: "agent", agentId: "assistant" },
    purpose: "support",
    requestedAt: "2026-01-01T00:00:00Z",
    capabilities: [{ resource: { namespace: "files", path: ["diary"] }, actions: ["read"], scope: "exact" }],
  };
}

export const turns: Group = { name: "turns", open: () => openWorld(), attacks: rows };
