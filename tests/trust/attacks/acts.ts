import { attack, type Attack, type Group, type Seen } from "./attack.ts";
import { http } from "./surfaces.ts";
import { openWorld, type Person, type World } from "./world.ts";

const read = (...path: string[]) => ({ action: "read", resource: { namespace: "files", path } });
const pay = (to: string) => ({ action: "pay", resource: { namespace: "bank", path: [to] } });
const trace = { "x-trace-id": "t" };

/** Begins an act that reads a note, unless it says otherwise. */
function begin(world: World, as: Person, changes: object = {}): Promise<Seen> {
  const act = { version: 1, id: world.fresh("act"), tool: "own", needs: [read("notes", "todo")] };
  const body = { ...act, requestedAt: "2026-01-01T00:00:00Z", traceId: "t", ...changes };
  return http(world, "/v1/acts", { as, headers: trace, body });
}

function report(world: World, as: Person, id: string, changes: object = {}): Promise<Seen> {
  const body = { version: 1, traceId: "t", status: "succeeded", output: "done", ...changes };
  return http(world, `/v1/acts/${id}/outcome`, { as, body });
}

/** The id of an act that the assistant has begun. */
async function begun(world: World): Promise<string> {
  const id = world.fresh("begun");
  await begin(world, "assistant", { id });
  return id;
}

async function finished(world: World): Promise<string> {
  const id = await begun(world);
  await report(world, "assistant", id);
  return id;
}

const nothing = { code: "none", message: "Nothing happened.", nothingHappened: true };
const undone = { status: "failed", output: undefined, error: nothing };
const anew = { control: (world: World) => begin(world, "assistant"), succeeds: "200 allowed" } as const;

const rows: readonly Attack[] = [
  attack({
    name: "An agent begins an act under the name of the host's own tool, with needs of its choice",
    surface: "HTTP",
    attack: (world) => begin(world, "assistant", { tool: "bank.pay" }),
    held: "400 tool_is_offered",
    ...anew,
  }),
  attack({
    name: "An agent hides something that it may not do among 63 things that it may",
    surface: "HTTP",
    attack: (world) => {
      const allowed = Array.from({ length: 63 }, (_, place) => read("notes", `note-${place}`));
      return begin(world, "assistant", { needs: [...allowed, read("diary", "today")] });
    },
    held: "200 denied no_matching_grant",
    ...anew,
  }),
  attack({
    name: "An agent names another owner in what its act needs",
    surface: "HTTP",
    attack: (world) => {
      const { action, resource } = read("notes", "todo");
      const owner = { kind: "human", userId: "bob" };
      return begin(world, "assistant", { needs: [{ action, resource: { ...resource, owner } }] });
    },
    held: "200 denied invalid_request",
    ...anew,
  }),
  attack({
    name: "An agent carries an act out that a person has to approve first",
    surface: "HTTP",
    attack: (world) => begin(world, "assistant", { needs: [pay("vault")], arguments: { amount: 1000 } }),
    held: "202 waiting",
    leaves: ["escalations"],
    ...anew,
  }),
  attack({
    name: "An agent has an act handed out a second time",
    surface: "HTTP",
    prepare: begun,
    attack: (world, id) => begin(world, "assistant", { id }),
    held: "409 replay_pending",
    ...anew,
  }),
  attack({
    name: "An agent begins another act under the id of one that is under way",
    surface: "HTTP",
    prepare: begun,
    attack: (world, id) => begin(world, "assistant", { id, tool: "other" }),
    held: "409 replay_conflict",
    ...anew,
  }),
  attack({
    name: "An agent says that nothing happened after it reported a success, to get its id and its use back",
    surface: "HTTP",
    prepare: finished,
    attack: (world, id) => report(world, "assistant", id, undone),
    held: "409 outcome_conflict",
    ...anew,
  }),
  attack({
    name: "Another agent of the tenant reports the outcome of an act",
    surface: "HTTP",
    prepare: begun,
    attack: (world, id) => report(world, "helper", id),
    held: "404 not_found",
    control: (world, id) => report(world, "assistant", id),
    succeeds: "200 succeeded",
  }),
  attack({
    name: "The agent of the same name in another tenant frees the id of an act",
    surface: "HTTP",
    prepare: begun,
    attack: (world, id) => report(world, "globexAssistant", id, undone),
    held: "404 not_found",
    control: (world, id) => report(world, "assistant", id, undone),
    succeeds: "200 failed none",
  }),
  attack({
    name: "Another agent asks for the output of an act",
    surface: "HTTP",
    prepare: finished,
    attack: (world, id) => http(world, `/v1/acts/${id}?traceId=t`, { as: "helper" }),
    held: "404 not_found",
    control: (world, id) => http(world, `/v1/acts/${id}?traceId=t`, { as: "assistant" }),
    succeeds: "200 succeeded",
  }),
  attack({
    name: "An operator begins an act with an operator's credential",
    surface: "HTTP",
    attack: (world) => begin(world, "acmeAdmin"),
    held: "403 permission_denied",
    ...anew,
  }),
];

export const acts: Group = { name: "acts", open: () => openWorld(), attacks: rows };
