// A host with much data: how long every operator's command takes, and how long it holds up all others.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { sqliteFile, startHost, type HostOptions } from "../support/host-process.ts";
import { startPostgres } from "../support/postgres.ts";
import { digits, publish, type Goal, type Section } from "../support/results.ts";
import { fillTables, makeTemplates, writeFiles } from "./fill.ts";
import { measureGrowth } from "./growth.ts";
import { runCommands, statementsOfCommands } from "./run-commands.ts";
import { scansOf } from "./plans.ts";
import type { Amounts } from "./rows.ts";
import { openPostgresTables, openSqliteTables, type Tables } from "./tables.ts";

const isQuick = process.argv.includes("--quick");
const share = isQuick ? 0.1 : 1;
const amounts: Amounts = {
  audit: 1_000_000 * share,
  grants: 100_000 * share,
  replay: 300_000 * share,
  credentials: 10_000 * share,
  escalations: 10_000 * share,
  messages: 9_000 * share,
};
const plan = { files: 2_000 * share, repeats: isQuick ? 1 : 3, growthCalls: isQuick ? 500 : 5_000 };
const mostDelayMs = 50;

const folder = mkdtempSync(join(tmpdir(), "turnpike-bench-"));
process.once("exit", () => rmSync(folder, { recursive: true, force: true }));
const postgres = await startPostgres();
const say = (words: string): void => console.log(words);

async function measureDatabase(name: string, options: HostOptions, open: () => Promise<Tables>): Promise<Section[]> {
  const first = await startHost(options);
  const token = await makeTemplates(first);
  await writeFiles(first, token, plan.files);
  await first.stop();
  const filled = await open();
  await fillTables(filled, amounts, (words) => say(`${name}: ${words}`));
  await filled.close();

  const starting = performance.now();
  const host = await startHost(options);
  const startMs = performance.now() - starting;
  const { idleDelayMs, commands } = await runCommands(host, token, amounts.grants, plan.repeats, say);
  await host.stop();

  const statements = await statementsOfCommands(options, token, amounts.grants);
  const tables = await open();
  const reading = new Map<string, Set<string>>();
  const scanning = new Map<string, Set<string>>();
  for (const [command, texts] of statements) {
    for (const sql of texts) {
      for (const scan of await scansOf(tables, sql)) {
        reading.set(command, (reading.get(command) ?? new Set()).add(scan));
        const statement = `${scan}: ${shorten(sql)}`;
        scanning.set(statement, (scanning.get(statement) ?? new Set()).add(command));
      }
    }
  }
  await tables.close();

  const longest = Math.max(...commands.map(({ delayMs }) => delayMs));
  const goal: Goal = {
    name: `longest delay of /health on ${name}`,
    measured: longest,
    goal: mostDelayMs,
    side: "at most",
    unit: "ms",
  };
  return [
    {
      title: `Commands on a large database, ${name}`,
      text:
        `${digits(amounts.audit)} audit rows, ${digits(amounts.grants)} grants, ${digits(amounts.replay)} replay rows, ` +
        `${digits(amounts.credentials)} credentials, ${digits(amounts.escalations)} escalations, ` +
        `${digits(amounts.messages)} messages, ${digits(plan.files)} files. The host starts in ${digits(startMs)} ms. ` +
        `With nothing to do it answers /health within ${digits(idleDelayMs)} ms.`,
      head: ["command", "ms", "longest delay of /health, ms", "within the goal", "reads"],
      rows: commands.map(({ name: command, ms, delayMs, failure }) => [
        command,
        failure ?? digits(ms),
        digits(delayMs),
        delayMs > mostDelayMs ? "no" : "yes",
        [...(reading.get(command) ?? [])].join(", "),
      ]),
      goals: [goal],
    },
    {
      title: `Statements that read more than they need, ${name}`,
      head: ["statement", "commands"],
      rows: [...scanning].map(([statement, names]) => [statement, [...names].join("; ")]),
    },
  ];
}

function shorten(sql: string): string {
  return sql.replaceAll(/\s+/g, " ").replaceAll('"', "").slice(0, 200);
}

const database = await postgres.newDatabase();
const onSqlite = { folder: join(folder, "sqlite") };
const onPostgres = { folder: join(folder, "postgres"), database };
const sections = [
  ...(await measureDatabase("SQLite", onSqlite, () => Promise.resolve(openSqliteTables(sqliteFile(onSqlite.folder))))),
  ...(await measureDatabase("PostgreSQL", onPostgres, () => openPostgresTables(database))),
];

const growths = [
  { name: "SQLite", options: { folder: join(folder, "sqlite-growth") } },
  {
    name: "PostgreSQL",
    options: { folder: join(folder, "postgres-growth"), database: await postgres.newDatabase() },
  },
];
const growthRows: string[][] = [];
for (const { name, options } of growths) {
  for (const { request, bytesACall } of await measureGrowth(options, plan.growthCalls))
    growthRows.push([request, name, digits(bytesACall), digits((bytesACall * 100_000) / 2 ** 20)]);
}
await postgres.stop();
sections.push({
  title: "How a database grows",
  text: `Measured with ${digits(plan.growthCalls)} calls of each kind.`,
  head: ["request", "database", "bytes a call", "MiB for 100,000 calls"],
  rows: growthRows,
});
publish("size", sections);
