import pg from "pg";
import { describe, expect, onTestFinished, test } from "vitest";
import { openCutProxy } from "../../test/cut-proxy.ts";
import { databaseKinds, newLocation, openHost } from "../../test/databases.ts";
import { countRoundTrips } from "../../test/round-trips.ts";
import { runBatch, type BatchStatement } from "./postgres-batch.ts";
import { UnansweredCommitError } from "./steps.ts";

const statement = (text: string, values: unknown[] = [], name?: string): BatchStatement => ({ text, values, name });
const insert = (id: number, name?: string): BatchStatement => statement("insert into things values ($1)", [id], name);

/** A database with a table, and a connection to it. */
async function opened() {
  const location = await newLocation("postgres");
  const client = new pg.Client(location);
  await client.connect();
  onTestFinished(() => client.end());
  await client.query("create table things (id bigint primary key)");
  const stored = async (): Promise<number[]> => {
    const { rows } = await client.query<{ id: string }>("select id from things order by id");
    return rows.map(({ id }) => Number(id));
  };
  return { location, client, stored };
}

describe.runIf(databaseKinds.includes("postgres"))("a batch", () => {
  test("answers each statement with its own rows and number of rows, in one round trip", async () => {
    const { location } = await opened();
    const trips = await countRoundTrips(location);
    const client = new pg.Client(trips.location);
    await client.connect();
    onTestFinished(() => client.end());
    const before = trips.count();
    const results = await runBatch(client, [
      insert(1),
      statement("select count(*) as count from things"),
      statement("update things set id = id + $1 returning id", [10]),
      statement(""),
      statement("select $1::text[] as texts, $2::text as none, $3::boolean as is", [["a", 'b"'], null, true]),
    ]);
    expect(trips.count() - before).toBe(1);
    expect(results.map(({ rows, rowCount }) => [rows, rowCount])).toEqual([
      [[], 1],
      [[{ count: 1 }], 1],
      [[{ id: 11 }], 1],
      [[], null],
      [[{ texts: ["a", 'b"'], none: null, is: true }], 1],
    ]);
  });

  for (const { name, batch } of [
    { name: "the first", batch: [statement("select 1 / 0"), insert(1), insert(2)] },
    { name: "the last", batch: [insert(1), insert(2), insert(1)] },
    { name: "one that cannot be read", batch: [insert(1), statement("selec 1"), insert(2)] },
    { name: "one whose values do not fit", batch: [insert(1), statement("select $1::integer", ["x"]), insert(2)] },
  ])
    test(`is undone as a whole when ${name} fails, and its connection goes on`, async () => {
      const { client, stored } = await opened();
      await expect(runBatch(client, batch)).rejects.toBeInstanceOf(pg.DatabaseError);
      expect(await stored()).toEqual([]);
      await runBatch(client, [insert(3)]);
      expect(await stored()).toEqual([3]);
    });

  test("commits nothing when its `begin` fails", async () => {
    const { client, stored } = await opened();
    const begin = "begin isolation level of its own";
    await expect(
      runBatch(client, [begin, "commit"].map((text) => statement(text)).toSpliced(1, 0, insert(1))),
    ).rejects.toThrow("syntax error");
    expect(await stored()).toEqual([]);
    expect(client.getTransactionStatus()).toBe("I");
  });

  test("sends nothing when a value of it cannot be sent", async () => {
    const { client, stored } = await opened();
    const circular: { self?: object } = {};
    circular.self = circular;
    await expect(runBatch(client, [insert(1), statement("select $1", [circular])])).rejects.toThrow("circular");
    expect(await stored()).toEqual([]);
  });

  test("prepares each statement with a name once, also when another one of its batch fails", async () => {
    const { client, stored } = await opened();
    const prepared = async () =>
      (await client.query("select name from pg_prepared_statements order by name")).rows.map(
        ({ name }) => name as string,
      );
    const failing = [
      insert(1, "one"),
      insert(2, "one"),
      statement("select 1 / $1::integer", [0], "two"),
      statement("select 3", [], "three"),
    ];
    for (let time = 0; time < 2; time += 1) {
      await expect(runBatch(client, failing)).rejects.toThrow("division by zero");
      expect(await prepared()).toEqual(["one", "two"]);
    }
    await runBatch(client, [
      insert(1, "one"),
      statement("select 1 / $1::integer", [1], "two"),
      statement("select 3", [], "three"),
    ]);
    expect(await prepared()).toEqual(["one", "three", "two"]);
    expect(await stored()).toEqual([1]);
  });
});

describe.runIf(databaseKinds.includes("postgres"))("a transaction of steps", () => {
  const make = { sql: "insert into schema_epoch (epoch, lowest) select $1, 0 where false", rows: [[1]] };
  const count = { sql: "update revision set value = value + 1 where id = $1", rows: [[1], [1]] };
  const seen = { sql: "select value from revision where id = $1", rows: [[1]] };
  const nothing = { sql: "select 1", rows: [] };

  test("is one round trip when one call begins and commits it, and else one for each call", async () => {
    const trips = await countRoundTrips(await newLocation("postgres"));
    const { transact } = await openHost(trips.location);
    await transact((run) => run([count], "commit"));
    const from = trips.count();
    const whole = await transact((run) => run([nothing, seen, count, make, seen], "commit"));
    expect(trips.count() - from).toBe(1);
    const [, before, counted, , after] = whole;
    expect(counted?.changes).toEqual([1, 1]);
    expect(Number(after?.rows[0]?.["value"]) - Number(before?.rows[0]?.["value"])).toBe(2);
    await transact(async (run) => {
      await run([seen, count]);
      await run([count], "commit");
    });
    expect(trips.count() - from).toBe(3);
  });

  for (const { name, steps } of [
    { name: "sent as a whole", steps: [[count, { sql: "select 1 / $1::integer", rows: [[0]] }]] },
    { name: "sent in parts", steps: [[count], [{ sql: "select 1 / $1::integer", rows: [[0]] }]] },
  ])
    test(`leaves nothing when it fails, ${name}`, async () => {
      const { transact, db } = await openHost(await newLocation("postgres"));
      const revisions = () => db.selectFrom("revision").select("value").execute();
      const before = await revisions();
      await expect(
        transact(async (run) => {
          for (const [place, part] of steps.entries())
            await run(part, place === steps.length - 1 ? "commit" : undefined);
        }),
      ).rejects.toThrow("division by zero");
      expect(await revisions()).toEqual(before);
      await transact((run) => run([count], "commit"));
      expect(await revisions()).not.toEqual(before);
    });

  test("is not taken for committed when a failure within it was passed over", async () => {
    const { transact, db } = await openHost(await newLocation("postgres"));
    const before = await db.selectFrom("revision").selectAll().execute();
    const passed = transact(async (run) => {
      await run([count]);
      await run([{ sql: "select 1 / $1::integer", rows: [[0]] }]).catch(() => {});
      await run([], "commit");
    });
    await expect(passed).rejects.toThrow("The transaction had failed before.");
    expect(await db.selectFrom("revision").selectAll().execute()).toEqual(before);
  });

  test("whose answer is lost is unanswered, whether it was committed or not", async () => {
    const proxy = await openCutProxy(await newLocation("postgres"));
    const { transact } = await openHost(proxy.location);
    await transact((run) => run([count], "commit"));
    const lost = transact((run) => run([count, { sql: "select pg_sleep($1)", rows: [[60]] }], "commit"));
    setImmediate(() => proxy.cut());
    await expect(lost).rejects.toBeInstanceOf(UnansweredCommitError);
  });
});
