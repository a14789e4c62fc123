import { statSync } from "node:fs";
import { loadCases } from "../host/cases.ts";
import { startLoad } from "../host/load-process.ts";
import { sqliteFile, startHost, type HostOptions } from "../support/host-process.ts";
import { openWorld } from "../support/world.ts";
import { openPostgresTables } from "./tables.ts";

/** How many bytes a database grew by. */
export interface Growth {
  readonly request: string;
  readonly bytesACall: number;
}

/** Makes so many calls of each kind to a new host, and looks how much larger its database is after each. */
export async function measureGrowth(options: HostOptions, calls: number): Promise<Growth[]> {
  const load = startLoad();
  let host = await startHost(options);
  const token = await openWorld(host);
  const growth: Growth[] = [];
  for (const row of loadCases(new Date().toISOString())) {
    await host.stop();
    const before = await bytesOf(options);
    host = await startHost(options);
    await load.run({ load: row, port: host.port, token, connections: 32, until: { requests: calls } });
    // A host that has stopped has put everything from its log into the database.
    await host.stop();
    growth.push({ request: row.name, bytesACall: ((await bytesOf(options)) - before) / calls });
    host = await startHost(options);
  }
  await host.stop();
  await load.stop();
  return growth;
}

async function bytesOf({ folder, database }: HostOptions): Promise<number> {
  if (database === undefined) return statSync(sqliteFile(folder)).size;
  const tables = await openPostgresTables(database);
  const [row] = await tables.all("select pg_database_size(current_database()) as size");
  await tables.close();
  return Number(row?.["size"]);
}
