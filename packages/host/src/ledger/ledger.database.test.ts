import { describe, expect, test, vi } from "vitest";
import { sql } from "kysely";
import { openCutProxy } from "../../test/cut-proxy.ts";
import {
  databaseKinds,
  newLocation,
  newTenant,
  openFresh,
  openHost,
  openPair,
  sharedDatabase,
} from "../../test/databases.ts";
import { inDifferentCallbacks } from "../../test/callbacks.ts";
import { watchThreads } from "../../test/threads.ts";
import { failingAt, recordStatements } from "../../test/watched-database.ts";
import { auditEvent } from "../../test/records.ts";
import { patience } from "../../test/host-calls.ts";
import { verifyAuditLog } from "../audit/audit-verify.ts";
import { createRevisions, isOutage, UnansweredCommitError, type Database } from "../storage/index.ts";
import { ReadBasis } from "../storage/read-basis.ts";
import { entryOf, type AuditEntry } from "./chain.ts";
import { openLedger, type Ledger } from "./ledger.ts";
import { createDecisionLedger } from "./call-claim.ts";
import { permitUse, type Claim, type Ending, type Notice, type Submission } from "./submission.ts";

function record(tenant: string, id: string): Submission {
  return { alternatives: [{ entries: [entryOf(auditEvent(id, { namespaceId: tenant }))] }] };
}

/** One that the database refuses: a column of it is missing. */
function unwritable(tenant: string): Submission {
  const entry = entryOf(auditEvent("unwritable", { namespaceId: tenant }));
  return { alternatives: [{ entries: [{ ...entry, type: null as unknown as string }] }] };
}

function claimOf(tenant: string, id: string, nonce: string): Claim {
  const key = { namespace_id: tenant, actor: "agent:a", kind: "tool", scope: "", id } as const;
  return { key, fingerprint: "one", nonce };
}

/** A use of a grant that may be used so often, with an event that says whether it was. */
function useOf(tenant: string, grantId: string, maxUses: number): Submission {
  const [used, refused] = ["used", "refused"].map((id) => entryOf(auditEvent(id, { namespaceId: tenant })));
  return {
    alternatives: [
      { uses: [{ namespaceId: tenant, grantId, maxUses }], entries: used ? [used] : [] },
      { entries: refused ? [refused] : [], isRefusal: true },
    ],
  };
}

function submitAll(ledger: Ledger, submissions: readonly Submission[]) {
  return Promise.allSettled(submissions.map((submission) => ledger.submit(submission)));
}

function idsOf(prefix: string, count: number): string[] {
  return Array.from({ length: count }, (_, place) => `${prefix}-${place}`);
}

/** The ids of a tenant's events in the order of their chain. */
async function eventsOf({ db }: Database, tenant: string): Promise<string[]> {
  const rows = db.selectFrom("audit").select("id").where("namespace_id", "=", tenant);
  return (await rows.orderBy("strand").orderBy("sequence").execute()).map(({ id }) => id);
}

async function isWhole({ db }: Database, tenant: string): Promise<boolean> {
  return (await verifyAuditLog(db, tenant)).broken === undefined;
}

describe.each(databaseKinds)("the ledger on %s", (kind) => {
  const open = sharedDatabase(kind);

  test("what arrives in different callbacks of one poll shares a commit", async () => {
    const { database, statements } = recordStatements(await open());
    const ledger = openLedger(database);
    const tenant = newTenant();
    const ids = idsOf("event", 32);
    await Promise.all(inDifferentCallbacks(ids.map((id) => () => ledger.submit(record(tenant, id)))));
    expect(statements.filter((statement) => statement === "commit")).toHaveLength(1);
    // Each statement is sent once, whatever the number of its rows; PostgreSQL makes the chain's head first.
    expect(statements).toHaveLength(kind === "sqlite" ? 4 : 6);
    expect(await eventsOf(database, tenant)).toEqual(ids);
  });

  test("what arrives while a batch is written shares the next one", async () => {
    const { database, statements } = recordStatements(await open());
    const tenant = newTenant();
    const late: Promise<unknown>[] = [];
    const ledger = openLedger({
      ...database,
      transact(work) {
        const submits = idsOf("late", 32).map((id) => () => ledger.submit(record(tenant, id)));
        if (late.length === 0) late.push(...inDifferentCallbacks(submits));
        return database.transact(work);
      },
    });
    await ledger.submit(record(tenant, "early"));
    await Promise.all(late);
    expect(statements.filter((statement) => statement === "commit")).toHaveLength(2);
  });

  test("a submission that cannot be written fails alone, wherever it is in its batch", async () => {
    const database = await open();
    for (const place of [0, 3, 6]) {
      const ledger = openLedger(database);
      const tenant = newTenant();
      const good = idsOf("good", 6);
      const batch = good.map((id) => record(tenant, id)).toSpliced(place, 0, unwritable(tenant));
      const settled = await submitAll(ledger, batch);
      expect(settled.map(({ status }) => status === "rejected")).toEqual(batch.map((_, at) => at === place));
      expect(await eventsOf(database, tenant)).toEqual(good);
      expect(await isWhole(database, tenant)).toBe(true);
    }
  });

  test("one that cannot be written among many costs a few commits, not one for each", async () => {
    const { database, statements } = recordStatements(await open());
    const tenant = newTenant();
    const good = idsOf("good", 255);
    await submitAll(openLedger(database), [...good.map((id) => record(tenant, id)), unwritable(tenant)]);
    expect(await eventsOf(database, tenant)).toEqual(good);
    expect(statements.filter((statement) => statement === "commit").length).toBeLessThan(10);
  });

  test("a batch whose commit is not answered is refused, and not written a second time", async () => {
    const database = await open();
    const ledger = openLedger(failingAt(database, 1, "after", { of: "commit" }));
    const tenant = newTenant();
    const ids = idsOf("event", 5);
    const settled = await submitAll(
      ledger,
      ids.map((id) => record(tenant, id)),
    );
    expect(new Set(settled.map(({ status }) => status))).toEqual(new Set(["rejected"]));
    expect(await eventsOf(database, tenant)).toEqual(ids);
    await ledger.submit(record(tenant, "next"));
    expect(await eventsOf(database, tenant)).toEqual([...ids, "next"]);
    expect(await isWhole(database, tenant)).toBe(true);
  });

  test("of several uses that one decision takes, none is counted unless all of them are left", async () => {
    const database = await open();
    const ledger = openLedger(database);
    const tenant = newTenant();
    const useOfBoth = (grantId: string, permit: string): Submission => ({
      alternatives: [
        {
          uses: [{ namespaceId: tenant, grantId, maxUses: 2 }, permitUse({ namespaceId: tenant, id: permit })],
          entries: [],
        },
      ],
    });
    const places = await Promise.all(
      [
        useOfBoth("grant", "one"),
        useOfBoth("grant", "one"),
        useOfBoth("grant", "two"),
        useOfBoth("grant", "three"),
      ].map(async (submission) => ledger.submit(submission)),
    );
    expect(places.map((outcome) => outcome.kind === "written" && outcome.alternative)).toEqual([0, -1, 0, -1]);
    expect(await ledger.submit(useOfBoth("another", "three"))).toMatchObject({ alternative: 0 });
    const rows = await database.db.selectFrom("uses").selectAll().where("namespace_id", "=", tenant).execute();
    expect(Object.fromEntries(rows.map(({ grant_id, used }) => [grant_id, used]))).toEqual({
      grant: 2,
      another: 1,
      "permit\none": 1,
      "permit\ntwo": 1,
      "permit\nthree": 1,
    });
  });

  test("a decision takes the use of its grant and its permit together, and the next one finds the permit used", async () => {
    const database = await open();
    const decisions = createDecisionLedger(openLedger(database));
    const namespaceId = newTenant();
    const eventOf = (id: string, outcome: "allowed" | "denied") => auditEvent(id, { namespaceId, outcome });
    const decide = () =>
      decisions.decide(
        [
          {
            uses: [{ namespaceId, grantId: "grant", maxUses: 9 }],
            permit: { namespaceId, id: "q1" },
            event: eventOf("allowed", "allowed"),
          },
          { event: eventOf("denied", "denied") },
        ],
        {},
      );
    expect([await decide(), await decide()]).toEqual([0, 1]);
    expect(await eventsOf(database, namespaceId)).toEqual(["allowed", "denied"]);
    const used = database.db.selectFrom("uses").select(["grant_id", "used"]).where("namespace_id", "=", namespaceId);
    expect(await used.orderBy("grant_id").execute()).toEqual([
      { grant_id: "grant", used: 1 },
      { grant_id: "permit\nq1", used: 1 },
    ]);
  });

  describe("that reports what it stores", () => {
    const notice = ({ id, namespace_id }: AuditEntry): Notice => {
      const at = "2026-01-01T00:00:00.000Z";
      const told = { webhook: "hook", message: `told-${id}`, type: "decision.denied", content: "{}" };
      return { ...told, namespace_id, created_at: at, due_at: at };
    };
    const toldOf = async ({ db }: Database, tenant: string): Promise<string[]> => {
      const rows = db.selectFrom("outbox").select("message").where("namespace_id", "=", tenant).orderBy("id");
      return (await rows.execute()).map(({ message }) => message);
    };

    test("writes the messages with the events, whether it has to read first or not", async () => {
      const database = await open();
      const ledger = openLedger(database, (rows) => rows.filter(({ id }) => id.startsWith("no")).map(notice));
      const tenant = newTenant();
      for (const batch of [["no-1", "yes-1", "no-2"], ["no-3"], ["yes-2"]])
        await Promise.all(batch.map((id) => ledger.submit(record(tenant, id))));
      await ledger.submit(useOf(tenant, "no-grant", 1));
      expect(await toldOf(database, tenant)).toEqual(["told-no-1", "told-no-2", "told-no-3"]);
    });

    test("writes neither without the other", async () => {
      const database = await open();
      let isBroken = false;
      const broken = (row: AuditEntry) =>
        isBroken ? { ...notice(row), webhook: null as unknown as string } : notice(row);
      const ledger = openLedger(database, (rows) => rows.map(broken));
      const tenant = newTenant();
      await ledger.submit(record(tenant, "one"));
      isBroken = true;
      await expect(ledger.submit(record(tenant, "two"))).rejects.toThrow(/null/i);
      isBroken = false;
      await ledger.submit(record(tenant, "three"));
      expect(await eventsOf(database, tenant)).toEqual(["one", "three"]);
      expect(await toldOf(database, tenant)).toEqual(["told-one", "told-three"]);
      expect(await isWhole(database, tenant)).toBe(true);
    });

    test("sends no statement more where there is nothing to tell", async () => {
      const { database, statements } = recordStatements(await open());
      const tenant = newTenant();
      const ledger = openLedger(database, () => []);
      for (const id of ["one", "two"]) await ledger.submit(record(tenant, id));
      expect(statements.filter((statement) => statement.includes("outbox"))).toEqual([]);
    });
  });

  test("a use that two submissions of a batch want is given once: a grant is never used more often than it may be", async () => {
    const { database, statements } = recordStatements(await open());
    const tenant = newTenant();
    const ledger = openLedger(database);
    const batch = Array.from({ length: 5 }, () => useOf(tenant, "grant-1", 2));
    const outcomes = await Promise.all(batch.map((use) => ledger.submit(use)));
    expect(outcomes).toEqual([0, 0, 1, 1, 1].map((alternative) => ({ kind: "written", alternative })));
    expect(statements.filter((statement) => statement === "commit")).toHaveLength(1);
    const uses = database.db.selectFrom("uses").select("used").where("namespace_id", "=", tenant);
    expect(await uses.execute()).toEqual([{ used: 2 }]);
    expect(await eventsOf(database, tenant)).toEqual(["used", "used", "refused", "refused", "refused"]);
  });

  describe("that knows how often a grant was used", () => {
    /** A ledger that has used a grant once, with what it sends from now on. */
    async function used(maxUses: number) {
      const tenant = newTenant();
      const database = await open();
      const messages: (readonly string[])[] = [];
      const ledger = openLedger({
        ...database,
        transact: (work) =>
          database.transact((run) =>
            work((steps, end) => {
              messages.push(steps.flatMap(({ sql: text, rows }) => (rows.length === 0 ? [] : text)));
              return run(steps, end);
            }),
          ),
      });
      await ledger.submit(useOf(tenant, "grant-1", maxUses));
      messages.length = 0;
      const countNow = async (): Promise<number | undefined> => {
        const rows = database.db.selectFrom("uses").select("used").where("namespace_id", "=", tenant);
        return (await rows.where("grant_id", "=", "grant-1").executeTakeFirst())?.used;
      };
      const setTo = (count: number) =>
        database.db.updateTable("uses").set({ used: count }).where("namespace_id", "=", tenant).execute();
      return {
        database,
        ledger,
        tenant,
        messages,
        countNow,
        setTo,
        use: () => ledger.submit(useOf(tenant, "grant-1", maxUses)),
      };
    }

    test("takes the next use with the decision in one message, and refuses in one when none is left", async () => {
      const { use, messages, countNow, database, tenant } = await used(2);
      expect([await use(), await use()]).toMatchObject([{ alternative: 0 }, { alternative: 1 }]);
      expect(messages).toHaveLength(2);
      expect(await countNow()).toBe(2);
      expect(await eventsOf(database, tenant)).toEqual(["used", "used", "refused"]);
    });

    test("takes the only use of a permit that it never read in one message", async () => {
      const { ledger, tenant, messages } = await used(2);
      const permitted: Submission = {
        alternatives: [{ uses: [permitUse({ namespaceId: tenant, id: "one" })], entries: [] }],
      };
      expect(await ledger.submit(permitted)).toMatchObject({ alternative: 0 });
      expect(messages).toHaveLength(1);
      expect(await ledger.submit(permitted)).toMatchObject({ alternative: -1 });
    });

    for (const row of [
      { name: "refuses when others took the rest", count: 5, alternative: 1, used: 5 },
      { name: "takes what others left", count: 4, alternative: 0, used: 5 },
      { name: "takes what was given back", count: 0, alternative: 0, used: 1 },
    ])
      test(`${row.name}, and writes nothing by what it knew`, async () => {
        const { use, setTo, countNow, database, tenant } = await used(5);
        await setTo(row.count);
        expect(await use()).toMatchObject({ alternative: row.alternative });
        expect(await countNow()).toBe(row.used);
        expect(await eventsOf(database, tenant)).toEqual(["used", row.alternative === 0 ? "used" : "refused"]);
      });

    test("refuses by no number that is outdated: what it knew as used up may be free again", async () => {
      const { use, setTo, countNow } = await used(1);
      expect(await use()).toMatchObject({ alternative: 1 });
      await setTo(0);
      expect(await use()).toMatchObject({ alternative: 0 });
      expect(await countNow()).toBe(1);
    });

    test("takes another use than one that it found used up, in one message", async () => {
      const { ledger, tenant, messages } = await used(1);
      const either: Submission = {
        alternatives: ["grant-1", "grant-2"].map((grantId) => ({
          uses: [{ namespaceId: tenant, grantId, maxUses: 1 }],
          entries: [],
        })),
      };
      expect([await ledger.submit(either), await ledger.submit(either)]).toMatchObject([
        { alternative: 1 },
        { alternative: -1 },
      ]);
      expect(messages).toHaveLength(2);
    });
  });

  test("a claim that comes with a refusal leaves its key free, and the refusal is stored", async () => {
    const database = await open();
    const ledger = openLedger(database);
    const tenant = newTenant();
    const claiming = (nonce: string, maxUses: number): Submission => ({
      ...useOf(tenant, "grant-1", maxUses),
      claim: claimOf(tenant, "call-1", nonce),
    });
    expect(await ledger.submit(claiming("first", 0))).toEqual({ kind: "written", alternative: 1 });
    expect(await eventsOf(database, tenant)).toEqual(["refused"]);
    expect(await ledger.submit(claiming("second", 1))).toEqual({ kind: "written", alternative: 0 });
    expect(await ledger.submit(claiming("third", 9))).toMatchObject({ kind: "taken", by: { claim: "second" } });
    expect(await eventsOf(database, tenant)).toEqual(["refused", "used"]);
  });

  for (const { how, beside } of [
    { how: "in one go", beside: [] },
    { how: "after a read", beside: ["grant-1"] },
  ])
    test(`a claim ends as its own ending says, and by no other (${how})`, async () => {
      const database = await open();
      const ledger = openLedger(database);
      const tenant = newTenant();
      const outcomes: Ending["outcome"][] = [
        { kind: "finished", result: "{}", isRead: false },
        { kind: "interrupted" },
        { kind: "released" },
      ];
      const own = outcomes.map((outcome) => ({ ...claimOf(tenant, outcome.kind, `own ${outcome.kind}`), outcome }));
      const running = claimOf(tenant, "running", "running");
      await Promise.all([...own, running].map((claim) => ledger.submit({ claim })));
      const others = outcomes.map((outcome) => ({ ...running, nonce: "another", outcome }));
      await Promise.all([
        ...beside.map((grantId) => ledger.submit(useOf(tenant, grantId, 9))),
        ...[...own, ...others].map((ending) => ledger.submit({ ending })),
      ]);
      const rows = database.db.selectFrom("replay").where("namespace_id", "=", tenant).orderBy("id");
      expect(await rows.select(["id", "result", "finished_at"]).execute()).toEqual([
        { id: "finished", result: "{}", finished_at: expect.stringMatching(/Z$/) },
        { id: "interrupted", result: null, finished_at: expect.stringMatching(/Z$/) },
        { id: "running", result: null, finished_at: null },
      ]);
    });

  test("of submissions that claim the same key in a batch one is stored, and nothing of the others is written", async () => {
    const database = await open();
    const ledger = openLedger(database);
    const tenant = newTenant();
    const batch = idsOf("claim", 4).map((nonce) => ({
      ...useOf(tenant, "grant-1", 9),
      claim: claimOf(tenant, "call-1", nonce),
    }));
    const outcomes = await Promise.all(batch.map((submission) => ledger.submit(submission)));
    expect(outcomes.map((outcome) => outcome.kind)).toEqual(["written", "taken", "taken", "taken"]);
    expect(await eventsOf(database, tenant)).toEqual(["used"]);
  });

  test("a head that another host moved is read anew: nothing is refused, and the chain stays whole", async () => {
    const database = await open();
    const ledgers = [openLedger(database), openLedger(database)];
    const tenant = newTenant();
    const ids = idsOf("event", 6);
    for (const [place, id] of ids.entries())
      expect(await ledgers[place % 2]?.submit(record(tenant, id))).toEqual({ kind: "written", alternative: 0 });
    expect(await eventsOf(database, tenant)).toEqual(ids);
    expect(await isWhole(database, tenant)).toBe(true);
  });

  test("chains stay whole when the host comes to another strand at any time", async () => {
    const database = await open();
    let reads = 0;
    const moving = Object.defineProperty({ ...database }, "strand", {
      get: () => (reads++ % 2 === 0 || kind === "sqlite" ? 0 : 1),
    });
    const ledger = openLedger(moving);
    const tenant = newTenant();
    for (const id of idsOf("event", 6)) await ledger.submit(record(tenant, id));
    expect(await eventsOf(database, tenant)).toHaveLength(6);
    expect(await isWhole(database, tenant)).toBe(true);
  });
});

describe("the ledger of a host whose disk is full", () => {
  test("refuses a batch once, with nothing of it written, and continues when there is room", async () => {
    const { database, statements } = recordStatements(await openFresh("sqlite"));
    const ledger = openLedger(database);
    await ledger.submit(record("tenant-1", "before"));
    const { rows } = await sql<{ page_count: number }>`pragma page_count`.execute(database.db);
    await sql`pragma max_page_count = ${sql.lit(rows[0]?.page_count)}`.execute(database.db);
    statements.length = 0;
    const large = entryOf(auditEvent("large", { namespaceId: "tenant-1", metadata: { text: "x".repeat(1_000_000) } }));
    const settled = await submitAll(ledger, [
      record("tenant-1", "small"),
      { alternatives: [{ entries: [large] }], claim: claimOf("tenant-1", "call-1", "first") },
    ]);
    expect(settled.map((one) => one.status === "rejected" && isOutage(one.reason))).toEqual([true, true]);
    expect(statements.filter((statement) => statement.startsWith("insert into audit "))).toHaveLength(1);
    await sql`pragma max_page_count = 1000000`.execute(database.db);
    expect(await eventsOf(database, "tenant-1")).toEqual(["before"]);
    expect(await ledger.submit({ claim: claimOf("tenant-1", "call-1", "second") })).toMatchObject({ kind: "written" });
    await ledger.submit(record("tenant-1", "after"));
    expect(await eventsOf(database, "tenant-1")).toEqual(["before", "after"]);
    expect(await isWhole(database, "tenant-1")).toBe(true);
  });
});

describe("the ledger of a host whose database thread dies", () => {
  test("refuses what waited, has what it acknowledged, and continues with the next call", async () => {
    const threads = watchThreads();
    const database = await openFresh("sqlite");
    const ledger = openLedger(database);
    const acknowledged: string[] = [];
    const write = async (id: string): Promise<void> => {
      await ledger.submit(record("tenant-1", id));
      acknowledged.push(id);
    };
    for (let round = 0; round < 3; round += 1) {
      await write(`round-${round}`);
      const waiting = Promise.allSettled(idsOf(`waiting-${round}`, 20).map(write));
      const died = threads.kill();
      const late = Promise.allSettled(inDifferentCallbacks(idsOf(`late-${round}`, 20).map((id) => () => write(id))));
      await died;
      for (const one of [...(await waiting), ...(await late)])
        expect(one.status === "fulfilled" || isOutage(one.reason)).toBe(true);
      const stored = await eventsOf(database, "tenant-1");
      expect(stored).toEqual(expect.arrayContaining(acknowledged));
      expect(new Set(stored).size).toBe(stored.length);
    }
    await write("last");
    expect((await eventsOf(database, "tenant-1")).at(-1)).toBe("last");
    expect(await isWhole(database, "tenant-1")).toBe(true);
  });
});

describe("the ledgers of two hosts on one PostgreSQL", () => {
  test("write a strand each, and never wait for each other's chains", async () => {
    const location = await newLocation("postgres");
    const [here, there, third] = [await openHost(location), await openHost(location), await openHost(location)];
    expect(new Set([here.strand, there.strand, third.strand])).toEqual(new Set([0, 1, 2]));
    const [mine, theirs] = [openLedger(here), openLedger(there)];
    await Promise.all([mine.submit(record("tenant-1", "mine")), theirs.submit(record("tenant-1", "theirs"))]);
    let isWritten = false;
    const written = await third.db.transaction().execute(async (transaction) => {
      await sql`select 1 from audit_heads where strand = ${here.strand} for update`.execute(transaction);
      const waits = mine.submit(record("tenant-1", "waits")).then(() => (isWritten = true));
      await theirs.submit(record("tenant-1", "does not wait"));
      expect(isWritten).toBe(false);
      return { waits };
    });
    await written.waits;
    expect(await eventsOf(there, "tenant-1")).toEqual(["mine", "waits", "theirs", "does not wait"]);
    expect(await isWhole(there, "tenant-1")).toBe(true);
  });

  for (const ledgerIs of ["new", "warm"]) {
    test(`write nothing that was decided on outdated reads, and all else of its batch; the ledger is ${ledgerIs}`, async () => {
      const [here, there] = await openPair();
      const ledger = openLedger(here);
      const [mine, theirs] = [createRevisions(here), createRevisions(there)];
      if (ledgerIs === "warm") await ledger.submit(record("tenant-1", "first"));
      const old = await mine.ask();
      await theirs.write(() => Promise.resolve());
      const bases = [new ReadBasis(old), undefined, new ReadBasis(old + 1), new ReadBasis(old)];
      const batches = [bases, bases.slice(0, 1), bases.slice(1, 3)].map((some, batch) =>
        some.map((basis, place) => {
          const claim = claimOf("tenant-1", `${batch}-${place}`, `${batch}-${place}`);
          return { ...record("tenant-1", `event ${batch}-${place}`), claim, basis };
        }),
      );
      const kinds: string[][] = [];
      for (const batch of batches)
        kinds.push((await Promise.all(batch.map((one) => ledger.submit(one)))).map(({ kind }) => kind));
      expect(kinds).toEqual([["outdated", "written", "written", "outdated"], ["outdated"], ["written", "written"]]);
      expect(bases.map((basis) => basis?.isOutdated)).toEqual([true, undefined, false, true]);
      const written = ["0-1", "0-2", "2-0", "2-1"];
      const rows = await there.db.selectFrom("replay").select("id").orderBy("id").execute();
      expect(rows.map(({ id }) => id)).toEqual(written);
      const events = await eventsOf(there, "tenant-1");
      expect(events.filter((id) => id !== "first")).toEqual(written.map((id) => `event ${id}`));
      expect(await isWhole(there, "tenant-1")).toBe(true);
    });
  }

  test("take what they both want in the same order, so that none waits for the other in a circle", async () => {
    const location = await newLocation("postgres");
    const hosts = [await openHost(location), await openHost(location)];
    const { db } = await openHost(location);
    const ids = idsOf("same", 20);
    const submitted = hosts.map((host, place) => {
      const claiming = (id: string): Submission => ({
        ...useOf("tenant-1", id, 9),
        claim: claimOf("tenant-1", id, `${id} ${place}`),
      });
      return () => submitAll(openLedger(host), (place === 0 ? ids : ids.toReversed()).map(claiming));
    });
    // Both come as far as to a key in the middle that another host has for a while.
    const settled = await db.transaction().execute(async (transaction) => {
      const { key, fingerprint, nonce } = claimOf("tenant-1", "same-10", "another host");
      await transaction
        .insertInto("replay")
        .values({ ...key, fingerprint, claim: nonce, host_id: 0 })
        .execute();
      const both = submitted.map((submit) => submit());
      const waiting = sql`select 1 from pg_locks where not granted and locktype = 'transactionid'`;
      await vi.waitFor(async () => expect((await waiting.execute(db)).rows).toHaveLength(2), patience);
      await transaction.deleteFrom("replay").where("claim", "=", nonce).execute();
      return { both };
    });
    const outcomes = (await Promise.all(settled.both))
      .flat()
      .map((one) => (one.status === "fulfilled" ? one.value.kind : String(one.reason)));
    expect(outcomes.toSorted()).toEqual([...ids.map(() => "taken"), ...ids.map(() => "written")]);
  });

  for (const { how, before } of [
    { how: "", before: [] },
    { how: ", also where the batch was one statement", before: ["zero"] },
  ]) {
    test(`a commit whose connection breaks while it is under way is not written a second time${how}`, async () => {
      const location = await newLocation("postgres");
      const direct = await openHost(location);
      const proxy = await openCutProxy(location);
      const ledger = openLedger(await openHost(proxy.location));
      for (const id of before) await ledger.submit(record("tenant-1", id));
      // A commit waits for the lock, which the test holds.
      await sql`create function wait_for_lock() returns trigger language plpgsql
      as 'begin perform pg_advisory_xact_lock(1, 1); return null; end'`.execute(direct.db);
      await sql`create constraint trigger waits after insert on audit deferrable initially deferred
      for each row execute function wait_for_lock()`.execute(direct.db);
      const settled = await direct.db.transaction().execute(async (transaction) => {
        await sql`select pg_advisory_xact_lock(1, 1)`.execute(transaction);
        const submitted = submitAll(ledger, [record("tenant-1", "one"), record("tenant-1", "two")]);
        const waiting = sql`select 1 from pg_locks where not granted and classid = 1 and objid = 1`;
        await vi.waitFor(async () => expect((await waiting.execute(direct.db)).rows).toHaveLength(1), patience);
        proxy.cut();
        return submitted;
      });
      const reasons = settled.map((one) => (one.status === "rejected" ? (one.reason as unknown) : "stored"));
      expect(reasons).toEqual([expect.any(UnansweredCommitError), expect.any(UnansweredCommitError)]);
      await vi.waitFor(
        async () => expect(await eventsOf(direct, "tenant-1")).toEqual([...before, "one", "two"]),
        patience,
      );
      proxy.mend();
      await ledger.submit(record("tenant-1", "three"));
      expect(await eventsOf(direct, "tenant-1")).toEqual([...before, "one", "two", "three"]);
    });
  }

  for (const { what, fail } of [
    { what: "a batch that reads", fail: (_db: Database, ledger: Ledger) => ledger.submit(record("tenant-2", "first")) },
    {
      what: "a transaction of a store",
      fail: ({ db }: Database) => db.transaction().execute((within) => sql`select 1`.execute(within)),
    },
  ]) {
    test(`what is acknowledged after ${what} whose beginning was answered too late is durable`, async () => {
      const location = await newLocation("postgres");
      const direct = await openHost(location);
      const proxy = await openCutProxy(location);
      const impatient = await openHost(`${proxy.location}?query_timeout=1000`);
      const ledger = openLedger(impatient);
      await ledger.submit(record("tenant-1", "one"));
      proxy.freeze();
      await expect(fail(impatient, ledger)).rejects.toThrow("Query read timeout");
      proxy.thaw();
      await ledger.submit(record("tenant-1", "two"));
      expect(await eventsOf(direct, "tenant-1")).toEqual(["one", "two"]);
    });
  }

  test("a server that speaks another language is understood: a key that is taken is", async () => {
    const location = await newLocation("postgres");
    await openHost(location);
    const inCzech = (said: Buffer): Buffer =>
      Buffer.from(said.toString("latin1").replaceAll("SERROR\0", "SCHYBA\0"), "latin1");
    const ledger = openLedger(await openHost((await openCutProxy(location, inCzech)).location));
    await ledger.submit(record("tenant-1", "before"));
    const claiming = (nonce: string): Submission => ({
      ...record("tenant-1", nonce),
      claim: claimOf("tenant-1", "call-1", nonce),
    });
    expect(await ledger.submit(claiming("first"))).toEqual({ kind: "written", alternative: 0 });
    expect(await ledger.submit(claiming("second"))).toMatchObject({ kind: "taken", by: { claim: "first" } });
  });
});
