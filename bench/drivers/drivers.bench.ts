// What it costs to send the statements of one transaction to PostgreSQL: one after the other, each without waiting for the one before, and
// as one batch behind one `Sync`; with the driver of the host and with another one.
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import pg from "pg";
import type * as batches from "../../packages/host/src/storage/postgres-batch.ts";
import { startPostgres } from "../support/postgres.ts";
import { digits, publish } from "../support/results.ts";
import { median, medianRatio } from "../support/statistics.ts";

/** The other driver. */
interface Peer {
  run(statements: readonly batches.BatchStatement[]): Promise<unknown>;
  end(): Promise<void>;
}

const fileOf = (path: string): string => pathToFileURL(join(process.cwd(), path)).href;
// A part of the host that no one else is to import.
const { runBatch } = (await import(fileOf("packages/host/dist/storage/postgres-batch.js"))) as typeof batches;
const { openPeer } = (await import(fileOf("bench/drivers/peer.js"))) as { openPeer(url: string, max: number): Peer };

const isQuick = process.argv.includes("--quick");
const rounds = isQuick ? 3 : 9;
const transactions = isQuick ? 100 : 400;
/** How many transactions run at once, each on a connection of its own. */
const widths = [1, 8];
const texts = [
  "insert into things (id, content) values ($1, $2) on conflict (id) do nothing",
  "select content from things where id = $1 for update",
  "update things set content = $2 where id = $1",
  "insert into events (thing, content) values ($1, $2)",
];
const valuesOf = (id: number): unknown[][] => [[id, "one"], [id], [id, "two"], [id, "three"]];

interface Side {
  readonly name: string;
  /** Runs one transaction on the connection at a place. */
  run(place: number, id: number): Promise<unknown>;
}

const server = await startPostgres();
const url = await server.newDatabase();
const connect = (pipeline: boolean): Promise<pg.Client[]> =>
  Promise.all(
    Array.from({ length: Math.max(...widths) }, async () => {
      const client = new pg.Client({ connectionString: url, pipeline } as pg.ClientConfig);
      await client.connect();
      return client;
    }),
  );
const [waiting, pipelined] = [await connect(false), await connect(true)];
const [first] = waiting;
await first?.query("create table things (id integer primary key, content text)");
await first?.query("create table events (thing integer, content text)");
await first?.query("create index events_by_thing on events (thing)");
const peer = openPeer(url, Math.max(...widths));

const named = (id: number) =>
  valuesOf(id).map((values, place) => ({ name: `statement-${place}`, text: texts[place] ?? "", values }));
const at = (clients: readonly pg.Client[], place: number): pg.Client => clients[place] as pg.Client;
const sides: readonly Side[] = [
  {
    name: "pg, one after the other",
    async run(place, id) {
      const client = at(waiting, place);
      await client.query("begin");
      for (const statement of named(id)) await client.query(statement);
      await client.query("commit");
    },
  },
  {
    name: "pg, its pipeline: a Sync for each",
    run(place, id) {
      const client = at(pipelined, place);
      return Promise.all([
        client.query("begin"),
        ...named(id).map((each) => client.query(each)),
        client.query("commit"),
      ]);
    },
  },
  { name: "pg, a batch: one Sync", run: (place, id) => runBatch(at(waiting, place), named(id)) },
  { name: "postgres, its pipeline in a transaction", run: (_place, id) => peer.run(named(id)) },
];

/** Microseconds of wall time, and of this process's processor time, for each transaction. */
async function measure({ run }: Side, width: number): Promise<{ wall: number; cpu: number }> {
  const [began, before] = [performance.now(), process.cpuUsage()];
  let id = 0;
  const work = async (place: number): Promise<void> => {
    while ((id += 1) <= transactions) await run(place, id);
  };
  await Promise.all(Array.from({ length: width }, (_, place) => work(place)));
  const { user, system } = process.cpuUsage(before);
  return { wall: ((performance.now() - began) * 1000) / transactions, cpu: (user + system) / transactions };
}

const rows: string[][] = [];
for (const width of widths) {
  const measured = sides.map(() => ({ wall: [] as number[], cpu: [] as number[] }));
  for (const side of sides) await measure(side, width);
  for (let round = 0; round < rounds; round += 1)
    for (const [place, side] of sides.entries()) {
      const { wall, cpu } = await measure(side, width);
      measured[place]?.wall.push(wall);
      measured[place]?.cpu.push(cpu);
    }
  const [base] = measured;
  for (const [place, { wall, cpu }] of measured.entries())
    rows.push([
      String(width),
      sides[place]?.name ?? "",
      digits(median(wall)),
      digits(medianRatio(wall, base?.wall ?? [])),
      digits(median(cpu)),
      digits(medianRatio(cpu, base?.cpu ?? [])),
    ]);
}
await Promise.all([...waiting, ...pipelined].map((client) => client.end()));
await peer.end();
await server.stop();

publish("drivers", [
  {
    title: "Statements of a transaction to PostgreSQL",
    text: "Four prepared statements in one transaction, in microseconds a transaction; ratios are the medians of those within a round.",
    head: ["at once", "how", "wall", "ratio", "CPU of the client", "ratio"],
    rows,
  },
]);
