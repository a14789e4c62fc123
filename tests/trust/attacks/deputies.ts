import { attack, type Attack, type Group } from "./attack.ts";
import { authorize, http, invoke, makeCredential, mcp, operate, run, send } from "./surfaces.ts";
import { alice, assistant, bob, fileBody, issue, openWorld, type World } from "./world.ts";

const notes = { namespace: "files", path: ["notes"] };
const evaluate = (
  world: World,
  as: "assistant" | "admin",
  id: string,
  context: object = {},
  headers: Record<string, string> = {},
) =>
  http(world, "/access/v1/evaluation", {
    as,
    headers: { "content-type": "application/json", ...headers },
    body: {
      subject: { type: "agent", id },
      action: { name: "read" },
      resource: { type: "files", id: "notes" },
      context,
    },
  });

const rows: readonly Attack[] = [
  attack({
    name: "An agent exercises the grants that another party gave to others",
    surface: "HTTP",
    attack: (world) => operate(world, "assistant", "read", "notes/todo", undefined, { "x-authority": "human:bob" }),
    held: "200 denied no_matching_grant",
    control: (world) => operate(world, "assistant", "read", "notes/todo", undefined, { "x-authority": "human:alice" }),
    succeeds: "200 succeeded",
  }),
  attack({
    name: "A person uses the authority of a person who gave them nothing",
    surface: "HTTP",
    attack: (world) => operate(world, "bob", "read", "notes/todo", undefined, { "x-authority": "human:alice" }),
    held: "200 denied no_matching_grant",
    control: (world) => operate(world, "alice", "read", "notes/todo"),
    succeeds: "200 succeeded",
  }),
  attack({
    name: "An agent names another owner in a resource, to use its own grant on their files",
    surface: "HTTP",
    attack: (world) => authorize(world, "assistant", "read", { ...notes, owner: bob }),
    held: "200 invalid_request",
    control: (world) => authorize(world, "assistant", "read", { ...notes, owner: alice }),
    succeeds: "200 allowed",
  }),
  attack({
    name: "An agent reads the files of another owner through an operation",
    surface: "HTTP",
    attack: (world) =>
      http(world, "/v1/resources/invoke", {
        as: "assistant",
        body: {
          ...fileBody(world, "read", "notes/todo"),
          resource: { namespace: "files", path: ["notes", "todo"], owner: bob },
        },
      }),
    held: "200 denied invalid_request",
    control: (world) =>
      http(world, "/v1/resources/invoke", {
        as: "assistant",
        body: {
          ...fileBody(world, "read", "notes/todo"),
          resource: { namespace: "files", path: ["notes", "todo"], owner: alice },
        },
      }),
    succeeds: "200 succeeded",
  }),
  attack({
    name: "A human takes the id of an agent for an agent's grant: the kind counts",
    surface: "HTTP",
    prepare: (world) =>
      makeCredential(world, {
        namespaceId: "acme",
        access: {
          actor: { kind: "human", userId: "assistant" },
          owner: alice,
          authority: alice,
          purposes: ["support"],
        },
      }),
    attack: (world, { token }) =>
      http(world, "/v1/resources/invoke", { token, body: fileBody(world, "read", "notes/todo") }),
    held: "200 denied no_matching_grant",
    control: (world) => operate(world, "assistant", "read", "notes/todo"),
    succeeds: "200 succeeded",
  }),
  attack({
    name: "An agent acts for a purpose that its credential does not have",
    surface: "HTTP",
    attack: (world) => http(world, "/v1/reach", { as: "assistant", headers: { "x-purpose": "audit" } }),
    held: "403 purpose_not_allowed",
    control: (world) => http(world, "/v1/reach", { as: "assistant", headers: { "x-purpose": "billing" } }),
    succeeds: "200 computed",
  }),
  attack({
    name: "An agent names an authority that is none",
    surface: "HTTP",
    attack: (world) =>
      http(world, "/v1/reach", { as: "assistant", headers: { "x-authority": "human:alice, human:bob:x y" } }),
    held: "200 computed",
    control: (world) => http(world, "/v1/reach", { as: "assistant", headers: { "x-authority": "human:alice" } }),
    succeeds: "200 computed",
  }),
  attack({
    name: "An agent sends a message in the name of the person it works for",
    surface: "HTTP",
    attack: (world) => send(world, "assistant", { sender: alice }),
    held: "200 denied message_context_mismatch",
    control: (world) => send(world, "assistant", { sender: assistant }),
    succeeds: "202 accepted",
  }),
  attack({
    name: "An agent's message states a purpose other than that of its request",
    surface: "HTTP",
    attack: (world) => send(world, "assistant", { sender: assistant, purpose: "billing" }),
    held: "200 denied message_context_mismatch",
    control: (world) => send(world, "assistant", { sender: assistant, purpose: "support" }),
    succeeds: "202 accepted",
  }),
  attack({
    name: "An agent runs a turn of another agent",
    surface: "HTTP",
    attack: (world) => run(world, "helper", {}),
    held: "200 denied actor_mismatch",
    leaves: ["turns"],
    control: (world) => run(world, "assistant", {}),
    succeeds: "200 succeeded",
  }),
  attack({
    name: "A person runs the turn of an agent with their own credential",
    surface: "HTTP",
    attack: (world) => run(world, "alice", {}),
    held: "200 denied actor_mismatch",
    leaves: ["turns"],
    control: (world) => run(world, "assistant", {}),
    succeeds: "200 succeeded",
  }),
  attack({
    name: "A credential that may name one sender starts a turn with a message of another",
    surface: "HTTP",
    prepare: (world) =>
      makeCredential(world, {
        namespaceId: "acme",
        access: { actor: assistant, owner: alice, authority: alice, purposes: ["support"], senders: [bob] },
      }),
    attack: (world, { token }) => turnFrom(world, token, alice),
    held: "403 sender_not_allowed",
    control: (world, { token }) => turnFrom(world, token, bob),
    succeeds: "200 succeeded",
  }),
  attack({
    name: "A tool call names a trace that is another's",
    surface: "HTTP",
    attack: (world) =>
      invoke(world, "assistant", "files.read", { path: "notes/todo" }, { headers: { "x-trace-id": "another" } }),
    held: "200 denied trace_mismatch",
    control: (world) => invoke(world, "assistant", "files.read", { path: "notes/todo" }),
    succeeds: "200 succeeded",
  }),
  attack({
    name: "An agent asks, through AuthZEN, what another one may do",
    surface: "HTTP",
    attack: (world) => evaluate(world, "assistant", "helper"),
    held: "403 permission_denied",
    control: (world) => evaluate(world, "assistant", "assistant"),
    succeeds: "200 true",
  }),
  attack({
    name: "An agent names, through AuthZEN, an authority in a header, and is answered for another one",
    surface: "HTTP",
    attack: (world) => evaluate(world, "assistant", "assistant", {}, { "x-authority": "human:bob" }),
    held: "400 invalid_request",
    control: (world) => evaluate(world, "assistant", "assistant", { authority: "human:alice" }),
    succeeds: "200 true",
  }),
  attack({
    name: "An agent states properties of itself that would allow it",
    surface: "HTTP",
    attack: (world) =>
      http(world, "/access/v1/evaluation", {
        as: "assistant",
        body: {
          subject: { type: "agent", id: "assistant", properties: { admin: true, role: "admin", grants: ["*"] } },
          action: { name: "read", properties: { allowed: true } },
          resource: { type: "files", id: "diary", properties: { public: true } },
          context: { admin: true },
        },
      }),
    held: "200 false",
    control: (world) => evaluate(world, "assistant", "assistant"),
    succeeds: "200 true",
  }),
  attack({
    name: "An agent asks, through AuthZEN, about a path that decodes to another one",
    surface: "HTTP",
    attack: (world) =>
      http(world, "/access/v1/evaluation", {
        as: "assistant",
        body: {
          subject: { type: "agent", id: "assistant" },
          action: { name: "read" },
          resource: { type: "files", id: "notes/%2e%2e/diary" },
        },
      }),
    held: "400 invalid_request",
    control: (world) =>
      http(world, "/access/v1/evaluation", {
        as: "assistant",
        body: {
          subject: { type: "agent", id: "assistant" },
          action: { name: "read" },
          resource: { type: "files", id: "notes/%74odo" },
        },
      }),
    succeeds: "200 true",
  }),
  attack({
    name: "An enforcement point asks about another tenant",
    surface: "HTTP",
    prepare: (world) =>
      makeCredential(world, {
        namespaceId: "acme",
        access: {
          actor: { kind: "service", serviceId: "gateway" },
          owner: alice,
          authority: alice,
          purposes: ["support"],
          evaluates: true,
        },
      }),
    attack: (world, { token }) =>
      http(world, "/access/v1/evaluation", {
        token,
        body: {
          subject: { type: "agent", id: "assistant" },
          action: { name: "read" },
          resource: { type: "files", id: "notes" },
          context: { tenant: "globex" },
        },
      }),
    held: "403 permission_denied",
    control: (world, { token }) =>
      http(world, "/access/v1/evaluation", {
        token,
        body: {
          subject: { type: "agent", id: "assistant" },
          action: { name: "read" },
          resource: { type: "files", id: "notes" },
        },
      }),
    succeeds: "200 true",
  }),
  attack({
    name: "An operator's token is used to act, through the service",
    surface: "HTTP",
    attack: (world) => operate(world, "admin", "read", "notes/todo"),
    held: "403 permission_denied",
    control: (world) => operate(world, "alice", "read", "notes/todo"),
    succeeds: "200 succeeded",
  }),
  attack({
    name: "An operator's token is used to act, through MCP",
    surface: "MCP",
    attack: (world) => mcp(world, "admin", "tools/list", {}),
    held: "403 permission_denied",
    control: (world) => mcp(world, "assistant", "tools/list", {}),
    succeeds: "200",
  }),
  attack({
    name: "An agent's token is used to operate",
    surface: "HTTP",
    attack: (world) => http(world, "/admin/v1/grants?namespaceId=acme", { as: "alice" }),
    held: "403 permission_denied",
    control: (world) => http(world, "/admin/v1/grants?namespaceId=acme", { as: "acmeAdmin" }),
    succeeds: "200",
  }),
  attack({
    name: "The owner's right to read does not come through a grant to the agent that she did not give",
    surface: "HTTP",
    async prepare(world) {
      await issue(world, "files/diary", { subject: assistant, issuer: bob });
    },
    attack: (world) => operate(world, "assistant", "read", "diary/today"),
    held: "200 denied no_matching_grant",
    control: (world) => operate(world, "alice", "read", "diary/today"),
    succeeds: "200 succeeded",
  }),
];

/** A turn of the assistant, started by a message of a caller. */
function turnFrom(world: World, token: string, sender: object) {
  const message = {
    version: 1,
    id: world.fresh("message"),
    createdAt: "2026-01-01T00:00:00Z",
    traceId: "t",
    purpose: "support",
    sender,
    receiver: assistant,
    payload: {},
  };
  return http(world, "/v1/turns", {
    token,
    headers: { "x-trace-id": "t" },
    body: { version: 1, executionId: world.fresh("turn"), agent: assistant, message },
  });
}

export const deputies: Group = { name: "confused deputies", open: () => openWorld(), attacks: rows };
