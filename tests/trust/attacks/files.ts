import { attack, type Attack, type Group } from "./attack.ts";
import { answerTo, http, invoke, operate } from "./surfaces.ts";
import { canary, done, fileBody, issue, openWorld, type World } from "./world.ts";

const denied = "200 denied no_matching_grant";

/** A tool of files with arguments that reach too far, beside ones that do not. */
function tool(name: string, what: string, args: object, held: string, right: object): Attack {
  return attack({
    name,
    surface: "HTTP",
    attack: (world) => invoke(world, "assistant", what, args),
    held,
    ...(held.includes("failed") && !held.includes("arguments") && { leaves: ["replay"] as const }),
    control: (world) => invoke(world, "assistant", what, right),
    succeeds: "200 succeeded",
  });
}

/** A snapshot of a folder by a caller: its id. */
async function snapshot(world: World, as: "assistant" | "bob" | "alice", path: string): Promise<string> {
  const body = fileBody(world, "snapshot:create", path, {});
  return ((await done(answerTo(world, "/v1/resources/invoke", { as, body }))).body as { output: { id: string } }).output
    .id;
}

const rows: readonly Attack[] = [
  attack({
    name: "An agent reads a file of its owner that it was not granted",
    surface: "HTTP",
    attack: (world) => operate(world, "assistant", "read", "diary/today"),
    held: denied,
    control: (world) => operate(world, "alice", "read", "diary/today"),
    succeeds: "200 succeeded",
  }),
  attack({
    name: "An agent tells by the answers which files exist that it may not read",
    surface: "HTTP",
    async attack(world) {
      const [there, nowhere] = [
        await operate(world, "assistant", "stat", "diary/today"),
        await operate(world, "assistant", "stat", "diary/nowhere"),
      ];
      return {
        says: there.says === nowhere.says ? `alike: ${there.says}` : "told apart",
        text: there.text + nowhere.text,
      };
    },
    held: `alike: ${denied}`,
    control: (world) => operate(world, "alice", "stat", "diary/today"),
    succeeds: "200 succeeded",
  }),
  attack({
    name: "Another person reads a file under the same path, which is of another owner",
    surface: "HTTP",
    attack: (world) => operate(world, "bob", "read", "notes/todo"),
    held: "200 failed not_found",
    leaves: ["replay"],
    control: (world) => operate(world, "alice", "read", "notes/todo"),
    succeeds: "200 succeeded",
  }),
  attack({
    name: "An agent searches from the root, to find words in what it may not read",
    surface: "HTTP",
    attack: (world) => invoke(world, "assistant", "files.search", { path: "", query: canary }),
    held: denied,
    control: (world) => invoke(world, "assistant", "files.search", { path: "notes", query: "plants" }),
    succeeds: "200 succeeded",
  }),
  attack({
    name: "A search of a folder shows words of a file that may not be searched",
    surface: "HTTP",
    async prepare(world) {
      const place = world.fresh("searched");
      await operate(world, "alice", "create", `${place}/open/file`, { content: "findable" });
      await operate(world, "alice", "create", `${place}/secret`, { content: `findable ${canary}` });
      await issue(world, `files/${place}`, { actions: ["search"], scope: "exact" });
      await issue(world, `files/${place}/open`, { actions: ["read", "search"] });
      return place;
    },
    async attack(world, place) {
      const { says, text } = await invoke(world, "assistant", "files.search", { path: place, query: "findable" });
      return { says: `${says}, ${text.includes("secret") ? "with the secret" : "without the secret"}`, text };
    },
    held: "200 succeeded, without the secret",
    leaves: ["replay"],
    async control(world, place) {
      const { says, text } = await invoke(world, "alice", "files.search", { path: place, query: "findable" });
      return { says: `${says}, ${text.includes("secret") ? "with the secret" : "without the secret"}`, text };
    },
    succeeds: "200 succeeded, with the secret",
  }),
  attack({
    name: "An agent greps with an expression that backtracks for ever",
    surface: "HTTP",
    async prepare(world) {
      await operate(world, "assistant", "create", `notes/${world.fresh("bomb")}`, { content: `${"a".repeat(5000)}!` });
    },
    attack: (world) => invoke(world, "assistant", "files.grep", { path: "notes", pattern: "(a+)+$", regex: true }),
    held: "200 succeeded",
    leaves: ["replay"],
    control: (world) => invoke(world, "assistant", "files.grep", { path: "notes", pattern: "a+!", regex: true }),
    succeeds: "200 succeeded",
  }),
  tool(
    "An agent greps with an expression that has as many states as numbers",
    "files.grep",
    { path: "notes", pattern: "((a{1,1000}){1,1000}){1,1000}", regex: true },
    "200 failed invalid_pattern",
    { path: "notes", pattern: "a{1,10}", regex: true },
  ),
  tool(
    "An agent greps with an empty pattern, for everything",
    "files.grep",
    { path: "notes", pattern: "" },
    "200 failed invalid_pattern",
    { path: "notes", pattern: "plants" },
  ),
  tool(
    "An agent greps with a pattern that is longer than any",
    "files.grep",
    { path: "notes", pattern: "a".repeat(100_000) },
    "200 failed invalid_pattern",
    { path: "notes", pattern: "plants" },
  ),
  tool(
    "An agent lists with a cursor that it made up",
    "files.list",
    { path: "notes", cursor: btoa('{"after":"diary"}') },
    "200 failed invalid_cursor",
    { path: "notes" },
  ),
  tool(
    "An agent asks for more of a list than a page has",
    "files.list",
    { path: "notes", limit: 1_000_000 },
    "200 failed invalid_tool_arguments",
    { path: "notes", limit: 10 },
  ),
  attack({
    name: "An agent writes over a newer version than it read",
    surface: "HTTP",
    async prepare(world) {
      const path = `notes/${world.fresh("versioned")}`;
      await operate(world, "assistant", "create", path, { content: "one" });
      await operate(world, "assistant", "replace", path, { content: "two" });
      return path;
    },
    attack: (world, path) => operate(world, "assistant", "replace", path, { content: "three", expectedVersion: 1 }),
    held: "200 failed version_conflict",
    leaves: ["replay"],
    control: (world, path) => operate(world, "assistant", "replace", path, { content: "three", expectedVersion: 2 }),
    succeeds: "200 succeeded",
  }),
  attack({
    name: "An agent restores a snapshot of a folder that is not its own into one that is",
    surface: "HTTP",
    prepare: async (world) => ({
      theirs: await snapshot(world, "alice", "diary"),
      own: await snapshot(world, "assistant", "notes"),
    }),
    attack: (world, { theirs }) => operate(world, "assistant", "snapshot:restore", "notes", { snapshot: theirs }),
    held: "200 failed not_found",
    leaves: ["replay"],
    control: (world, { own }) => operate(world, "assistant", "snapshot:restore", "notes", { snapshot: own }),
    succeeds: "200 succeeded",
  }),
  attack({
    name: "Another owner restores another party's snapshot by its id",
    surface: "HTTP",
    prepare: (world) => snapshot(world, "alice", "notes"),
    attack: (world, id) => operate(world, "bob", "snapshot:restore", "notes", { snapshot: id }),
    held: "200 failed not_found",
    leaves: ["replay"],
    control: (world, id) => operate(world, "alice", "snapshot:restore", "notes", { snapshot: id }),
    succeeds: "200 succeeded",
  }),
  attack({
    name: "An agent takes a snapshot from above its folder, to hold what it may not read",
    surface: "HTTP",
    attack: (world) => operate(world, "assistant", "snapshot:create", "diary", {}),
    held: denied,
    control: (world) => operate(world, "assistant", "snapshot:create", "notes", {}),
    succeeds: "200 succeeded",
  }),
  attack({
    name: "An agent reads a file of the machine: a namespace of resources that no one has",
    surface: "HTTP",
    prepare: (world) => issue(world, "file/etc", { actions: ["read"] }),
    attack: (world) =>
      http(world, "/v1/resources/invoke", {
        as: "assistant",
        body: {
          operationId: world.fresh("operation"),
          action: "read",
          resource: { namespace: "file", path: ["etc", "passwd"] },
        },
      }),
    held: "200 failed resource_provider_not_found",
    control: (world) => operate(world, "assistant", "read", "notes/todo"),
    succeeds: "200 succeeded",
  }),
  attack({
    name: "An agent invents an action of files that its grant for all actions would cover",
    surface: "HTTP",
    attack: (world) => operate(world, "assistant", "execute", "notes/todo"),
    held: "200 failed invalid_request",
    leaves: ["replay"],
    control: (world) => operate(world, "assistant", "stat", "notes/todo"),
    succeeds: "200 succeeded",
  }),
];

export const files: Group = { name: "files", open: () => openWorld(), attacks: rows };
