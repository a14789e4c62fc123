// What the paths of production cost beside each other: tools of the host and of MCP servers, scripted and model turns, with traces
// and without.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { startServer, startLoad } from "../host/load-process.ts";
import { loadCases, mcpCase, type LoadCase } from "../host/cases.ts";
import { measure, summarize, type Sample, type Server } from "../host/rounds.ts";
import { startHost, type HostProcess } from "../support/host-process.ts";
import { digits, publish, type Goal } from "../support/results.ts";
import { openWorld } from "../support/world.ts";

const isQuick = process.argv.includes("--quick");
const plan = isQuick ? { rounds: 3, ms: 500 } : { rounds: 7, ms: 3000 };
const connections = 16;

const folder = mkdtempSync(join(tmpdir(), "turnpike-bench-"));
process.once("exit", () => rmSync(folder, { recursive: true, force: true }));
const standIns = await startServer(new URL("stand-ins.js", import.meta.url));
const standInUrl = `http://127.0.0.1:${standIns.port}`;
const load = startLoad();

const mcp = {
  servers: {
    notes: {
      command: [process.execPath, fileURLToPath(new URL("mcp-server.js", import.meta.url))],
      rules: { read: { path: ["$path"] } },
    },
  },
};
const model = { kind: "model", provider: "openai-compatible", model: "stand-in", baseUrl: `${standInUrl}/v1` };
const traces = { OTEL_EXPORTER_OTLP_ENDPOINT: standInUrl };

interface Path {
  readonly name: string;
  /** Which way a request of it takes. */
  readonly way: string;
  readonly row: LoadCase;
  readonly isModel: boolean;
}

const [, read, turn] = loadCases(new Date().toISOString());
if (read === undefined || turn === undefined) throw new Error("There is no case to begin with.");
const paths: Path[] = [
  { name: "files.read", way: "POST /v1/tools/invoke, a tool of the host", row: read, isModel: false },
  {
    name: "MCP tool",
    way: "the same, a tool of an MCP server behind a pipe",
    row: { ...read, body: read.body.replace('"files.read"', '"mcp.notes.read"') },
    isModel: false,
  },
  {
    name: "files.read by MCP",
    way: "POST /mcp, tools/call of a tool of the host",
    row: mcpCase(false),
    isModel: false,
  },
  {
    name: "files.read by MCP's library",
    way: "the same with notes on the request, as calls with progress have",
    row: mcpCase(true),
    isModel: false,
  },
  { name: "scripted turn", way: "POST /v1/turns, one call of files.read", row: turn, isModel: false },
  { name: "model turn", way: "the same, two answers of a model over HTTP", row: turn, isModel: true },
];

/** A host whose agent may use the tools of the MCP server as well. */
async function openHost(name: string, settings: object, env: Record<string, string>): Promise<[HostProcess, Server]> {
  const host = await startHost({ folder: join(folder, name), config: { mcp, ...settings }, env });
  const token = await openWorld(host, [{ namespace: "mcp.notes", path: [] }], ["mcp.notes"]);
  return [host, { name, pid: host.pid, port: host.port, token }];
}

const rows: string[][] = [];
const goals: Goal[] = [];
for (const isTraced of [false, true]) {
  const env = isTraced ? traces : {};
  const [plain, onPlain] = await openHost(`plain-${isTraced}`, {}, env);
  const [thinking, onThinking] = await openHost(`model-${isTraced}`, { runtime: model }, env);
  const serverOf = ({ isModel }: Path): Server => (isModel ? onThinking : onPlain);
  // Until what is hot is compiled.
  for (const path of paths) await measure(load, serverOf(path), { row: path.row, connections, ms: 4 * plan.ms });
  const samples = new Map<string, Sample[]>(paths.map(({ name }) => [name, []]));
  for (let round = 0; round < plan.rounds; round += 1)
    for (const path of paths)
      samples.get(path.name)?.push(await measure(load, serverOf(path), { row: path.row, connections, ms: plan.ms }));
  const baseline = samples.get("files.read") ?? [];
  for (const { name, way } of paths) {
    const { rate, cpuMicros, cpuRatio, p50Ms } = summarize(samples.get(name) ?? [], baseline);
    rows.push([name, isTraced ? "on" : "off", way, ...[rate, cpuMicros, cpuRatio, p50Ms].map(digits)]);
    if (["MCP tool", "files.read by MCP"].includes(name) && !isTraced)
      goals.push({
        name: name === "MCP tool" ? "a call of an MCP tool, CPU" : "a call of a tool by MCP, CPU",
        measured: cpuRatio,
        goal: 1.5,
        side: "at most",
        unit: "x files.read",
      });
  }
  await plain.stop();
  await thinking.stop();
}
await load.stop();
await standIns.stop();

publish("paths", [
  {
    title: "The paths of production beside each other",
    text:
      `One host on SQLite, ${connections} connections, medians of ${plan.rounds} rounds of ${plan.ms} ms; CPU is that of the host alone, ` +
      "and its ratio to files.read is taken within a round. The model and the collector of traces are stand-ins in another process.",
    head: ["path", "traces", "which way it takes", "requests/s", "CPU µs", "CPU x files.read", "p50 ms"],
    rows,
    goals,
  },
]);
