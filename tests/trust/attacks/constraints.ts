import { attack, type Attack, type Group, together } from "./attack.ts";
import { authorize, http, invoke, operate } from "./surfaces.ts";
import { issue, openWorld, type World } from "./world.ts";

/** A place of its own with a file, and a grant to the assistant over it. */
async function place(world: World, constraints: object, scope?: "exact"): Promise<string> {
  const name = world.fresh("place");
  await operate(world, "alice", "create", `${name}/file`, { content: "inside" });
  await issue(world, `files/${name}`, { constraints, ...(scope && { scope }) });
  return name;
}

const read = (world: World, path: string, headers = {}) =>
  operate(world, "assistant", "read", path, undefined, headers);
const denied = "200 denied no_matching_grant";

function constrained(name: string, constraints: object, within: object = {}): Attack {
  return attack({
    name,
    surface: "HTTP",
    prepare: async (world) => ({ outside: await place(world, constraints), inside: await place(world, within) }),
    attack: (world, { outside }) => read(world, `${outside}/file`),
    held: denied,
    control: (world, { inside }) => read(world, `${inside}/file`),
    succeeds: "200 succeeded",
  });
}

/** A path that only looks as if it were below what was granted. */
function steps(name: string, path: string[], held: string): Attack {
  return attack({
    name,
    surface: "HTTP",
    attack: (world) =>
      http(world, "/v1/resources/invoke", {
        as: "assistant",
        body: { operationId: world.fresh("operation"), action: "read", resource: { namespace: "files", path } },
      }),
    held,
    ...(held.includes("failed") && { leaves: ["replay"] }),
    control: (world) => read(world, "notes/todo"),
    succeeds: "200 succeeded",
  });
}

/** The same in the argument of a tool. */
function argument(name: string, path: string, held: string): Attack {
  return attack({
    name,
    surface: "HTTP",
    attack: (world) => invoke(world, "assistant", "files.read", { path }),
    held,
    control: (world) => invoke(world, "assistant", "files.read", { path: "notes/todo" }),
    succeeds: "200 succeeded",
  });
}

const fifty = Array.from({ length: 50 });

const rows: readonly Attack[] = [
  constrained(
    "An attacker uses a grant after it expired",
    { expiresAt: "2026-01-02T00:00:00Z" },
    { expiresAt: "2999-01-01T00:00:00Z" },
  ),
  constrained(
    "An attacker uses a grant before it begins",
    { notBefore: "2999-01-01T00:00:00Z" },
    { notBefore: "2026-01-01T00:00:00Z" },
  ),
  constrained(
    "An attacker uses a grant for another purpose than it is for",
    { purposes: ["billing"] },
    { purposes: ["support"] },
  ),
  constrained(
    "An attacker uses a grant for a purpose that differs in case",
    { purposes: ["Support"] },
    { purposes: ["support"] },
  ),
  attack({
    name: "Fifty calls at once race for the three uses of a grant",
    surface: "HTTP",
    prepare: async (world) => ({ raced: await place(world, { maxUses: 3 }), free: await place(world, {}) }),
    attack: async (world, { raced }) => together(await Promise.all(fifty.map(() => read(world, `${raced}/file`)))),
    held: "47 x 200 denied grant_exhausted, 3 x 200 succeeded",
    leaves: ["uses", "replay"],
    control: async (world, { free }) => together(await Promise.all(fifty.map(() => read(world, `${free}/file`)))),
    succeeds: "50 x 200 succeeded",
  }),
  attack({
    name: "Twenty tool calls at once race for one use",
    surface: "HTTP",
    prepare: (world) => place(world, { maxUses: 1 }),
    attack: async (world, name) =>
      together(
        await Promise.all(
          fifty.slice(30).map(() => invoke(world, "assistant", "files.read", { path: `${name}/file` })),
        ),
      ),
    held: "19 x 200 denied grant_exhausted, 1 x 200 succeeded",
    leaves: ["uses", "replay"],
    control: (world) => invoke(world, "assistant", "files.read", { path: "notes/todo" }),
    succeeds: "200 succeeded",
  }),
  attack({
    name: "An attacker asks whether they may, again and again, to take uses or to make some",
    surface: "HTTP",
    prepare: (world) => place(world, { maxUses: 1 }),
    attack: async (world, name) =>
      together(
        await Promise.all(
          fifty
            .slice(40)
            .map(() => authorize(world, "assistant", "read", { namespace: "files", path: [name, "file"] })),
        ),
      ),
    held: "10 x 200 allowed",
    control: (world, name) => read(world, `${name}/file`),
    succeeds: "200 succeeded",
  }),
  attack({
    name: "An attacker goes below a grant that is exact",
    surface: "HTTP",
    prepare: async (world) => ({ exact: await place(world, {}, "exact"), below: await place(world, {}) }),
    attack: (world, { exact }) => read(world, `${exact}/file`),
    held: denied,
    control: (world, { below }) => read(world, `${below}/file`),
    succeeds: "200 succeeded",
  }),
  steps(
    "An attacker climbs out of the granted folder with ..",
    ["notes", "..", "diary", "today"],
    "400 invalid_request",
  ),
  steps(
    "An attacker climbs out with encoded dots, which are never decoded",
    ["notes", "%2e%2e", "diary", "today"],
    "200 failed not_found",
  ),
  steps("An attacker climbs out with a slash inside of a step", ["notes/../diary", "today"], "400 invalid_request"),
  steps("An attacker climbs out with a backslash", ["notes\\..\\diary", "today"], "400 invalid_request"),
  steps("An attacker inserts an empty step", ["", "diary", "today"], "400 invalid_request"),
  steps("An attacker inserts a step that is a dot", ["notes", ".", "todo"], "400 invalid_request"),
  steps("An attacker ends a step with a NUL", ["notes\u0000", "todo"], "400 invalid_request"),
  steps("An attacker reads a sibling whose name begins like the granted folder", ["notes2", "plan"], denied),
  steps("An attacker writes the granted folder in other case", ["Notes", "todo"], denied),
  steps("An attacker writes the granted folder with letters that look alike", ["n\u043etes", "todo"], denied),
  steps("An attacker writes the granted folder with a character that is not seen", ["notes\u200b", "todo"], denied),
  steps("An attacker asks for everything at once with a path of no steps", [], denied),
  argument(
    "An attacker climbs out of the granted folder in a tool's argument",
    "notes/../diary/today",
    "200 failed invalid_tool_arguments",
  ),
  argument("An attacker starts a tool's argument at the root", "/diary/today", "200 failed invalid_tool_arguments"),
  argument("An attacker doubles a slash in a tool's argument", "notes//todo", "200 failed invalid_tool_arguments"),
  argument("An attacker reads a sibling of the granted folder by a tool", "notes2/plan", denied),
  attack({
    name: "An attacker asks for the action * as if it were one",
    surface: "HTTP",
    prepare: (world) => issue(world, "files/one-action", { actions: ["read"] }),
    attack: (world) => authorize(world, "assistant", "*", { namespace: "files", path: ["one-action"] }),
    held: "200 no_matching_grant",
    control: (world) => authorize(world, "assistant", "read", { namespace: "files", path: ["one-action"] }),
    succeeds: "200 allowed",
  }),
  attack({
    name: "An attacker combines two grants into an authority that neither is",
    surface: "HTTP",
    async prepare(world) {
      await issue(world, "files/two-grants/a", { actions: ["read"] });
      await issue(world, "files/two-grants", { actions: ["list"] });
    },
    attack: (world) => authorize(world, "assistant", "read", { namespace: "files", path: ["two-grants", "b"] }),
    held: "200 no_matching_grant",
    control: (world) => authorize(world, "assistant", "read", { namespace: "files", path: ["two-grants", "a"] }),
    succeeds: "200 allowed",
  }),
];

export const constraints: Group = { name: "constraints", open: () => openWorld(), attacks: rows };
