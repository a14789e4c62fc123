import { attack, type Attack, type Group } from "./attack.ts";
import { answerTo, http, invoke, operate, run, send, seen } from "./surfaces.ts";
import { alice, assistant, done, fileBody, issue, openWorld, type World } from "./world.ts";

/** Starts a turn of the assistant at Acme that has ended, and returns its id. */
async function endedTurn(world: World): Promise<string> {
  const id = world.fresh("turn");
  await run(world, "assistant", {}, { id });
  return id;
}

const missing = "404 not_found";

const rows: readonly Attack[] = [
  attack({
    name: "An agent names another tenant in the body of its request",
    surface: "HTTP",
    attack: (world) =>
      http(world, "/v1/authorize", {
        as: "assistant",
        body: { namespaceId: "globex", action: "read", resource: { namespace: "files", path: ["diary"] } },
      }),
    held: "400 invalid_request",
    control: (world) =>
      http(world, "/v1/authorize", {
        as: "assistant",
        body: { action: "read", resource: { namespace: "files", path: ["notes"] } },
      }),
    succeeds: "200 allowed",
  }),
  attack({
    name: "An agent brings a whole context of another tenant along",
    surface: "HTTP",
    attack: (world) =>
      http(world, "/v1/resources/invoke", {
        as: "assistant",
        body: {
          ...fileBody(world, "read", "diary/today"),
          context: {
            namespaceId: "globex",
            actor: alice,
            authority: alice,
            owner: alice,
            purpose: "support",
            traceId: "t",
            now: "2026-01-01T00:00:00Z",
            enabledToolNamespaces: [],
          },
        },
      }),
    held: "400 invalid_request",
    control: (world) => operate(world, "assistant", "read", "notes/todo"),
    succeeds: "200 succeeded",
  }),
  attack({
    name: "An agent chooses another tenant by headers and query",
    surface: "HTTP",
    async prepare(world) {
      await issue(world, "files/only-globex", { tenant: "globex" });
      await done(
        answerTo(world, "/v1/resources/invoke", {
          as: "globexAlice",
          body: fileBody(world, "create", `only-globex/${world.fresh("file")}`, { content: "x" }),
        }),
      );
    },
    attack: (world) =>
      http(world, "/v1/resources/invoke?namespaceId=globex&tenant=globex", {
        as: "assistant",
        headers: { "x-tenant": "globex", "x-namespace-id": "globex" },
        body: fileBody(world, "list", "only-globex"),
      }),
    held: "200 denied no_matching_grant",
    control: (world) => operate(world, "globexAssistant", "list", "only-globex"),
    succeeds: "200 succeeded",
  }),
  attack({
    name: "An agent of the same name in another tenant reads the file that its namesake may read",
    surface: "HTTP",
    async prepare(world) {
      const path = `notes/${world.fresh("private")}`;
      await done(
        answerTo(world, "/v1/resources/invoke", {
          as: "alice",
          body: fileBody(world, "create", path, { content: "ours" }),
        }),
      );
      return path;
    },
    attack: (world, path) => operate(world, "globexAssistant", "read", path),
    held: "200 failed not_found",
    leaves: ["replay"],
    control: (world, path) => operate(world, "assistant", "read", path),
    succeeds: "200 succeeded",
  }),
  attack({
    name: "A namesake in another tenant overwrites a file",
    surface: "HTTP",
    async prepare(world) {
      const path = `notes/${world.fresh("own")}`;
      await done(
        answerTo(world, "/v1/resources/invoke", {
          as: "alice",
          body: fileBody(world, "create", path, { content: "ours" }),
        }),
      );
      return path;
    },
    attack: (world, path) => operate(world, "globexAssistant", "replace", path, { content: "theirs" }),
    held: "200 failed not_found",
    leaves: ["replay"],
    control: (world, path) => operate(world, "assistant", "replace", path, { content: "newer" }),
    succeeds: "200 succeeded",
  }),
  attack({
    name: "A namesake in another tenant restores a snapshot by its id",
    surface: "HTTP",
    async prepare(world) {
      const body = fileBody(world, "snapshot:create", "notes", {});
      const made = (await done(answerTo(world, "/v1/resources/invoke", { as: "assistant", body }))).body as {
        output: { id: string };
      };
      return made.output.id;
    },
    attack: (world, snapshot) => operate(world, "globexAssistant", "snapshot:restore", "notes", { snapshot }),
    held: "200 failed not_found",
    leaves: ["replay"],
    control: (world, snapshot) => operate(world, "assistant", "snapshot:restore", "notes", { snapshot }),
    succeeds: "200 succeeded",
  }),
  attack({
    name: "A namesake in another tenant continues with a cursor of another party's list",
    surface: "HTTP",
    async prepare(world) {
      for (const word of ["one", "two"])
        await operate(world, "alice", "create", `notes/${world.fresh(word)}`, { content: word });
      const body = fileBody(world, "list", "notes", { limit: 1 });
      return (
        (await done(answerTo(world, "/v1/resources/invoke", { as: "assistant", body }))).body as {
          output: { cursor: string };
        }
      ).output.cursor;
    },
    attack: (world, cursor) => operate(world, "globexAssistant", "list", "notes", { limit: 1, cursor }),
    held: "200 failed invalid_cursor",
    leaves: ["replay"],
    control: (world, cursor) => operate(world, "assistant", "list", "notes", { limit: 1, cursor }),
    succeeds: "200 succeeded",
  }),
  attack({
    name: "A namesake in another tenant reads a turn by its id",
    surface: "HTTP",
    prepare: endedTurn,
    attack: (world, id) => http(world, `/v1/turns/${id}`, { as: "globexAssistant" }),
    held: missing,
    control: (world, id) => http(world, `/v1/turns/${id}`, { as: "assistant" }),
    succeeds: "200 succeeded",
  }),
  attack({
    name: "A namesake in another tenant reads the events of a turn by its id",
    surface: "HTTP",
    prepare: endedTurn,
    attack: (world, id) => http(world, `/v1/turns/${id}/events`, { as: "globexAssistant" }),
    held: missing,
    control: (world, id) => http(world, `/v1/turns/${id}/events`, { as: "assistant" }),
    succeeds: "200",
  }),
  attack({
    name: "A namesake in another tenant gets the recorded result of an id that was used",
    surface: "HTTP",
    async prepare(world) {
      const id = world.fresh("call");
      await invoke(world, "assistant", "files.read", { path: "notes/todo" }, { id });
      return id;
    },
    async attack(world, id) {
      const answer = await answerTo(world, "/v1/tools/invoke", {
        as: "globexAssistant",
        headers: { "x-trace-id": "t" },
        body: {
          id,
          tool: "files.read",
          arguments: { path: "diary/today" },
          requestedAt: "2026-01-01T00:00:00Z",
          traceId: "t",
        },
      });
      return { ...seen(answer), says: `${seen(answer).says}, replayed: ${answer.headers.get("idempotency-replayed")}` };
    },
    held: "200 denied no_matching_grant, replayed: null",
    async control(world, id) {
      const answer = await answerTo(world, "/v1/tools/invoke", {
        as: "assistant",
        headers: { "x-trace-id": "t" },
        body: {
          id,
          tool: "files.read",
          arguments: { path: "notes/todo" },
          requestedAt: "2026-01-01T00:00:00Z",
          traceId: "t",
        },
      });
      return { ...seen(answer), says: `${seen(answer).says}, replayed: ${answer.headers.get("idempotency-replayed")}` };
    },
    succeeds: "200 succeeded, replayed: true",
  }),
  attack({
    name: "A message to Bob of another tenant arrives at no Bob here",
    surface: "HTTP",
    prepare: (world) => Promise.resolve(world.fresh("word")),
    async attack(world, word) {
      await send(world, "globexAssistant", { sender: assistant, payload: word });
      const { says, text } = await invoke(world, "bob", "messages.inbox", {});
      return { says: `${says}, ${text.includes(word) ? "it is there" : "it is not there"}`, text };
    },
    held: "200 succeeded, it is not there",
    leaves: ["messages", "replay"],
    async control(world, word) {
      await send(world, "assistant", { sender: assistant, payload: word });
      const { says, text } = await invoke(world, "bob", "messages.inbox", {});
      return { says: `${says}, ${text.includes(word) ? "it is there" : "it is not there"}`, text };
    },
    succeeds: "200 succeeded, it is there",
  }),
];

export const tenants: Group = { name: "tenants", open: () => openWorld(), attacks: rows };
