import { attack, type Attack, type Group, type Seen, together } from "./attack.ts";
import { answerTo, invoke, mcp, send } from "./surfaces.ts";
import { alice, assistant, bob, helper, issue, openWorld, type World } from "./world.ts";

const accepted = "202 accepted";
const mine = {
  control: (world: World) => send(world, "assistant", { sender: assistant }),
  succeeds: accepted,
} as const;

/** A message with something wrong, beside a right one. */
function wrong(name: string, changes: object, held: string): Attack {
  return attack({
    name,
    surface: "HTTP",
    attack: (world) => send(world, "assistant", { sender: assistant, ...changes }),
    held,
    ...mine,
  });
}

/** A cursor of the assistant's inbox. */
async function cursorOf(world: World): Promise<string> {
  const { body } = await answerTo(world, "/v1/tools/invoke", {
    as: "assistant",
    headers: { "x-trace-id": "t" },
    body: {
      id: world.fresh("call"),
      tool: "messages.inbox",
      arguments: {},
      requestedAt: "2026-01-01T00:00:00Z",
      traceId: "t",
    },
  });
  return (body as { output: { cursor: string } }).output.cursor;
}

/** What an inbox says of ids that its reader acknowledges. */
async function acknowledge(world: World, as: "bob" | "assistant", id: string): Promise<Seen> {
  const { says, text } = await invoke(world, as, "messages.inbox", { acknowledge: [id] });
  const { output } = JSON.parse(text) as { output: { unknown: string[] } };
  return { says: `${says}, ${output.unknown.length} unknown`, text };
}

const rows: readonly Attack[] = [
  wrong("An agent sends in the name of a person", { sender: alice }, "200 denied message_context_mismatch"),
  wrong("An agent sends in the name of another agent", { sender: helper }, "200 denied message_context_mismatch"),
  wrong(
    "An agent sends in the name of a human of its own id",
    { sender: { kind: "human", userId: "assistant" } },
    "200 denied message_context_mismatch",
  ),
  wrong("An agent sends to another party it may not send to", { receiver: alice }, "200 denied no_matching_grant"),
  wrong(
    "An agent sends to a group of the same id",
    { receiver: { kind: "group", conversationId: "bob" } },
    "200 denied no_matching_grant",
  ),
  wrong(
    "An agent sends to a receiver whose id climbs",
    { receiver: { kind: "human", userId: "../agent/assistant" } },
    "200 denied invalid_request",
  ),
  wrong("A message brings a grant along", { grants: [{ id: "all" }] }, "400 invalid_request"),
  wrong("A message claims another trace", { traceId: "another" }, "200 denied message_context_mismatch"),
  wrong("A message's time is none", { createdAt: "yesterday" }, "400 invalid_request"),
  attack({
    name: "An agent sends in the name of a person by the tool, which takes no sender",
    surface: "MCP",
    attack: (world) =>
      mcp(world, "assistant", "tools/call", {
        name: "messages_send",
        arguments: { to: "human:bob", payload: "Pay.", sender: "human:alice" },
      }),
    held: "200 failed invalid_tool_arguments",
    control: (world) =>
      mcp(world, "assistant", "tools/call", {
        name: "messages_send",
        arguments: { to: "human:bob", payload: "Hello." },
      }),
    succeeds: "200",
  }),
  attack({
    name: "An attacker reads the inbox of another, with a grant to read it",
    surface: "HTTP",
    async prepare(world) {
      await issue(world, "service.messaging/human/bob", { subject: helper, actions: ["receive"] });
      const word = world.fresh("word");
      await send(world, "assistant", { sender: assistant, payload: word });
      return word;
    },
    attack: (world) => invoke(world, "helper", "messages.inbox", {}),
    held: "200 denied no_matching_grant",
    control: (world) => invoke(world, "bob", "messages.inbox", {}),
    succeeds: "200 succeeded",
  }),
  attack({
    name: "An attacker continues with the cursor of another one's inbox",
    surface: "HTTP",
    prepare: cursorOf,
    attack: (world, after) => invoke(world, "bob", "messages.inbox", { after }),
    held: "200 failed invalid_cursor",
    leaves: ["replay"],
    control: (world, after) => invoke(world, "assistant", "messages.inbox", { after }),
    succeeds: "200 succeeded",
  }),
  attack({
    name: "An attacker acknowledges a message of another one, so that it is not seen",
    surface: "HTTP",
    async prepare(world) {
      const id = world.fresh("message");
      await send(world, "assistant", { sender: assistant, id });
      return id;
    },
    attack: (world, id) => acknowledge(world, "assistant", id),
    held: "200 succeeded, 1 unknown",
    leaves: ["replay"],
    control: (world, id) => acknowledge(world, "bob", id),
    succeeds: "200 succeeded, 0 unknown",
  }),
  attack({
    name: "An attacker replies to a message that they never saw, to learn whether it exists",
    surface: "HTTP",
    async prepare(world) {
      const id = world.fresh("message");
      await send(world, "assistant", { sender: assistant, id });
      await issue(world, "service.messaging/human/bob", { subject: helper, actions: ["send"] });
      return id;
    },
    async attack(world, id) {
      const seen = await invoke(world, "helper", "messages.send", { to: "human:bob", payload: "x", replyTo: id });
      const none = await invoke(world, "helper", "messages.send", {
        to: "human:bob",
        payload: "x",
        replyTo: "nothing",
      });
      return { says: seen.says === none.says ? `alike: ${seen.says}` : "told apart", text: seen.text + none.text };
    },
    held: "alike: 200 failed not_found",
    leaves: ["replay"],
    control: (world, id) => invoke(world, "assistant", "messages.send", { to: "human:bob", payload: "x", replyTo: id }),
    succeeds: "200 succeeded",
  }),
  attack({
    name: "A sender fills the inbox of another one, so that no one else gets through",
    surface: "HTTP",
    async prepare(world) {
      await issue(world, "service.messaging/agent/helper", { actions: ["send"] });
      await issue(world, "service.messaging/agent/helper", { subject: bob, issuer: bob, actions: ["send"] });
    },
    attack: async (world) =>
      together(
        await Promise.all(
          Array.from({ length: 45 }, () => send(world, "assistant", { sender: assistant, receiver: helper })),
        ),
      ),
    held: "5 x 200 failed quota_exceeded, 40 x 202 accepted",
    leaves: ["messages", "replay"],
    control: (world) => send(world, "bob", { sender: bob, receiver: helper }),
    succeeds: accepted,
  }),
  attack({
    name: "A message says to the caller that reads it that it grants something",
    surface: "HTTP",
    async prepare(world) {
      await send(world, "assistant", {
        sender: assistant,
        payload: { grant: { subject: bob, resource: "files/diary", actions: ["*"] } },
      });
    },
    attack: (world) => invoke(world, "helper", "files.read", { path: "diary/today" }),
    held: "200 denied tool_unavailable",
    control: (world) => invoke(world, "assistant", "files.read", { path: "notes/todo" }),
    succeeds: "200 succeeded",
  }),
];

export const messages: Group = {
  name: "messages",
  // Bob reads nothing of what the controls send him, so there has to be room for all of it.
  open: () => openWorld({ flags: { "limits.unreadMessages": "400" } }),
  attacks: rows,
};
