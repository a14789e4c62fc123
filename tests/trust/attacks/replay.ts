import { attack, type Attack, type Group, type Seen } from "./attack.ts";
import { answerTo, envelope, http, invoke, run, type Sent, seen } from "./surfaces.ts";
import { assistant, fileBody, openWorld, type Person, type World } from "./world.ts";

const trace = { "x-trace-id": "t" };
const pay = (world: World, id: string, amount: number, as: Person = "assistant", more: Sent = {}) =>
  invoke(world, as, "bank.pay", { to: "shop", amount }, { id, ...more });

/** An answer, and whether it is the recorded one of an earlier request. */
async function replayed(world: World, path: string, sent: Sent): Promise<Seen> {
  const answer = await answerTo(world, path, { ...sent, headers: { ...trace, ...sent.headers } });
  const { says, text } = seen(answer);
  return { says: answer.headers.get("idempotency-replayed") === "true" ? `${says}, recorded` : says, text };
}

const call = (id: string, args: object) => ({
  id,
  tool: "bank.pay",
  arguments: args,
  requestedAt: "2026-01-01T00:00:00Z",
  traceId: "t",
});

/** An id under which the assistant paid 1 to the shop. */
async function paidId(world: World): Promise<string> {
  const id = world.fresh("paid");
  await pay(world, id, 1);
  return id;
}

const anew = { control: (world: World) => pay(world, world.fresh("call"), 1), succeeds: "200 succeeded" } as const;

const rows: readonly Attack[] = [
  attack({
    name: "An attacker sends the same payment again",
    surface: "HTTP",
    prepare: paidId,
    attack: (world, id) =>
      replayed(world, "/v1/tools/invoke", { as: "assistant", body: call(id, { to: "shop", amount: 1 }) }),
    held: "200 succeeded, recorded",
    ...anew,
  }),
  attack({
    name: "An attacker sends the same payment again with its keys in another order and another time",
    surface: "HTTP",
    prepare: paidId,
    attack: (world, id) =>
      replayed(world, "/v1/tools/invoke", {
        as: "assistant",
        body: { ...call(id, { amount: 1, to: "shop" }), requestedAt: "2026-02-01T00:00:00Z" },
      }),
    held: "200 succeeded, recorded",
    ...anew,
  }),
  attack({
    name: "An attacker changes the amount of a payment under the id of one that was made",
    surface: "HTTP",
    prepare: paidId,
    attack: (world, id) => pay(world, id, 1000),
    held: "409 replay_conflict",
    ...anew,
  }),
  attack({
    name: "An attacker changes the purpose of a payment under its id",
    surface: "HTTP",
    prepare: paidId,
    attack: (world, id) => pay(world, id, 1, "assistant", { headers: { "x-purpose": "billing" } }),
    held: "409 replay_conflict",
    ...anew,
  }),
  attack({
    name: "An attacker exercises another authority under the id of a payment",
    surface: "HTTP",
    prepare: paidId,
    attack: (world, id) => pay(world, id, 1, "assistant", { headers: { "x-authority": "human:bob" } }),
    held: "409 replay_conflict",
    ...anew,
  }),
  attack({
    name: "Another agent asks for the recorded result of another party's payment",
    surface: "HTTP",
    prepare: paidId,
    attack: (world, id) =>
      replayed(world, "/v1/tools/invoke", { as: "helper", body: call(id, { to: "shop", amount: 1 }) }),
    held: "200 denied tool_unavailable",
    control: (world, id) =>
      replayed(world, "/v1/tools/invoke", { as: "assistant", body: call(id, { to: "shop", amount: 1 }) }),
    succeeds: "200 succeeded, recorded",
  }),
  attack({
    name: "Another agent uses up an id before its owner does",
    surface: "HTTP",
    prepare: (world) => Promise.resolve(world.fresh("wanted")),
    attack: (world, id) => pay(world, id, 5, "helper"),
    held: "200 denied tool_unavailable",
    control: (world, id) => pay(world, id, 1),
    succeeds: "200 succeeded",
  }),
  attack({
    name: "Fifty copies of one payment race",
    surface: "HTTP",
    prepare: (world) => Promise.resolve(world.fresh("raced")),
    async attack(world, id) {
      const copies = await Promise.all(Array.from({ length: 50 }, () => pay(world, id, 7)));
      const known = new Set(["200 succeeded", "409 replay_pending"]);
      return { says: copies.find(({ says }) => !known.has(says))?.says ?? "one payment", text: "" };
    },
    held: "one payment",
    payments: 1,
    leaves: ["replay"],
    ...anew,
  }),
  attack({
    name: "A payment that was denied withholds its id from the payment that is allowed",
    surface: "HTTP",
    prepare: (world) => Promise.resolve(world.fresh("free")),
    attack: (world, id) => invoke(world, "assistant", "bank.pay", { to: "thief", amount: 1 }, { id }),
    held: "200 denied no_matching_grant",
    control: (world, id) => pay(world, id, 1),
    succeeds: "200 succeeded",
  }),
  attack({
    name: "An attacker sends another message under the id of one that was sent",
    surface: "HTTP",
    async prepare(world) {
      const sent = envelope(world, { sender: assistant });
      await http(world, "/v1/messages", { as: "assistant", headers: trace, body: sent });
      return sent;
    },
    attack: (world, sent) =>
      http(world, "/v1/messages", { as: "assistant", headers: trace, body: { ...sent, payload: "Pay him." } }),
    held: "409 replay_conflict",
    control: (world, sent) => replayed(world, "/v1/messages", { as: "assistant", body: sent }),
    succeeds: "202 accepted, recorded",
  }),
  attack({
    name: "An attacker writes something else under the id of a write",
    surface: "HTTP",
    async prepare(world) {
      const body = fileBody(world, "create", `notes/${world.fresh("file")}`, { content: "one" });
      await http(world, "/v1/resources/invoke", { as: "assistant", body });
      return body;
    },
    attack: (world, body) =>
      http(world, "/v1/resources/invoke", { as: "assistant", body: { ...body, input: { content: "two" } } }),
    held: "409 replay_conflict",
    control: (world, body) => replayed(world, "/v1/resources/invoke", { as: "assistant", body }),
    succeeds: "200 succeeded, recorded",
  }),
  attack({
    name: "An attacker replays a turn with other orders",
    surface: "HTTP",
    async prepare(world) {
      const id = world.fresh("turn");
      await run(world, "assistant", {}, { id });
      return id;
    },
    attack: (world, id) =>
      run(world, "assistant", { calls: [{ tool: "bank.pay", arguments: { to: "shop", amount: 9 } }] }, { id }),
    held: "409 replay_conflict",
    control: (world, id) => run(world, "assistant", {}, { id }),
    succeeds: "200 succeeded",
  }),
  attack({
    name: "An attacker replays a turn that paid",
    surface: "HTTP",
    async prepare(world) {
      const id = world.fresh("turn");
      const orders = { calls: [{ tool: "bank.pay", arguments: { to: "shop", amount: 9 } }] };
      await run(world, "assistant", orders, { id });
      return { id, orders };
    },
    attack: (world, { id, orders }) => run(world, "assistant", orders, { id }),
    held: "200 succeeded: succeeded",
    control: (world, { orders }) => run(world, "assistant", orders),
    succeeds: "200 succeeded: succeeded",
  }),
  attack({
    name: "A runtime makes two payments under one call id",
    surface: "HTTP",
    prepare: (world) => Promise.resolve(world.payments.length),
    async attack(world, before) {
      const twice = { id: "same", tool: "bank.pay", arguments: { to: "vault", amount: 9 } };
      const { says, text } = await run(world, "assistant", { calls: [twice, twice] });
      return { says: `${says}; ${world.payments.length - before} payments`, text };
    },
    held: "200 succeeded: denied approval_required, denied duplicate_call_id; 0 payments",
    leaves: ["turns", "escalations"],
    control: (world) =>
      run(world, "assistant", {
        calls: ["one", "two"].map((id) => ({ id, tool: "bank.pay", arguments: { to: "shop", amount: 9 } })),
      }),
    succeeds: "200 succeeded: succeeded, succeeded",
  }),
];

export const replay: Group = { name: "replay", open: () => openWorld(), attacks: rows };
