import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { connect, createServer, type AddressInfo } from "node:net";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { onTestFinished } from "vitest";
import { testRoot } from "./test-root.ts";

/** Where distributions put it, which is not in the path of every user. */
const places = [process.env["PGBOUNCER"], "/usr/sbin/pgbouncer", "/usr/bin/pgbouncer", "/usr/local/bin/pgbouncer"];

/** Settings of PgBouncer by their names, besides those that a test of ours always needs. */
export interface PgBouncerSettings {
  pool_mode: "session" | "transaction" | "statement";
  default_pool_size?: number;
  server_round_robin?: number;
}

/** Puts a PgBouncer before a PostgreSQL, for the time of a test. Returns the address of the database by way of it. */
export async function startPgBouncer(location: string, settings: PgBouncerSettings, attempts = 3): Promise<string> {
  const program = places.find((path) => path !== undefined && existsSync(path));
  if (program === undefined)
    throw new Error("There is no pgbouncer. Install it (apt-get install pgbouncer), or name it in PGBOUNCER.");
  const folder = mkdtempSync(join(testRoot, "turnpike-pgbouncer-"));
  const file = join(folder, "pgbouncer.ini");
  const port = await freePort();
  writeFileSync(file, configuration(new URL(location), port, settings));
  // It refuses to run as root. This user comes with it.
  const user = process.getuid?.() === 0 ? ["-u", "postgres"] : [];
  const child = spawn(program, [...user, file], { stdio: "ignore" });
  const ended = once(child, "exit");
  const stop = async (): Promise<void> => {
    child.kill("SIGKILL");
    await ended;
    rmSync(folder, { recursive: true });
  };
  if (!(await listens(port, child))) {
    await stop();
    // Another process took the port.
    if (attempts > 1) return startPgBouncer(location, settings, attempts - 1);
    throw new Error(`${program} did not start.`);
  }
  onTestFinished(stop);
  const through = new URL(location);
  through.port = String(port);
  return through.href;
}

function configuration(server: URL, port: number, settings: PgBouncerSettings): string {
  const own = {
    listen_addr: "127.0.0.1",
    listen_port: port,
    unix_socket_dir: "",
    // All that connect are the user of the line above.
    auth_type: "any",
    max_client_conn: 1000,
    ...settings,
  };
  const { hostname, username, password } = server;
  return [
    "[databases]",
    `* = host=${hostname} port=${server.port} user=${username} password=${password}`,
    "[pgbouncer]",
    ...Object.entries(own).map(([name, value]) => `${name} = ${value}`),
    "",
  ].join("\n");
}

/** Resolves with true once something listens, and with false when the process ends before. */
async function listens(port: number, child: ChildProcess): Promise<boolean> {
  while (child.exitCode === null && child.signalCode === null) {
    const socket = connect(port, "127.0.0.1");
    const isThere = await new Promise((resolve) =>
      socket.once("connect", () => resolve(true)).once("error", () => resolve(false)),
    );
    socket.destroy();
    if (isThere === true) return true;
    await delay(10);
  }
  return false;
}

async function freePort(): Promise<number> {
  const probe = createServer().listen(0, "127.0.0.1");
  await once(probe, "listening");
  const { port } = probe.address() as AddressInfo;
  await new Promise((resolve) => probe.close(resolve));
  return port;
}
