import { describe, expect, test } from "vitest";
import type { AuditEvent, ToolCall } from "turnpike/contracts";
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
import type { JournalPen } from "./pen.ts";
import { entriesOfRow } from "./turn-rows.ts";

const call: ToolCall = { id: "call-1", tool: "bank.pay", arguments: {}, requestedAt: now, traceId: "trace-1" };
const callEntry: JournalEntry = { kind: "call", call, step: 0, repeatable: false };
const done = { status: "succeeded", callId: "call-1", tool: "bank.pay", completedAt: now, output: 1 } as const;
const resultEntry: JournalEntry = { kind: "result", callId: "call-1", result: done };
const stepEntry: JournalEntry = { kind: "step", name: "decision-0", value: "{}" };
/** No column takes its sequence. */
const unwritable = { kind: "event", event: { sequence: {} } } as never;
const paused = expect.any(TurnPause) as Error;

async function keptOf({ db }: Database, tenant: string) {
  const entries = db
    .selectFrom("turn_entries")
    .innerJoin("turns", "turns.id", "turn_entries.turn")
    .select(["turn_entries.kind", "turn_entries.content"])
    .where("namespace_id", "=", tenant)
    .orderBy("position");
  const trail = db.selectFrom("audit").select("id").where("namespace_id", "=", tenant).orderBy("sequence");
  const used = db.selectFrom("uses").select("used").where("namespace_id", "=", tenant);
  return {
    entries: (await entries.execute()).flatMap(entriesOfRow).map((entry) => entry.kind),
    trail: (await trail.execute()).map(({ id }) => id),
    used: (await used.executeTakeFirst())?.used ?? 0,
  };
}

describe.each(databaseKinds)("the pen of a run on %s", (kind) => {
  const open = sharedDatabase(kind);
  /** A turn that runs, and the kernel's side of its calls. */
  const start = async (database: Database) => {
    const tenant = newTenant();
    const journal = openJournal(database);
    const pen = await beginTurn(journal, turnToBegin(tenant, "turn"));
    const eventOf = (id: string, outcome: AuditEvent["outcome"]) => auditEvent(id, { namespaceId: tenant, outcome });
    const uses = [{ namespaceId: tenant, grantId: "g", maxUses: 5 }];
    return {
      tenant,
      journal,
      pen,
      decide: (claim: unknown) =>
        createDecisionLedger(journal.ledger).decide(
          [{ uses, event: eventOf("allowed", "allowed") }, { event: eventOf("exhausted", "denied") }],
          { claim },
        ),
      refuse: (claim: unknown) =>
        createDecisionLedger(journal.ledger).decide([{ event: eventOf("refused", "denied") }], { claim }),
      record: (claim: unknown, id = "outcome") => recordEvent(journal.ledger, eventOf(id, "succeeded"), { claim }),
    };
  };

  test("keeps a call with its decision and its use, and its result with its outcome: two commits", async () => {
    const { database, statements } = recordStatements(await open());
    const { pen, tenant, decide, record } = await start(database);
    const claim = pen.claimFor([callEntry], progress);
    statements.length = 0;
    expect(await decide(claim)).toBe(0);
    expect(await keptOf(database, tenant)).toEqual({ entries: ["call"], trail: ["allowed"], used: 1 });
    await record(claim);
    expect(await keptOf(database, tenant)).toMatchObject({ entries: ["call"], trail: ["allowed"] });
    await pen.write([resultEntry, ...eventEntries()], progress, claim);
    expect(statements.filter((text) => text === "commit")).toHaveLength(2);
    const entries = ["call", "result", "event"];
    expect(await keptOf(database, tenant)).toEqual({ entries, trail: ["allowed", "outcome"], used: 1 });
  });

  test("keeps a call that is refused, its decision and its result in one commit", async () => {
    const { database, statements } = recordStatements(await open());
    const { pen, tenant, refuse, record } = await start(database);
    const claim = pen.claimFor([callEntry], progress);
    statements.length = 0;
    expect(await refuse(claim)).toBe(0);
    await record(claim);
    await pen.write([resultEntry], progress, [claim]);
    expect(statements.filter((text) => text === "commit")).toHaveLength(1);
    expect(await keptOf(database, tenant)).toMatchObject({
      entries: ["call", "result"],
      trail: ["refused", "outcome"],
    });
  });

  test("keeps no entry with a decision that came to a refusal, but with what follows it", async () => {
    const database = await open();
    const { pen, tenant, decide } = await start(database);
    for (let use = 0; use < 5; use += 1) await decide(undefined);
    const claim = pen.claimFor({ kind: "admitting" }, progress);
    expect(await decide(claim)).toBe(1);
    expect(await keptOf(database, tenant)).toMatchObject({ entries: [], used: 5 });
    await pen.write(eventEntries(), progress, [claim]);
    expect((await keptOf(database, tenant)).entries[0]).toBe("admitting");
  });

  test("keeps the calls of a step in one write, and the entry of one that kept nothing before", async () => {
    const database = await open();
    const { pen, tenant, decide, record } = await start(database);
    const [one, other] = [pen.claimFor(callEntry, progress), pen.claimFor(undefined, progress)];
    await record(one, "one");
    expect(await decide(other)).toBe(0);
    await record(other, "other");
    await pen.write([resultEntry], progress, [one, other]);
    const trail = ["allowed", "one", "other"];
    expect(await keptOf(database, tenant)).toEqual({ entries: ["call", "result"], trail, used: 1 });
  });

  test("lets no call of a run that lost its turn happen: no decision, no use, and a pause", async () => {
    const database = await open();
    const { pen, tenant, decide } = await start(database);
    await takeElsewhere(database, turnKey(tenant, "turn"));
    const claim = pen.claimFor([callEntry], progress);
    await expect(decide(claim)).rejects.toEqual(paused);
    expect(pen.stop.reason).toEqual(paused);
    expect(await keptOf(database, tenant)).toEqual({ entries: [], trail: [], used: 0 });
    await expect(pen.write([resultEntry], progress, claim)).rejects.toEqual(paused);
    expect(await keptOf(database, tenant)).toEqual({ entries: [], trail: [], used: 0 });
  });

  test("lets no further decision of a call be made when its turn was lost meanwhile", async () => {
    const database = await open();
    const { pen, tenant, decide } = await start(database);
    const claim = pen.claimFor([callEntry], progress);
    await decide(claim);
    await takeElsewhere(database, turnKey(tenant, "turn"));
    await expect(decide(claim)).rejects.toEqual(paused);
    expect(await keptOf(database, tenant)).toMatchObject({ trail: ["allowed"], used: 1 });
  });

  test("keeps what a call came to on the trail when its turn was lost meanwhile", async () => {
    const database = await open();
    const { pen, tenant, journal, decide, record } = await start(database);
    const claim = pen.claimFor([callEntry], progress);
    await decide(claim);
    await takeElsewhere(database, turnKey(tenant, "turn"));
    await record(claim);
    await expect(pen.write([...eventEntries()], progress)).rejects.toEqual(paused);
    await journal.ledger.flush();
    expect(await keptOf(database, tenant)).toMatchObject({ entries: ["call"], trail: ["allowed", "outcome"] });
  });

  test("keeps what a call came to with the end of its turn, and after it", async () => {
    const database = await open();
    const { pen, tenant, decide, record } = await start(database);
    const [first, second] = [pen.claimFor([callEntry], progress), pen.claimFor([callEntry], progress)];
    await decide(first);
    await decide(second);
    await record(first, "before");
    await pen.write([endedEntry("turn")], progress);
    expect((await keptOf(database, tenant)).trail).toEqual(["allowed", "allowed", "before"]);
    await record(second, "after");
    expect((await keptOf(database, tenant)).trail).toEqual(["allowed", "allowed", "before", "after"]);
  });

  test("writes nothing behind the end of its turn, which is still being kept", async () => {
    const database = await open();
    const { pen, tenant } = await start(database);
    const ending = pen.write([endedEntry("turn")], progress);
    await expect(pen.write(eventEntries(), progress)).rejects.toEqual(paused);
    await ending;
    expect((await keptOf(database, tenant)).entries).toEqual(["ended"]);
  });

  test("commits nothing when its run leaves the turn and has nothing to record", async () => {
    const { database, statements } = recordStatements(await open());
    const { pen, journal, record } = await start(database);
    const claim = pen.claimFor([callEntry], progress);
    statements.length = 0;
    await journal.leave(pen);
    await journal.ledger.flush();
    expect(statements).not.toContain("commit");
    // Whatever comes later is kept by itself.
    await record(claim);
    expect(statements.filter((text) => text === "commit")).toHaveLength(1);
  });

  test("writes nothing any more after a write that failed, and its turn is left for somebody to take", async () => {
    const shared = await open();
    const { pen, tenant, journal } = await start(failingAt(shared, 2, "before", { of: "commit" }));
    await expect(pen.write(eventEntries(), progress)).rejects.toThrow("injected");
    expect(pen.stop.reason).toEqual(paused);
    await expect(pen.write(eventEntries(1, 2), progress)).rejects.toEqual(paused);
    expect((await keptOf(shared, tenant)).entries).toEqual([]);
    expect(await journal.unattended(999)).toContain(pen.id);
    const next = await journal.take(pen.id);
    await next?.write(eventEntries(), progress);
    expect((await keptOf(shared, tenant)).entries).toEqual(["event"]);
  });

  test("keeps what it is asked for in that order, whatever of it is on its way", async () => {
    const database = await open();
    const { pen, tenant, decide } = await start(database);
    const [first, second] = [
      pen.claimFor([callEntry], progress),
      pen.claimFor({ kind: "asked", callId: "2" }, progress),
    ];
    const all = [
      decide(first),
      pen.write([resultEntry], progress, first),
      pen.write([stepEntry], progress),
      decide(second),
      pen.write(eventEntries(), progress, second),
      pen.write([stepEntry], progress),
    ];
    await Promise.all(all);
    const entries = ["call", "result", "step", "asked", "event", "step"];
    expect(await keptOf(database, tenant)).toMatchObject({ entries, used: 2 });
  });

  test("keeps nothing behind what it could not write: no decision, no use, and no end that would be tried again", async () => {
    const shared = await open();
    const { tenant, journal, decide } = await start(shared);
    const pen = await beginTurn(journal, turnToBegin(tenant, "other", { isAsync: false }));
    const claim = pen.claimFor([callEntry], progress);
    const settled = await Promise.allSettled([
      pen.write([stepEntry], progress),
      pen.write([unwritable], progress),
      decide(claim),
      pen.write([endedEntry("other")], progress),
    ]);
    expect(settled.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "rejected", "rejected"]);
    // Its caller must not be told of it.
    expect(settled[3]).toEqual({ status: "rejected", reason: paused });
    expect(await keptOf(shared, tenant)).toEqual({ entries: ["step"], trail: [], used: 0 });
    // Whoever takes it finds it without an end.
    expect(await journal.unattended(999)).toContain(pen.id);
    await journal.close();
    expect(await journal.find(turnKey(tenant, "other"))).toMatchObject({ status: "running" });
  });

  test("tries no end again with which something before it was not kept, and says so", async () => {
    const shared = await open();
    const tenant = newTenant();
    const journal = openJournal(failingAt(shared, 2, "before", { of: "commit", code: "ECONNRESET" }));
    const pen = await beginTurn(journal, turnToBegin(tenant, "turn", { isAsync: false }));
    const [first, end] = await Promise.allSettled([
      pen.write([stepEntry], progress),
      pen.write([endedEntry("turn")], progress),
    ]);
    expect(first).toMatchObject({ reason: { message: expect.stringContaining("injected") as string } });
    expect(end).toEqual({ status: "rejected", reason: paused });
    await journal.close();
    expect((await keptOf(shared, tenant)).entries).toEqual([]);
    expect(await journal.unattended(999)).toContain(pen.id);
  });

  for (const [name, spoil] of [
    ["something before its result could not be written", ({ pen }) => pen.write([unwritable], progress)],
    ["its turn was lost", ({ database, tenant }) => takeElsewhere(database, turnKey(tenant, "turn"))],
  ] satisfies [string, (world: { pen: JournalPen; database: Database; tenant: string }) => Promise<unknown>][])
    test(`keeps what a call came to on the trail when ${name}, once`, async () => {
      const database = await open();
      const { pen, tenant, journal, decide, record } = await start(database);
      const claim = pen.claimFor([callEntry], progress);
      await decide(claim);
      await record(claim);
      const spoiling = spoil({ pen, database, tenant }).catch(() => {});
      if (name === "its turn was lost") await spoiling;
      await expect(pen.write([resultEntry], progress, claim)).rejects.toEqual(paused);
      await spoiling;
      await journal.ledger.flush();
      expect(await keptOf(database, tenant)).toMatchObject({ entries: ["call"], trail: ["allowed", "outcome"] });
    });

  test("keeps what calls came to that were on their way when an end was not tried, and not the end", async () => {
    const database = await open();
    const { pen, tenant, journal, decide, record } = await start(database);
    const [claim, end] = [pen.claimFor([callEntry], progress), pen.claimFor(undefined, progress)];
    await decide(claim);
    await record(claim);
    await record(end, "ended");
    await Promise.allSettled([pen.write([unwritable], progress), pen.write([endedEntry("turn")], progress, end)]);
    await journal.ledger.flush();
    expect(await keptOf(database, tenant)).toMatchObject({ entries: ["call"], trail: ["allowed", "outcome"] });
  });

  test("keeps what a call came to once, when nobody knows whether it was kept with its result", async () => {
    const shared = await open();
    const { pen, tenant, journal, decide, record } = await start(failingAt(shared, 3, "after", { of: "commit" }));
    const claim = pen.claimFor([callEntry], progress);
    await decide(claim);
    await record(claim);
    await expect(pen.write([resultEntry], progress, claim)).rejects.toThrow("injected");
    await journal.ledger.flush();
    expect((await keptOf(shared, tenant)).trail).toEqual(["allowed", "outcome"]);
  });

  for (const when of ["before", "after"] as const)
    test(`an end that a caller was told of is tried again, whose commit failed ${when} it took effect`, async () => {
      const shared = await open();
      const tenant = newTenant();
      const journal = openJournal(failingAt(shared, 2, when, { of: "commit" }));
      const pen = await beginTurn(journal, turnToBegin(tenant, "turn", { isAsync: false }));
      await expect(pen.write([...eventEntries(), endedEntry("turn")], progress)).rejects.toThrow("injected");
      // Nobody takes it meanwhile, to end it as interrupted.
      expect(await journal.unattended(999)).not.toContain(pen.id);
      await journal.close();
      expect(await journal.find(turnKey(tenant, "turn"))).toMatchObject({
        result: { status: "succeeded", output: "done" },
      });
      expect((await keptOf(shared, tenant)).entries).toEqual(["event", "ended"]);
    });

  test("a plain event of a call is kept as ever beside the journal", async () => {
    const database = await open();
    const tenant = newTenant();
    await recordEvent(openLedger(database), auditEvent("plain", { namespaceId: tenant }), {});
    expect((await keptOf(database, tenant)).trail).toEqual(["plain"]);
  });
});
