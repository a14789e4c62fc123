import { describe, expect, test } from "vitest";
import { databaseKinds, newTenant, sharedDatabase } from "../../test/databases.ts";
import { auditEvent } from "../../test/records.ts";
import { failingAt, recordStatements } from "../../test/watched-database.ts";
import type { Database } from "../storage/index.ts";
import { entryOf } from "./chain.ts";
import { openLedger, type Ledger } from "./ledger.ts";
import type { NewTurn, RunLine, Submission, TurnStopColumns, TurnWrite } from "./submission.ts";

function newTurn(tenant: string, id: string, changes: Partial<NewTurn> = {}): NewTurn {
  const key = { namespace_id: tenant, actor: "agent:a", execution_id: id };
  const times = { started_at: "2026-01-01T12:00:00.000Z", updated_at: "2026-01-01T12:00:00.000Z" };
  const texts = { fingerprint: "print", heading: "{}", content: "{}" };
  return {
    id: `${tenant} ${id}`,
    ...key,
    ...texts,
    is_async: 1,
    ...times,
    bytes: 4,
    most: { turns: 100, bytes: 1000 },
    ...changes,
  };
}

/** What a run stores: one entry, and an event on the tenant's audit log. */
function writeOf(
  tenant: string,
  id: string,
  run: number,
  position: number,
  line: RunLine = {},
): Submission & { turn: TurnWrite } {
  const turn = `${tenant} ${id}`;
  const counts = { steps: position, tool_calls: 0, ran_ms: 1, entries: position + 1, events: 0 };
  return {
    turn: {
      id: turn,
      run,
      line,
      entries: [{ turn, position, kind: "step", sequence: null, content: `run ${run}` }],
      progress: { ...counts, updated_at: "2026-01-01T12:00:01.000Z" },
    },
    alternatives: [{ entries: [entryOf(auditEvent(`${id} ${run} ${position}`, { namespaceId: tenant }))] }],
  };
}

/** The same with an entry that no database takes. */
function unwritable({ turn, ...rest }: Submission & { turn: TurnWrite }): Submission {
  return { ...rest, turn: { ...turn, entries: turn.entries.map((entry) => ({ ...entry, kind: null as never })) } };
}

const waiting = {
  status: "waiting",
  waiting: "{}",
  result: null,
  completed_at: null,
  is_refused: 0,
  bytes: 11,
} as const;
const completed_at = "2026-01-01T12:00:02.000Z";
const ended = { status: "denied", waiting: null, result: "{}", completed_at, is_refused: 1, bytes: 12 } as const;

/** The same for a run that stops; when it waits, with its escalation. */
function stopOf(tenant: string, id: string, stop: TurnStopColumns): Submission & { turn: TurnWrite } {
  const { turn, ...rest } = writeOf(tenant, id, 1, 0);
  const name = { turn: turn.id, place: 0, namespace_id: tenant, question_id: `escalation of ${id}` };
  const waits = [{ ...name, expires_at: "2026-01-02T12:00:00.000Z", content: "{}" }];
  return { ...rest, turn: { ...turn, stop, ...(stop.status === "waiting" && { waits }) } };
}

async function entriesOf({ db }: Database, tenant: string, id: string): Promise<string[]> {
  const entries = db.selectFrom("turn_entries").select("content").where("turn", "=", `${tenant} ${id}`);
  return (await entries.orderBy("position").execute()).map(({ content }) => content);
}

async function auditLogOf({ db }: Database, tenant: string): Promise<string[]> {
  const rows = await db
    .selectFrom("audit")
    .select("id")
    .where("namespace_id", "=", tenant)
    .orderBy("sequence")
    .execute();
  return rows.map(({ id }) => id);
}

const kindsOf = async (outcomes: readonly Promise<{ kind: string }>[]): Promise<string[]> =>
  (await Promise.all(outcomes)).map(({ kind }) => kind);

describe.each(databaseKinds)("the ledger on %s", (kind) => {
  const open = sharedDatabase(kind);
  const begin = async (ledger: Ledger, tenant: string, ...ids: string[]): Promise<void> => {
    for (const id of ids) await ledger.submit({ begins: newTurn(tenant, id) });
  };

  for (const [path, isKnown] of [
    ["in one go", true],
    ["after a read", false],
  ] as const) {
    test(`stores what a run writes, and nothing of a run that lost its turn, which fails alone (${path})`, async () => {
      const database = await open();
      const tenant = newTenant();
      const first = openLedger(database);
      await begin(first, tenant, "mine", "taken", "left");
      await first.submit({ alternatives: writeOf(tenant, "mine", 1, 0).alternatives ?? [] });
      await database.db.updateTable("turns").set({ run: 2 }).where("id", "=", `${tenant} taken`).execute();
      await database.db.updateTable("turns").set({ host_id: null }).where("id", "=", `${tenant} left`).execute();
      // A ledger that knows the head of the tenant's chain commits optimistically; a new one reads it first.
      const ledger = isKnown ? first : openLedger(database);
      // One by one a batch is what was decided optimistically or nothing; together the others of the batch have to be stored.
      for (const id of ["taken", "left"])
        expect(await ledger.submit(writeOf(tenant, id, 1, 0))).toEqual({ kind: "lost" });
      const outcomes = await kindsOf([
        ledger.submit(writeOf(tenant, "taken", 1, 0)),
        ledger.submit(writeOf(tenant, "mine", 1, 0)),
        ledger.submit(writeOf(tenant, "left", 1, 0)),
      ]);
      expect(outcomes).toEqual(["lost", "written", "lost"]);
      expect(await entriesOf(database, tenant, "mine")).toEqual(["run 1"]);
      expect([...(await entriesOf(database, tenant, "taken")), ...(await entriesOf(database, tenant, "left"))]).toEqual(
        [],
      );
      expect(await auditLogOf(database, tenant)).toEqual(["mine 1 0", "mine 1 0"]);
    });
  }

  for (const [path, isKnown] of [
    ["in one go", true],
    ["after a read", false],
  ] as const) {
    test(`stops a turn with the escalations it waits for, unless it was cancelled, and lets no run write afterwards (${path})`, async () => {
      const database = await open();
      const tenant = newTenant();
      const first = openLedger(database);
      await begin(first, tenant, "waits", "cancelled", "ends");
      await first.submit({ alternatives: writeOf(tenant, "waits", 1, 0).alternatives ?? [] });
      const { db } = database;
      await db.updateTable("turns").set({ is_cancelled: 1 }).where("id", "=", `${tenant} cancelled`).execute();
      const ledger = isKnown ? first : openLedger(database);
      const outcomes = await kindsOf([
        ledger.submit(stopOf(tenant, "waits", waiting)),
        ledger.submit(stopOf(tenant, "cancelled", waiting)),
        ledger.submit(stopOf(tenant, "ends", ended)),
      ]);
      expect(outcomes).toEqual(["written", "written", "written"]);
      const columns = [
        "execution_id",
        "host_id",
        "status",
        "waiting",
        "result",
        "completed_at",
        "is_refused",
        "bytes",
      ] as const;
      const rows = db.selectFrom("turns").select(columns).where("namespace_id", "=", tenant).orderBy("execution_id");
      const unowned = { host_id: null, result: null, completed_at: null, is_refused: 0, bytes: 11 };
      expect(await rows.execute()).toEqual([
        { ...unowned, execution_id: "cancelled", status: "running", waiting: null },
        { ...ended, execution_id: "ends", host_id: null },
        { ...unowned, execution_id: "waits", status: "waiting", waiting: "{}" },
      ]);
      const rowsOfWaits = db.selectFrom("turn_questions").selectAll().where("namespace_id", "=", tenant);
      expect(await rowsOfWaits.execute()).toEqual(stopOf(tenant, "waits", waiting).turn.waits);
      expect(await ledger.submit(writeOf(tenant, "waits", 1, 1))).toEqual({ kind: "lost" });
    });
  }

  test("two runs of a turn in one batch: the one that lost it writes nothing, wherever it is", async () => {
    const database = await open();
    for (const order of [
      [1, 2],
      [2, 1],
    ]) {
      const tenant = newTenant();
      const ledger = openLedger(database);
      await begin(ledger, tenant, "turn");
      await ledger.submit(writeOf(tenant, "turn", 1, 0));
      await database.db.updateTable("turns").set({ run: 2 }).where("id", "=", `${tenant} turn`).execute();
      const outcomes = await kindsOf(order.map((run) => ledger.submit(writeOf(tenant, "turn", run, run))));
      expect(outcomes).toEqual(order.map((run) => (run === 1 ? "lost" : "written")));
      expect(await entriesOf(database, tenant, "turn")).toEqual(["run 1", "run 2"]);
    }
  });

  test("what one run stores in several submissions of a batch is stored in its order, with the last of its counts", async () => {
    const { database, statements } = recordStatements(await open());
    const tenant = newTenant();
    const ledger = openLedger(database);
    await begin(ledger, tenant, "turn");
    await ledger.submit(writeOf(tenant, "turn", 1, 0));
    statements.length = 0;
    await Promise.all([1, 2, 3].map((position) => ledger.submit(writeOf(tenant, "turn", 1, position))));
    expect(statements.filter((text) => text === "commit")).toHaveLength(1);
    expect(await entriesOf(database, tenant, "turn")).toHaveLength(4);
    const row = database.db.selectFrom("turns").select(["steps", "entries"]).where("namespace_id", "=", tenant);
    expect(await row.execute()).toEqual([{ steps: 3, entries: 4 }]);
  });

  test("of many that begin one turn in a batch the first does; an id from before actors were stored belongs to no one", async () => {
    const database = await open();
    const tenant = newTenant();
    const ledger = openLedger(database);
    const begins = [0, 1, 2].map((place) =>
      ledger.submit({ begins: newTurn(tenant, "turn", { id: `${tenant} ${place}` }) }),
    );
    expect(await kindsOf(begins)).toEqual(["written", "known", "known"]);
    const rows = database.db.selectFrom("turns").select(["id", "run", "host_id", "status"]);
    const { hostId } = database;
    expect(await rows.where("namespace_id", "=", tenant).execute()).toEqual([
      { id: `${tenant} 0`, run: 1, host_id: hostId, status: "running" },
    ]);
    await ledger.submit({ begins: newTurn(tenant, "old", { actor: "" }) });
    const other = newTurn(tenant, "old", { id: `${tenant} other` });
    expect(await ledger.submit({ begins: other })).toEqual({ kind: "known" });
  });

  test("a turn's entry that cannot be written takes the decision with it, and nothing else of the batch", async () => {
    const database = await open();
    const tenant = newTenant();
    const ledger = openLedger(database);
    await begin(ledger, tenant, "bad", "good");
    const bad = writeOf(tenant, "bad", 1, 0);
    const [refused, stored] = await Promise.allSettled([
      ledger.submit(unwritable(bad)),
      ledger.submit(writeOf(tenant, "good", 1, 0)),
    ]);
    expect([refused.status, stored.status]).toEqual(["rejected", "fulfilled"]);
    expect(await auditLogOf(database, tenant)).toEqual(["good 1 0"]);
    const rows = database.db.selectFrom("turns").select(["execution_id", "entries"]).where("namespace_id", "=", tenant);
    expect(await rows.orderBy("execution_id").execute()).toEqual([
      { execution_id: "bad", entries: 0 },
      { execution_id: "good", entries: 1 },
    ]);
  });

  test("nothing of a run is stored behind what could not be written, in whichever batch; other runs do not notice", async () => {
    const database = await open();
    const tenant = newTenant();
    const ledger = openLedger(database);
    await begin(ledger, tenant, "broken", "whole");
    const line: RunLine = {};
    const behind: Promise<unknown>[] = [];
    const before = ledger.submit(writeOf(tenant, "broken", 1, 0, line));
    const bad = ledger.submit(unwritable(writeOf(tenant, "broken", 1, 1, line))).catch((error: unknown) => {
      // Before any other host knows.
      behind.push(ledger.submit(writeOf(tenant, "broken", 1, 3, line)));
      throw error;
    });
    const settled = await Promise.allSettled([
      before,
      bad,
      ledger.submit(writeOf(tenant, "whole", 1, 0)),
      ledger.submit(writeOf(tenant, "broken", 1, 2, line)),
      ledger.submit(writeOf(tenant, "whole", 1, 1)),
    ]);
    const [, failed, , next] = settled;
    const cause = failed?.status === "rejected" ? (failed.reason as unknown) : undefined;
    const notTried = { status: "rejected", reason: { name: "TurnPause", cause } };
    expect(settled.map(({ status }) => status === "fulfilled")).toEqual([true, false, true, false, true]);
    expect(next).toMatchObject(notTried);
    expect(await Promise.allSettled(behind)).toMatchObject([notTried]);
    expect(await auditLogOf(database, tenant)).toEqual(["broken 1 0", "whole 1 0", "whole 1 1"]);
    expect(await entriesOf(database, tenant, "broken")).toHaveLength(1);
  });

  test("nothing of a run is stored behind a commit that failed, in the next batch", async () => {
    const database = await open();
    const tenant = newTenant();
    await begin(openLedger(database), tenant, "turn");
    const ledger = openLedger(failingAt(database, 1, "before", { of: "commit" }));
    const line: RunLine = {};
    const first = ledger.submit(writeOf(tenant, "turn", 1, 0, line));
    await new Promise(setImmediate);
    const behind = ledger.submit(writeOf(tenant, "turn", 1, 1, line));
    const other = ledger.submit(writeOf(tenant, "turn", 1, 2));
    expect(await Promise.allSettled([first, behind])).toEqual(
      [1, 2].map(() => ({ status: "rejected", reason: expect.any(Error) as Error })),
    );
    await other;
    expect(await auditLogOf(database, tenant)).toEqual(["turn 1 2"]);
  });
});
