// The thread of the server that only keeps: one transaction for each message.
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { parentPort, workerData } from "node:worker_threads";
import type * as sqlite from "../../packages/host/src/storage/sqlite/sqlite-file.ts";
import type { Batch } from "./keeping-server.ts";

// With the driver that the host has on this Node, which is a part of the host that no one else is to import.
const driver = pathToFileURL(join(process.cwd(), "packages/host/dist/storage/sqlite/sqlite-file.js")).href;
const { SqliteFile } = (await import(driver)) as typeof sqlite;

const file = new SqliteFile(workerData as string);
for (const setting of ["journal_mode = wal", "synchronous = full", "wal_autocheckpoint = 4000"]) file.pragma(setting);
// The audit log with the indexes that it has in the host, without which no filter of operators would be quick.
file.exec(`create table trail (tenant text, sequence integer, id text, at text, actor text, trace text, content text, hash text,
  primary key (tenant, sequence)) without rowid;
  create index trail_by_time on trail (tenant, at, sequence);
  create index trail_by_trace on trail (tenant, trace, at, sequence);
  create index trail_by_actor on trail (tenant, actor, at, sequence);
  create table entries (id text, place integer, content text, primary key (id, place)) without rowid`);
const addRow = file.prepare("insert into trail values (?, ?, ?, ?, ?, ?, ?, ?)");
const addEntry = file.prepare("insert into entries values (?, ?, ?)");
const [begin, commit] = [file.prepare("begin immediate"), file.prepare("commit")];

parentPort?.on("message", ({ rows, entries }: Batch) => {
  begin.run();
  for (const row of rows) addRow.run(row);
  for (const entry of entries) addEntry.run(entry);
  commit.run();
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, not a window
  parentPort?.postMessage("kept");
});
