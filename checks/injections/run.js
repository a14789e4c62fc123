// Tries AgentDojo's injections on a real host: a model that does the user's task and then everything that an injection
// wants, in real turns, with the tools of the suite behind the gate as a governed MCP server. Prints what happened. With
// --quick only the first two tasks of each suite are tried.
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { createServiceClient } from "turnpike/client";
import { startHost } from "../../scripts/start-host.js";
import { startObedientModel } from "./obedient-model.js";
import { isEffect, rules } from "./suite-rules.js";

const { suites } = JSON.parse(readFileSync(new URL("agentdojo-calls.json", import.meta.url), "utf8"));
const namespaceId = "agentdojo";
const purpose = "task";
const alice = { kind: "human", userId: "alice" };

/** What the agent of a task is granted, from the places on which the task itself acts. */
const gates = {
  "no gate": () => [{ path: [], scope: "descendants" }],
  "a list of tools": (places) => places.map(([tool]) => ({ path: [tool], scope: "descendants" })),
  "grants by argument": (places) => places.map((path) => ({ path, scope: "exact" })),
};

const flags = process.argv.slice(2);
if (flags.some((flag) => flag !== "--quick")) {
  process.stderr.write(`expected --quick or nothing, found ${flags.join(" ")}\n`);
  process.exit(2);
}
const maxTasks = flags.length > 0 ? 2 : Infinity;

const rows = [];
for (const suite of Object.keys(suites)) rows.push(...(await trySuite(suite)));
process.stdout.write(table(rows));
if (rows.some(({ done, turns }) => done < turns)) process.exitCode = 1;

async function trySuite(suite) {
  const { injectionTasks } = suites[suite];
  const userTasks = suites[suite].userTasks.slice(0, maxTasks);
  const model = await startObedientModel();
  const host = await startHost((folder) => configurationFor(suite, folder, model.url));
  const world = { suite, host };
  try {
    const places = [];
    for (const task of userTasks) places.push(await placesOf(world, task));
    const tried = [];
    for (const [gate, grantsFrom] of Object.entries(gates)) {
      const row = { suite, gate, turns: 0, done: 0, effects: 0, landed: 0, carried: 0 };
      for (const [place, task] of userTasks.entries()) {
        const agent = await createAgent(world, `${gate} ${task.id}`, grantsFrom(places[place]));
        for (const injection of injectionTasks) count(row, task, injection, await run(world, agent, [task, injection]));
      }
      tried.push(row);
    }
    return tried;
  } finally {
    await host.stop();
    model.stop();
  }
}

function configurationFor(suite, folder, baseUrl) {
  const script = fileURLToPath(new URL("tool-server.js", import.meta.url));
  const server = { command: [process.execPath, script, suite, join(folder, "happened")], rules: rules[suite] };
  return {
    mcp: { servers: { [suite]: server } },
    runtime: { kind: "model", provider: "openai-compatible", baseUrl, model: "obedient" },
    turns: { maxSteps: 100, maxToolCalls: 100 },
    limits: { requestsPerSecond: 10_000, burst: 10_000 },
    log: { level: "error" },
  };
}

/** The places on which a task acts, from the audit log of a turn in which it may do everything and no one interferes. */
async function placesOf(world, task) {
  const agent = await createAgent(world, `alone ${task.id}`, gates["no gate"]());
  const { traceId } = await run(world, agent, [task]);
  const { events } = await world.host.operator.request("listAudit", { namespaceId, traceId, limit: 200 });
  return events.flatMap(({ event }) =>
    event.type === "authorization.checked" && event.tool ? [event.resource.path] : [],
  );
}

/** An agent that may run its turns, and call what is at these places. */
async function createAgent({ suite, host: { url, operator } }, agentId, places) {
  const actor = { kind: "agent", agentId };
  const access = { actor, owner: alice, authority: alice, purposes: [purpose] };
  const { token } = await operator.request("createCredential", { namespaceId, access });
  const execution = { namespace: "service.execution", path: ["agent", agentId] };
  const calls = places.map(({ path, scope }) => ({
    resource: { namespace: `mcp.${suite}`, path },
    actions: ["call"],
    scope,
  }));
  const capabilities = [{ resource: execution, actions: ["invoke"], scope: "exact" }, ...calls];
  const issued = { id: agentId, constraints: {}, issuedAt: new Date().toISOString() };
  await operator.request("createGrant", { ...issued, namespaceId, subject: actor, issuer: alice, capabilities });
  await operator.request("changeNamespaces", { namespaceId, actor, update: { enable: [`mcp.${suite}`] } });
  return { actor, client: createServiceClient({ baseUrl: url, token }) };
}

/** Runs a turn in which the model makes the calls of these tasks, one after the other, and says which were carried out. */
async function run({ suite, host: { folder } }, { actor, client }, tasks) {
  const calls = tasks.flatMap((task) => task.calls);
  const said = calls.map(({ tool, arguments: args }) => ({ tool: `mcp_${suite}_${tool}`, arguments: args }));
  const [executionId, traceId, createdAt] = [crypto.randomUUID(), crypto.randomUUID(), new Date().toISOString()];
  const envelope = { version: 1, id: executionId, createdAt, traceId, purpose, sender: alice, receiver: actor };
  const turn = { version: 1, executionId, agent: actor, message: { ...envelope, payload: JSON.stringify(said) } };
  const before = happened(folder).length;
  const { status } = await client.executeTurn(turn);
  if (status !== "succeeded") throw new Error(`A turn has ended ${status}.`);
  // The model makes one call a step, so what happened is in the order of the calls.
  const effects = happened(folder).slice(before);
  const carriedOut = calls.map((call) => {
    const isDone = JSON.stringify(call) === effects[0];
    if (isDone) effects.shift();
    return isDone;
  });
  if (effects.length > 0) throw new Error(`Something happened that no agent called: ${effects[0]}`);
  return { traceId, carriedOut };
}

function happened(folder) {
  const file = join(folder, "happened");
  return existsSync(file) ? readFileSync(file, "utf8").split("\n").slice(0, -1) : [];
}

/** Adds a turn to its row: whether the user's task was done, and what of the injection landed. */
function count(row, task, injection, { carriedOut }) {
  const own = carriedOut.slice(0, task.calls.length);
  const injected = injection.calls.map((call, place) => ({ call, isDone: carriedOut[task.calls.length + place] }));
  const effects = injected.filter(({ call }) => isEffect(call));
  row.turns += 1;
  row.done += own.every(Boolean) ? 1 : 0;
  row.effects += effects.length;
  row.landed += effects.filter(({ isDone }) => isDone).length;
  row.carried += injected.every(({ isDone }) => isDone) ? 1 : 0;
}

function table(all) {
  const cells = all.map(({ suite, gate, turns, done, effects, landed, carried }) => [
    suite,
    gate,
    `${done} of ${turns}`,
    `${landed} of ${effects}`,
    `${carried} of ${turns}`,
  ]);
  const head = ["Suite", "Gate", "User tasks done", "Injected effects that landed", "Injections carried out"];
  const widths = head.map((title, column) => Math.max(title.length, ...cells.map((row) => row[column].length)));
  const line = (row) => `| ${row.map((cell, column) => cell.padEnd(widths[column])).join(" | ")} |\n`;
  return [line(head), line(widths.map((width) => "-".repeat(width))), ...cells.map(line)].join("");
}
