// What one host takes of its machine besides processor time: memory at rest, after work and with connections, and its log.
import { mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { loadCases } from "./host/cases.ts";
import { startLoad } from "./host/load-process.ts";
import { startHost, type HostOptions } from "./support/host-process.ts";
import { startPostgres } from "./support/postgres.ts";
import { digits, publish } from "./support/results.ts";
import { openWorld } from "./support/world.ts";

const isQuick = process.argv.includes("--quick");
const plan = isQuick ? { calls: 500, sockets: 200 } : { calls: 5_000, sockets: 2_000 };

const folder = mkdtempSync(join(tmpdir(), "turnpike-bench-"));
process.once("exit", () => rmSync(folder, { recursive: true, force: true }));
const postgres = await startPostgres();
const load = startLoad();

const columns = [
  await measure({ folder: join(folder, "sqlite") }),
  await measure({ folder: join(folder, "postgres"), database: await postgres.newDatabase() }),
];
await load.stop();
await postgres.stop();

const names = ["authorize", "tools/invoke", "turn, one call"];
publish("footprint", [
  {
    title: "What a host needs",
    text:
      `RSS of the process, as the operating system counts it, in MiB; PostgreSQL's own is not in it. Work is ` +
      `${digits(plan.calls)} calls of each kind, 32 at once. Connections are idle ones that have asked once.`,
    head: ["what", "SQLite", "PostgreSQL"],
    rows: [
      "RSS, just started",
      `RSS, with ${digits(plan.sockets)} connections`,
      ...names.map((name) => `RSS, after ${name}`),
      "KiB a connection",
      ...names.map((name) => `bytes of log, ${name}`),
    ].map((what, at) => [what, ...columns.map((column) => digits(column[at] ?? Number.NaN))]),
  },
]);

async function measure(options: HostOptions): Promise<number[]> {
  const host = await startHost(options);
  const token = await openWorld(host);
  const log = (): number => statSync(join(options.folder, "host.log")).size;
  const memory = [rssMiB(host.pid)];
  // Before any work: memory that was needed once would hide what connections take.
  const sockets = await openSockets(host.port);
  const withSockets = rssMiB(host.pid);
  for (const socket of sockets) socket.destroy();
  const perSocket = ((withSockets - (memory[0] ?? Number.NaN)) * 1024) / plan.sockets;
  memory.push(withSockets);
  const logged: number[] = [];
  for (const row of loadCases(new Date().toISOString())) {
    const before = log();
    await load.run({ load: row, port: host.port, token, connections: 32, until: { requests: plan.calls } });
    logged.push((log() - before) / plan.calls);
    memory.push(rssMiB(host.pid));
  }
  await host.stop();
  return [...memory, perSocket, ...logged];
}

/** Opens connections, each of which has asked once and been answered. */
async function openSockets(port: number): Promise<Socket[]> {
  const sockets: Socket[] = [];
  for (let count = 0; count < plan.sockets; count += 1) {
    const socket = connect(port, "127.0.0.1");
    sockets.push(socket);
    await new Promise<void>((resolve, reject) => {
      socket.once("error", reject);
      socket.once("data", () => resolve());
      socket.write("GET /health HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n");
    });
  }
  return sockets;
}

function rssMiB(pid: number): number {
  const [, kib] = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8")) ?? [];
  return Number(kib) / 1024;
}
