import { describe, expect, test } from "vitest";
import type { AuditEvent, ToolCall } from "turnpike/contracts";
import type { WriteScope } from "turnpike/kernel";
import { TurnPause, type JournalEntry } from "turnpike/runtime";
import { databaseKinds, newTenant, sharedDatabase } from "../../../test/databases.ts";
import { auditEvent, now } from "../../../test/records.ts";
import {
  beginTurn,
  endedEntry,
  eventEntries,
  openJournal,
  progress,
  takeElsewhere,
  turnKey,
  turnToBegin,
} from "../../../test/turn-journals.ts";
import { failingAt, recordStatements } from "../../../test/watched-database.ts";
import { createDecisionLedger, openLedger, recordEvent } from "../../ledger/index.ts";
import type { Database } from "../../storage/index.ts";
import type { LedgerRunWriter } from "./run-writer.ts";
import { entriesOfRow } from "./turn-rows.ts";

const call: ToolCall = { id: "call-1", tool: "bank.pay", arguments: {}, requestedAt: now, traceId: "trace-1" };
const callEntry: JournalEntry = { kind: "call", call, step: 0, repeatable: false };
const done = { status: "succeeded", callId: "call-1", tool: "bank.pay", completedAt: now, output: 1 } as const;
const resultEntry: JournalEntry = { kind: "result", callId: "call-1", result: done };
const stepEntry: JournalEntry = { kind: "step", name: "decision-0", value: "{}" };
/** No column takes its sequence. */
const unwritable = { kind: "event", event: { sequence: {} } } as never;
const paused = expect.any(TurnPause) as Error;

async function storedOf({ db }: Database, tenant: string) {
  const entries = db
    .selectFrom("turn_entries")
    .innerJoin("turns", "turns.id", "turn_entries.turn")
    .select(["turn_entries.kind", "turn_entries.content"])
    .where("namespace_id", "=", tenant)
    .orderBy("position");
  const log = db.selectFrom("audit").select("id").where("namespace_id", "=", tenant).orderBy("sequence");
  const used = db.selectFrom("uses").select("used").where("namespace_id", "=", tenant);
  return {
    entries: (await entries.execute()).flatMap(entriesOfRow).map((entry) => entry.kind),
    auditLog: (await log.execute()).map(({ id }) => id),
    used: (await used.executeTakeFirst())?.used ?? 0,
  };
}

describe.each(databaseKinds)("the writer of a run on %s", (kind) => {
  const open = sharedDatabase(kind);
  /** A turn that runs, and the kernel's side of its calls. */
  const start = async (database: Database) => {
    const tenant = newTenant();
    const journal = openJournal(database);
    const writer = await beginTurn(journal, turnToBegin(tenant, "turn"));
    const eventOf = (id: string, outcome: AuditEvent["outcome"]) => auditEvent(id, { namespaceId: tenant, outcome });
    const uses = [{ namespaceId: tenant, grantId: "g", maxUses: 5 }];
    return {
      tenant,
      journal,
      writer,
      decide: (writes?: WriteScope) =>
        createDecisionLedger(journal.ledger).decide(
          [{ uses, event: eventOf("allowed", "allowed") }, { event: eventOf("exhausted", "denied") }],
          { writes },
        ),
      refuse: (writes: WriteScope) =>
        createDecisionLedger(journal.ledger).decide([{ event: eventOf("refused", "denied") }], { writes }),
      record: (writes: WriteScope, id = "outcome") => recordEvent(journal.ledger, eventOf(id, "succeeded"), { writes }),
    };
  };

  test("stores a call with its decision and its use, and its result with its outcome: two commits", async () => {
    const { database, statements } = recordStatements(await open());
    const { writer, tenant, decide, record } = await start(database);
    const scope = writer.openScope(callEntry, progress);
    statements.length = 0;
    expect(await decide(scope)).toBe(0);
    expect(await storedOf(database, tenant)).toEqual({ entries: ["call"], auditLog: ["allowed"], used: 1 });
    await record(scope);
    expect(await storedOf(database, tenant)).toMatchObject({ entries: ["call"], auditLog: ["allowed"] });
    await writer.write([resultEntry, ...eventEntries()], progress, [scope]);
    expect(statements.filter((text) => text === "commit")).toHaveLength(2);
    const entries = ["call", "result", "event"];
    expect(await storedOf(database, tenant)).toEqual({ entries, auditLog: ["allowed", "outcome"], used: 1 });
  });

  test("stores a call that is refused, its decision and its result in one commit", async () => {
    const { database, statements } = recordStatements(await open());
    const { writer, tenant, refuse, record } = await start(database);
    const scope = writer.openScope(callEntry, progress);
    statements.length = 0;
    expect(await refuse(scope)).toBe(0);
    await record(scope);
    await writer.write([resultEntry], progress, [scope]);
    expect(statements.filter((text) => text === "commit")).toHaveLength(1);
    expect(await storedOf(database, tenant)).toMatchObject({
      entries: ["call", "result"],
      auditLog: ["refused", "outcome"],
    });
  });

  test("stores no entry with a decision that came to a refusal, but with what follows it", async () => {
    const database = await open();
    const { writer, tenant, decide } = await start(database);
    for (let use = 0; use < 5; use += 1) await decide(undefined);
    const scope = writer.openScope({ kind: "admitting" }, progress);
    expect(await decide(scope)).toBe(1);
    expect(await storedOf(database, tenant)).toMatchObject({ entries: [], used: 5 });
    await writer.write(eventEntries(), progress, [scope]);
    expect((await storedOf(database, tenant)).entries[0]).toBe("admitting");
  });

  test("stores the calls of a step in one write, and the entry of one that stored nothing before", async () => {
    const database = await open();
    const { writer, tenant, decide, record } = await start(database);
    const [one, other] = [writer.openScope(callEntry, progress), writer.openScope(undefined, progress)];
    await record(one, "one");
    expect(await decide(other)).toBe(0);
    await record(other, "other");
    await writer.write([resultEntry], progress, [one, other]);
    const auditLog = ["allowed", "one", "other"];
    expect(await storedOf(database, tenant)).toEqual({ entries: ["call", "result"], auditLog, used: 1 });
  });

  test("lets no call of a run that lost its turn happen: no decision, no use, and a pause", async () => {
    const database = await open();
    const { writer, tenant, decide } = await start(database);
    await takeElsewhere(database, turnKey(tenant, "turn"));
    const scope = writer.openScope(callEntry, progress);
    await expect(decide(scope)).rejects.toEqual(paused);
    expect(writer.stop.reason).toEqual(paused);
    expect(await storedOf(database, tenant)).toEqual({ entries: [], auditLog: [], used: 0 });
    await expect(writer.write([resultEntry], progress, [scope])).rejects.toEqual(paused);
    expect(await storedOf(database, tenant)).toEqual({ entries: [], auditLog: [], used: 0 });
  });

  test("lets no further decision of a call be made when its turn was lost meanwhile", async () => {
    const database = await open();
    const { writer, tenant, decide } = await start(database);
    const scope = writer.openScope(callEntry, progress);
    await decide(scope);
    await takeElsewhere(database, turnKey(tenant, "turn"));
    await expect(decide(scope)).rejects.toEqual(paused);
    expect(await storedOf(database, tenant)).toMatchObject({ auditLog: ["allowed"], used: 1 });
  });

  test("records the outcome of a call in the audit log when its turn was lost meanwhile", async () => {
    const database = await open();
    const { writer, tenant, journal, decide, record } = await start(database);
    const scope = writer.openScope(callEntry, progress);
    await decide(scope);
    await takeElsewhere(database, turnKey(tenant, "turn"));
    await record(scope);
    await expect(writer.write([...eventEntries()], progress)).rejects.toEqual(paused);
    await journal.ledger.flush();
    expect(await storedOf(database, tenant)).toMatchObject({ entries: ["call"], auditLog: ["allowed", "outcome"] });
  });

  test("records the outcome of a call with the end of its turn, and after it", async () => {
    const database = await open();
    const { writer, tenant, decide, record } = await start(database);
    const [first, second] = [writer.openScope(callEntry, progress), writer.openScope(callEntry, progress)];
    await decide(first);
    await decide(second);
    await record(first, "before");
    await writer.write([endedEntry("turn")], progress);
    expect((await storedOf(database, tenant)).auditLog).toEqual(["allowed", "allowed", "before"]);
    await record(second, "after");
    expect((await storedOf(database, tenant)).auditLog).toEqual(["allowed", "allowed", "before", "after"]);
  });

  test("writes nothing behind the end of its turn, which is still being stored", async () => {
    const database = await open();
    const { writer, tenant } = await start(database);
    const ending = writer.write([endedEntry("turn")], progress);
    await expect(writer.write(eventEntries(), progress)).rejects.toEqual(paused);
    await ending;
    expect((await storedOf(database, tenant)).entries).toEqual(["ended"]);
  });

  test("commits nothing when its run leaves the turn and has nothing to record", async () => {
    const { database, statements } = recordStatements(await open());
    const { writer, journal, record } = await start(database);
    const scope = writer.openScope(callEntry, progress);
    statements.length = 0;
    await journal.leave(writer);
    await journal.ledger.flush();
    expect(statements).not.toContain("commit");
    // Whatever comes later is stored by itself.
    await record(scope);
    expect(statements.filter((text) => text === "commit")).toHaveLength(1);
  });

  test("writes nothing any more after a write that failed, and its turn is left for another host to take", async () => {
    const shared = await open();
    const { writer, tenant, journal } = await start(failingAt(shared, 2, "before", { of: "commit" }));
    await expect(writer.write(eventEntries(), progress)).rejects.toThrow("injected");
    expect(writer.stop.reason).toEqual(paused);
    await expect(writer.write(eventEntries(1, 2), progress)).rejects.toEqual(paused);
    expect((await storedOf(shared, tenant)).entries).toEqual([]);
    expect(await journal.unattended(999)).toContain(writer.id);
    const next = await journal.take(writer.id);
    await next?.write(eventEntries(), progress);
    expect((await storedOf(shared, tenant)).entries).toEqual(["event"]);
  });

  test("stores what it is asked for in that order, whatever of it is on its way", async () => {
    const database = await open();
    const { writer, tenant, decide } = await start(database);
    const [first, second] = [
      writer.openScope(callEntry, progress),
      writer.openScope({ kind: "asked", callId: "2" }, progress),
    ];
    const all = [
      decide(first),
      writer.write([resultEntry], progress, [first]),
      writer.write([stepEntry], progress),
      decide(second),
      writer.write(eventEntries(), progress, [second]),
      writer.write([stepEntry], progress),
    ];
    await Promise.all(all);
    const entries = ["call", "result", "step", "asked", "event", "step"];
    expect(await storedOf(database, tenant)).toMatchObject({ entries, used: 2 });
  });

  test("stores nothing behind what it could not write: no decision, no use, and no end that would be tried again", async () => {
    const shared = await open();
    const { tenant, journal, decide } = await start(shared);
    const writer = await beginTurn(journal, turnToBegin(tenant, "other", { isAsync: false }));
    const scope = writer.openScope(callEntry, progress);
    const settled = await Promise.allSettled([
      writer.write([stepEntry], progress),
      writer.write([unwritable], progress),
      decide(scope),
      writer.write([endedEntry("other")], progress),
    ]);
    expect(settled.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "rejected", "rejected"]);
    // Its caller must not be told of it.
    expect(settled[3]).toEqual({ status: "rejected", reason: paused });
    expect(await storedOf(shared, tenant)).toEqual({ entries: ["step"], auditLog: [], used: 0 });
    // The host that takes it finds it without an end.
    expect(await journal.unattended(999)).toContain(writer.id);
    await journal.close();
    expect(await journal.find(turnKey(tenant, "other"))).toMatchObject({ status: "running" });
  });

  test("tries no end again with which something before it was not stored, and says so", async () => {
    const shared = await open();
    const tenant = newTenant();
    const journal = openJournal(failingAt(shared, 2, "before", { of: "commit", code: "ECONNRESET" }));
    const writer = await beginTurn(journal, turnToBegin(tenant, "turn", { isAsync: false }));
    const [first, end] = await Promise.allSettled([
      writer.write([stepEntry], progress),
      writer.write([endedEntry("turn")], progress),
    ]);
    expect(first).toMatchObject({ reason: { message: expect.stringContaining("injected") as string } });
    expect(end).toEqual({ status: "rejected", reason: paused });
    await journal.close();
    expect((await storedOf(shared, tenant)).entries).toEqual([]);
    expect(await journal.unattended(999)).toContain(writer.id);
  });

  for (const [name, spoil] of [
    ["something before its result could not be written", ({ writer }) => writer.write([unwritable], progress)],
    ["its turn was lost", ({ database, tenant }) => takeElsewhere(database, turnKey(tenant, "turn"))],
  ] satisfies [string, (world: { writer: LedgerRunWriter; database: Database; tenant: string }) => Promise<unknown>][])
    test(`records the outcome of a call in the audit log when ${name}, once`, async () => {
      const database = await open();
      const { writer, tenant, journal, decide, record } = await start(database);
      const scope = writer.openScope(callEntry, progress);
      await decide(scope);
      await record(scope);
      const spoiling = spoil({ writer, database, tenant }).catch(() => {});
      if (name === "its turn was lost") await spoiling;
      await expect(writer.write([resultEntry], progress, [scope])).rejects.toEqual(paused);
      await spoiling;
      await journal.ledger.flush();
      expect(await storedOf(database, tenant)).toMatchObject({ entries: ["call"], auditLog: ["allowed", "outcome"] });
    });

  test("records the outcomes of calls that were on their way when an end was not tried, and not the end", async () => {
    const database = await open();
    const { writer, tenant, journal, decide, record } = await start(database);
    const [scope, end] = [writer.openScope(callEntry, progress), writer.openScope(undefined, progress)];
    await decide(scope);
    await record(scope);
    await record(end, "ended");
    await Promise.allSettled([
      writer.write([unwritable], progress),
      writer.write([endedEntry("turn")], progress, [end]),
    ]);
    await journal.ledger.flush();
    expect(await storedOf(database, tenant)).toMatchObject({ entries: ["call"], auditLog: ["allowed", "outcome"] });
  });

  test("records the outcome of a call once, when it is unknown whether it was stored with its result", async () => {
    const shared = await open();
    const { writer, tenant, journal, decide, record } = await start(failingAt(shared, 3, "after", { of: "commit" }));
    const scope = writer.openScope(callEntry, progress);
    await decide(scope);
    await record(scope);
    await expect(writer.write([resultEntry], progress, [scope])).rejects.toThrow("injected");
    await journal.ledger.flush();
    expect((await storedOf(shared, tenant)).auditLog).toEqual(["allowed", "outcome"]);
  });

  for (const when of ["before", "after"] as const)
    test(`an end that a caller was told of is tried again, whose commit failed ${when} it took effect`, async () => {
      const shared = await open();
      const tenant = newTenant();
      const journal = openJournal(failingAt(shared, 2, when, { of: "commit" }));
      const writer = await beginTurn(journal, turnToBegin(tenant, "turn", { isAsync: false }));
      await expect(writer.write([...eventEntries(), endedEntry("turn")], progress)).rejects.toThrow("injected");
      // No other host takes it meanwhile, to end it as interrupted.
      expect(await journal.unattended(999)).not.toContain(writer.id);
      await journal.close();
      expect(await journal.find(turnKey(tenant, "turn"))).toMatchObject({
        result: { status: "succeeded", output: "done" },
      });
      expect((await storedOf(shared, tenant)).entries).toEqual(["event", "ended"]);
    });

  test("a plain event of a call is stored as ever beside the journal", async () => {
    const database = await open();
    const tenant = newTenant();
    await recordEvent(openLedger(database), auditEvent("plain", { namespaceId: tenant }), {});
    expect((await storedOf(database, tenant)).auditLog).toEqual(["plain"]);
  });
});
