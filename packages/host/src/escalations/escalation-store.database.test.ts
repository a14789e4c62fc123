import type { EscalationRecord } from "../admin-contract/records.ts";
import { sql } from "kysely";
import { describe, expect, test } from "vitest";
import type { AccessContext, Escalation } from "turnpike/contracts";
import { databaseKinds, newTenant, openFresh, openPair, sharedDatabase } from "../../test/databases.ts";
import { askIn, bob, officeTime, escalation, oona, wanted } from "../../test/office.ts";
import { failingAt, recordStatements } from "../../test/watched-database.ts";
import { alice, context, grant, neverAborted, scope } from "../../test/records.ts";
import type { Database } from "../storage/database.ts";
import { openStores, type Stores } from "../compose/stores.ts";
import { reviewerProblem } from "../access/index.ts";
import { findGrant, insertGrant, revokeGrant } from "../grants/index.ts";
import { createRevisions } from "../storage/index.ts";
import type { Answer } from "./escalation-answers.ts";
import { createEscalationStore, type EscalationOptions } from "./escalation-store.ts";

const lifetimeMs = 3_600_000;
const lastInstant = "2026-01-01T12:59:59.999Z";
const end = "2026-01-01T13:00:00.000Z";

const rules = {
  approvals: 1,
  permitMs: 900_000,
  maxPermitMs: 86_400_000,
  issueGrant: insertGrant,
  findGrant,
  revokeGrant,
  reviewerProblem,
};

/** What a queue says of an escalation that waits. */
const waits: unknown = { id: expect.any(String), expiresAt: expect.any(String) };

function openAll(database: Database): Stores {
  return openStores(database, { escalationMs: lifetimeMs });
}

function all({ escalations }: Stores, namespaceId: string, now = officeTime): Promise<EscalationRecord[]> {
  return escalations.list(namespaceId, { limit: 99, now });
}

function answerTo({ namespaceId, id, ask }: EscalationRecord, at = officeTime): Answer {
  return { namespaceId, id, ask, by: "operator-1", person: oona, at };
}

/** The id of the grant that an approval issues. */
function grantIdFor({ id }: EscalationRecord): string {
  return `approved-${id}`;
}

describe.each(databaseKinds)("escalations on %s", (kind) => {
  const open = sharedDatabase(kind);
  const stores = async (): Promise<Stores> => openAll(await open());

  test("an escalation is stored to its last character, and what is read cannot be changed", async () => {
    const own = await stores();
    const namespaceId = newTenant();
    const asked = escalation({ reason: "May I?\0 \ud800 🙂", requestedAt: "2026-01-01T13:00:00+01:00" });
    await own.escalations.add(context({ namespaceId, traceId: "nul\0", executionId: "turn-1" }), asked);
    const [record] = await all(own, namespaceId);
    expect(record).toMatchObject({
      reason: "May I?\0 \ud800 🙂",
      traceId: "nul\0",
      executionId: "turn-1",
      requestedAuthority: asked.requestedAuthority,
      requestedAt: "2026-01-01T12:00:00.000Z",
      expiresAt: "2026-01-01T13:00:00.000Z",
    });
    expect(Object.isFrozen(record) && Object.isFrozen(record?.requestedAuthority?.capabilities)).toBe(true);
    expect(await own.escalations.find(namespaceId, record?.id ?? "", officeTime)).toEqual(record);
  });

  test("a caller who requests the same learns of the one escalation that waits, and when it expires", async () => {
    const own = await stores();
    const namespaceId = newTenant();
    const add = (requestedAt: string) => own.escalations.add(context({ namespaceId }), escalation({ requestedAt }));
    const first = await add(officeTime);
    const [record] = await all(own, namespaceId);
    expect(first).toEqual({ id: record?.id, expiresAt: record?.expiresAt });
    expect(await add(lastInstant)).toEqual(first);
    const next = await add(end);
    expect(next).toEqual({ id: expect.any(String) as string, expiresAt: "2026-01-01T14:00:00.000Z" });
    expect(next).not.toEqual(first);
  });

  test("one from before requesters were stored is the one that waits for all who request the same", async () => {
    const own = await stores();
    const namespaceId = newTenant();
    const add = () => own.escalations.add(context({ namespaceId }), escalation());
    const first = await add();
    const { db } = await open();
    await db.updateTable("escalations").set({ requester: "" }).where("namespace_id", "=", namespaceId).execute();
    expect(await add()).toEqual(first);
  });

  test("a listener is called in the transaction of an answer: what it throws undoes it", async () => {
    const database = await open();
    const told: unknown[] = [];
    const own = createEscalationStore(database, createRevisions(database), {
      lifetimeMs,
      maxOpen: 9,
      ...rules,
      onAnswered(_transaction, { id, status }, issued) {
        told.push([id, status, issued?.id]);
        return told.length === 1 ? Promise.reject(new Error("not now")) : Promise.resolve();
      },
    });
    const namespaceId = newTenant();
    await own.add(context({ namespaceId }), escalation());
    const [record] = await own.list(namespaceId, { limit: 9, now: officeTime });
    if (record === undefined) throw new Error("Nothing waits.");
    await expect(own.approve(answerTo(record))).rejects.toThrow("not now");
    expect(await own.find(namespaceId, record.id, officeTime)).toEqual(record);
    expect(await openAll(database).grants.find(namespaceId, grantIdFor(record))).toBeUndefined();
    expect(await own.deny(answerTo(record), "No.")).toMatchObject({ kind: "done" });
    expect(told).toEqual([
      [record.id, "approved", grantIdFor(record)],
      [record.id, "denied", undefined],
    ]);
  });

  describe("a listener of escalations", () => {
    const openTold = async (changes: Partial<EscalationOptions> = {}, database?: Database) => {
      const own = database ?? (await open());
      const told: unknown[] = [];
      const store = createEscalationStore(own, createRevisions(own), {
        lifetimeMs,
        maxOpen: 9,
        ...rules,
        onOpened: (_transaction, { id, status }) => Promise.resolve(told.push(["opened", id, status])),
        onExpired: (_transaction, { id, status }) => Promise.resolve(told.push(["expired", id, status])),
        ...changes,
      });
      const namespaceId = newTenant();
      const add = (requestedAt = officeTime) =>
        store.add(context({ namespaceId }), escalation({ requestedAt })) as Promise<{ id: string }>;
      return { store, told, namespaceId, add };
    };

    test("hears of one that begins to wait, and not of those that join it", async () => {
      const { told, add } = await openTold();
      const { id } = await add();
      await add(lastInstant);
      expect(told).toEqual([["opened", id, "pending"]]);
    });

    test("hears of it in its transaction: what they throw undoes it", async () => {
      const { store, add, namespaceId } = await openTold({ onOpened: () => Promise.reject(new Error("not now")) });
      await expect(add()).rejects.toThrow("not now");
      expect(await store.list(namespaceId, { limit: 9, now: officeTime })).toEqual([]);
    });

    test("hears once of one that expired without an answer, whichever host marks it first", async () => {
      const { store, told, add } = await openTold({}, await openFresh(kind));
      const first = await add();
      expect(await store.expire(lastInstant, 9)).toBe(0);
      expect(await store.expire(end, 9)).toBe(1);
      expect(await store.expire(end, 9)).toBe(0);
      const second = await add(end);
      const third = await add("2026-01-01T14:00:00.000Z");
      expect(await store.expire("2026-01-01T14:00:00.000Z", 9)).toBe(0);
      expect(told).toEqual([
        ["opened", first.id, "pending"],
        ["expired", first.id, "expired"],
        ["opened", second.id, "pending"],
        ["expired", second.id, "expired"],
        ["opened", third.id, "pending"],
      ]);
    });

    test("hears of no expiry of what was answered", async () => {
      const { store, told, add, namespaceId } = await openTold({}, await openFresh(kind));
      await add();
      const [record] = await store.list(namespaceId, { limit: 9, now: officeTime });
      if (record === undefined) throw new Error("Nothing waits.");
      await store.deny(answerTo(record), "No.");
      expect(await store.expire(end, 9)).toBe(0);
      expect(told).toHaveLength(1);
    });

    test("hears of as many as are asked for, and of the rest the next time", async () => {
      const { store, namespaceId } = await openTold({}, await openFresh(kind));
      for (const reason of ["one", "two", "three"]) await store.add(context({ namespaceId }), inWords(reason));
      expect(await store.expire(end, 2)).toBe(2);
      expect(await store.expire(end, 2)).toBe(1);
    });
  });

  describe("an actor with as many open escalations as it may have", () => {
    const few = async () => openStores(await open(), { escalationMs: lifetimeMs, openEscalations: 2 });
    const full = async () => {
      const own = await few();
      const namespaceId = newTenant();
      const add = (reason: string, who: Partial<AccessContext> = {}, requestedAt = officeTime) =>
        own.escalations.add(context({ namespaceId, ...who }), { ...inWords(reason), requestedAt });
      expect([await add("one"), await add("two")]).toEqual([waits, waits]);
      return { own, namespaceId, add };
    };

    test("asks no more, and what waits stays", async () => {
      const { own, namespaceId, add } = await full();
      const before = await all(own, namespaceId);
      expect(await add("three")).toBe("full");
      expect(await all(own, namespaceId)).toEqual(before);
    });

    test("may still ask what it has asked already", async () => {
      const { add } = await full();
      expect(await add("one")).toEqual(waits);
    });

    test("asks again once one is answered", async () => {
      const { own, namespaceId, add } = await full();
      const [record] = await all(own, namespaceId);
      if (record !== undefined) await own.escalations.deny(answerTo(record), "No.");
      expect([await add("three"), await add("four")]).toEqual([waits, "full"]);
    });

    test("asks again once they have expired", async () => {
      const { add } = await full();
      expect(await add("three", {}, lastInstant)).toBe("full");
      expect(await add("three", {}, end)).toEqual(waits);
    });

    test("takes nothing from other actors and other tenants", async () => {
      const { add } = await full();
      expect(await add("three", { actor: bob })).toEqual(waits);
      expect(await add("three", { namespaceId: newTenant() })).toEqual(waits);
    });

    test("cannot ask more by asking at once", async () => {
      const own = await few();
      const namespaceId = newTenant();
      const asked = Array.from({ length: 12 }, (_, place) =>
        own.escalations.add(context({ namespaceId }), inWords(`escalation ${place}`)),
      );
      expect((await Promise.all(asked)).filter((said) => said !== "full")).toHaveLength(2);
      expect(await all(own, namespaceId)).toHaveLength(2);
    });
  });

  describe("the same ask", () => {
    const same: { name: string; asked?: Escalation; who?: Partial<AccessContext> }[] = [
      { name: "once more" },
      { name: "in other words", asked: escalation({ reason: "Please?" }) },
      { name: "in another turn of another trace", who: { executionId: "turn-2", traceId: "trace-2" } },
      { name: "an instant before the first one expires", asked: escalation({ requestedAt: lastInstant }) },
      {
        name: "with its keys in another order",
        asked: escalation(
          {},
          {
            constraints: { maxUses: 2 },
            capabilities: [{ scope: "exact", actions: ["read"], resource: { path: ["diary"], namespace: "files" } }],
          },
        ),
      },
    ];
    for (const { name, asked = escalation(), who } of same) {
      test(`${name} is one escalation while it waits, and it stays as it was first asked`, async () => {
        const own = await stores();
        const namespaceId = newTenant();
        const first = await askIn(own, namespaceId);
        await own.escalations.add(context({ namespaceId, ...who }), asked);
        expect(await all(own, namespaceId)).toEqual([first]);
      });
    }

    const other: { name: string; asked?: Escalation; who?: Partial<AccessContext> }[] = [
      { name: "of another actor", who: { actor: bob } },
      { name: "on another authority", who: { authority: bob } },
      { name: "for another purpose", who: { purpose: "billing" } },
      { name: "to another reviewer", asked: escalation({ reviewer: bob }) },
      {
        name: "for another place",
        asked: escalation(
          {},
          {
            capabilities: [{ resource: { namespace: "files", path: ["letters"] }, actions: ["read"], scope: "exact" }],
          },
        ),
      },
      { name: "for more uses", asked: escalation({}, { ...wanted, constraints: { maxUses: 3 } }) },
      { name: "for any number of uses", asked: escalation({}, { capabilities: wanted.capabilities }) },
      { name: "in words alone", asked: inWords("May I read the diary?") },
    ];
    for (const { name, asked = escalation(), who } of other) {
      test(`but ${name} is another escalation`, async () => {
        const own = await stores();
        const namespaceId = newTenant();
        await askIn(own, namespaceId);
        await own.escalations.add(context({ namespaceId, ...who }), asked);
        const records = await all(own, namespaceId);
        expect(new Set(records.map(({ ask }) => ask)).size).toBe(2);
      });
    }

    test("in words alone is one escalation for the same words, and another for others", async () => {
      const own = await stores();
      const namespaceId = newTenant();
      for (const words of ["What now?", "What now?", "What then?"])
        await own.escalations.add(context({ namespaceId }), inWords(words));
      expect((await all(own, namespaceId)).map(({ reason }) => reason).toSorted()).toEqual(["What now?", "What then?"]);
    });

    test("of many turns at once is one escalation", async () => {
      const own = await stores();
      const namespaceId = newTenant();
      const turns = Array.from({ length: 8 }, (_, place) => context({ namespaceId, executionId: `turn-${place}` }));
      await Promise.all(turns.map((turn) => own.escalations.add(turn, escalation())));
      expect(await all(own, namespaceId)).toHaveLength(1);
    });

    const closings: { status: string; close(own: Stores, record: EscalationRecord): Promise<unknown>; at: string }[] = [
      {
        status: "approved",
        close: ({ escalations }, record) => escalations.approve(answerTo(record)),
        at: officeTime,
      },
      {
        status: "denied",
        close: ({ escalations }, record) => escalations.deny(answerTo(record), "No."),
        at: officeTime,
      },
      { status: "expired", close: () => Promise.resolve(), at: end },
    ];
    for (const { status, close, at } of closings) {
      test(`can be asked again when it is ${status}, and the old answer stays`, async () => {
        const own = await stores();
        const namespaceId = newTenant();
        const first = await askIn(own, namespaceId);
        await close(own, first);
        await own.escalations.add(context({ namespaceId }), escalation({ requestedAt: at }));
        const records = await all(own, namespaceId, at);
        expect(records.map((record) => record.status).toSorted()).toEqual([status, "pending"].toSorted());
        expect(records.find(({ id }) => id === first.id)?.status).toBe(status);
        const second = records.find(({ id }) => id !== first.id);
        expect([second?.ask, second?.requestedAt]).toEqual([first.ask, at]);
        await own.escalations.add(context({ namespaceId }), escalation({ requestedAt: at }));
        expect(await all(own, namespaceId, at)).toHaveLength(2);
      });
    }
  });

  describe("an escalation waits", () => {
    test("until its last instant and not into the next one", async () => {
      const own = await stores();
      const namespaceId = newTenant();
      const { id } = await askIn(own, namespaceId);
      const statusAt = async (now: string) => (await own.escalations.find(namespaceId, id, now))?.status;
      expect([await statusAt(lastInstant), await statusAt(end)]).toEqual(["pending", "expired"]);
      for (const [status, now, count] of [
        ["pending", lastInstant, 1],
        ["pending", end, 0],
        ["expired", lastInstant, 0],
        ["expired", end, 1],
      ] as const) {
        expect(await own.escalations.list(namespaceId, { status, limit: 9, now })).toHaveLength(count);
      }
    });

    for (const { status, pages } of [
      { status: "pending", pages: [1, 0, 0] },
      { status: "expired", pages: [9999, 10_000, 51] },
      { status: "approved", pages: [0] },
    ] as const) {
      test(`and a list of what is ${status} continues behind each ten thousand that it read`, async () => {
        const database = await open();
        const own = openAll(database);
        const { escalations } = own;
        const namespaceId = newTenant();
        const content = JSON.stringify(await askIn(own, newTenant()));
        await sql`insert into escalations (namespace_id, id, ask, requester, status, expires_at, content)
          select ${namespaceId}, 'q' || i, 'ask-' || i, '', 'pending',
            case when i = 30050 then '2026-01-01T13:00:00.001Z' else '2026-01-01T12:00:00.000Z' end, ${content}
          from (with recursive n(i) as (select 10000 union all select i + 1 from n where i < 30050)
            select i from n) as n`.execute(database.db);
        const found: number[] = [];
        let before: string | undefined;
        do {
          const downTo = await escalations.findScanEnd(namespaceId, { status, before, now: end });
          const list = await escalations.list(namespaceId, { status, before, downTo, limit: 10_001, now: end });
          found.push(list.length);
          before = downTo;
        } while (before !== undefined);
        expect(found).toEqual(pages);
      });
    }

    for (const verb of ["approve", "deny"] as const) {
      test(`for ${verb}: in time one instant before its end, too late from then on`, async () => {
        const own = await stores();
        const namespaceId = newTenant();
        const record = await askIn(own, namespaceId);
        const answer = (at: string) =>
          verb === "deny"
            ? own.escalations.deny(answerTo(record, at), "No.")
            : own.escalations.approve(answerTo(record, at));
        expect(await answer(end)).toMatchObject({ kind: "closed", record: { status: "expired" } });
        expect(await own.grants.list(namespaceId, { limit: 9 })).toEqual([]);
        expect(await answer(lastInstant)).toMatchObject({ kind: "done" });
      });
    }

    test("and is counted with those of all tenants while it does", async () => {
      const own = openAll(await openFresh(kind));
      const [one, other] = [newTenant(), newTenant()];
      await askIn(own, one);
      const denied = await askIn(own, other);
      await own.escalations.add(context({ namespaceId: other }), inWords("What now?"));
      expect(await own.escalations.countPending(officeTime)).toBe(3);
      await own.escalations.deny(answerTo(denied), "No.");
      expect(await own.escalations.countPending(lastInstant)).toBe(2);
      expect(await own.escalations.countPending(end)).toBe(0);
    });

    test("and is counted with those of its tenant while it does", async () => {
      const own = await stores();
      const [one, other, none] = [newTenant(), newTenant(), newTenant()];
      await askIn(own, one);
      const denied = await askIn(own, other);
      await own.escalations.add(context({ namespaceId: other }), inWords("What now?"));
      const counts = async (now: string) => [...(await own.escalations.countPendingOf([one, other, none], now))];
      expect(await counts(officeTime)).toEqual([
        [one, 1],
        [other, 2],
        [none, 0],
      ]);
      await own.escalations.deny(answerTo(denied), "No.");
      expect(await counts(lastInstant)).toEqual([
        [one, 1],
        [other, 1],
        [none, 0],
      ]);
      expect(await counts(end)).toEqual([
        [one, 0],
        [other, 0],
        [none, 0],
      ]);
    });
  });

  test("a page ends with the escalation that has it exceed four megabytes", async () => {
    const own = await stores();
    const namespaceId = newTenant();
    for (const name of ["a", "b", "c", "d", "e"])
      await own.escalations.add(context({ namespaceId }), inWords(name.repeat(1_100_000)));
    const fourth = (await all(own, namespaceId))[3]?.id;
    const findEnd = (limit: number) => own.escalations.findSizeEnd(namespaceId, { limit, now: officeTime });
    expect([await findEnd(5), await findEnd(4), await findEnd(3)]).toEqual([fourth, fourth, undefined]);
  });

  describe("an answer", () => {
    test("that approves issues the grant, which the very next load has", async () => {
      const own = await stores();
      const namespaceId = newTenant();
      const mine = { ...scope, namespaceId };
      expect(await own.grants.load(mine, neverAborted)).toEqual([]);
      const record = await askIn(own, namespaceId);
      const answered = await own.escalations.approve(answerTo(record));
      const approvals = [{ by: { kind: "human", userId: "oona" }, credential: "operator-1", at: officeTime }];
      const decided = { status: "approved", decidedAt: officeTime, decidedBy: "operator-1" };
      const closed = { ...decided, approvals, grantId: grantIdFor(record) };
      const issued = answered.kind === "done" ? answered.grant : undefined;
      expect(issued).toMatchObject({ id: grantIdFor(record), constraints: { expiresAt: "2026-01-01T13:00:00.000Z" } });
      expect(answered).toEqual({ kind: "done", record: { ...record, ...closed }, grant: issued });
      expect(await own.grants.load(mine, neverAborted)).toEqual([issued]);
      expect(await all(own, namespaceId)).toEqual([{ ...record, ...closed }]);
    });

    test("of a denial stores its reason and issues nothing", async () => {
      const own = await stores();
      const namespaceId = newTenant();
      const record = await askIn(own, namespaceId);
      const answered = await own.escalations.deny(answerTo(record), "No.\0 \ud800");
      expect(answered).toMatchObject({ kind: "done", record: { status: "denied", answer: "No.\0 \ud800" } });
      expect(await own.escalations.find(namespaceId, record.id, officeTime)).toMatchObject({ answer: "No.\0 \ud800" });
      expect(await own.grants.list(namespaceId, { limit: 9 })).toEqual([]);
    });

    test("that is only previewed is what it would be, and changes nothing", async () => {
      const own = await stores();
      const namespaceId = newTenant();
      const record = await askIn(own, namespaceId);
      const given = answerTo(record);
      expect(await own.escalations.previewDenial(given)).toEqual({ kind: "done", record });
      const preview = await own.escalations.previewApproval(given, { maxUses: 1 });
      expect(preview).toMatchObject({ kind: "done", grant: { constraints: { maxUses: 1 } } });
      expect(await all(own, namespaceId)).toEqual([record]);
      expect(await own.grants.list(namespaceId, { limit: 9 })).toEqual([]);
      expect(await own.escalations.approve(given, { maxUses: 1 })).toMatchObject(preview);
    });

    const wrong: { name: string; change(given: Answer): Answer; kind: string }[] = [
      { name: "an unknown id", change: (given) => ({ ...given, id: "q0" }), kind: "unknown" },
      { name: "another tenant", change: (given) => ({ ...given, namespaceId: newTenant() }), kind: "unknown" },
      { name: "another request", change: (given) => ({ ...given, ask: "0".repeat(64) }), kind: "other-request" },
    ];
    for (const { name, change, kind: said } of wrong) {
      test(`with ${name} is ${said}, and changes nothing`, async () => {
        const own = await stores();
        const namespaceId = newTenant();
        const record = await askIn(own, namespaceId);
        const given = change(answerTo(record));
        expect(await own.escalations.deny(given, "No.")).toEqual({ kind: said });
        expect(await own.escalations.approve(given)).toEqual({ kind: said });
        expect(await all(own, namespaceId)).toEqual([record]);
        expect(await own.grants.list(namespaceId, { limit: 9 })).toEqual([]);
      });
    }

    test("whose grant cannot be issued leaves the escalation open", async () => {
      const own = await stores();
      const namespaceId = newTenant();
      const record = await askIn(own, namespaceId);
      await own.grants.issue(grant(grantIdFor(record), { namespaceId }));
      await expect(own.escalations.approve(answerTo(record))).rejects.toThrow(/unique/i);
      const unfit = escalation({}, { ...wanted, constraints: { maxUses: 0 } });
      const other = await askIn(own, namespaceId, { ...unfit, requestedAt: "2026-01-01T12:00:01.000Z" });
      await expect(own.escalations.approve(answerTo(other))).rejects.toThrow(/contract/i);
      expect((await own.escalations.deny(answerTo(other), "No.")).kind).toBe("done");
      expect(await own.escalations.find(namespaceId, record.id, officeTime)).toEqual(record);
      expect(await own.escalations.deny(answerTo(record), "No.")).toMatchObject({ kind: "done" });
    });
  });

  test("tenants never meet, whatever they are called", async () => {
    const own = await stores();
    const [one, other] = ["same\0", "same\ud800"];
    const record = await askIn(own, one);
    expect([await all(own, other), await all(own, "same")]).toEqual([[], []]);
    for (const namespaceId of [other, "same", "same\ufffd"]) {
      expect(await own.escalations.find(namespaceId, record.id, officeTime)).toBeUndefined();
      const given = { ...answerTo(record), namespaceId };
      expect(await own.escalations.deny(given, "No.")).toEqual({ kind: "unknown" });
    }
    expect(await askIn(own, other)).toMatchObject({ namespaceId: other, status: "pending" });
    expect(await all(own, one)).toEqual([record]);
  });

  describe("when a statement fails", () => {
    interface Operation {
      name: string;
      run(own: Stores, record: EscalationRecord): Promise<unknown>;
    }
    const operations: Operation[] = [
      {
        name: "add",
        run: ({ escalations }, { namespaceId }) => escalations.add(context({ namespaceId }), inWords("New?")),
      },
      {
        name: "add after an expiry",
        run: ({ escalations }, { namespaceId }) =>
          escalations.add(context({ namespaceId }), escalation({ requestedAt: end })),
      },
      { name: "find", run: ({ escalations }, { namespaceId, id }) => escalations.find(namespaceId, id, officeTime) },
      {
        name: "list",
        run: ({ escalations }, { namespaceId }) => escalations.list(namespaceId, { limit: 9, now: end }),
      },
      { name: "countPending", run: ({ escalations }) => escalations.countPending(officeTime) },
      {
        name: "approve",
        run: ({ escalations }, record) => escalations.approve(answerTo(record)),
      },
      { name: "deny", run: ({ escalations }, record) => escalations.deny(answerTo(record), "No.") },
    ];
    const isRefused = (operation: Promise<unknown>): Promise<boolean> =>
      operation.then(
        () => false,
        () => true,
      );
    /** The escalation and the grant together: one without the other is half an answer. */
    const stateOf = async ({ db }: Database, namespaceId: string): Promise<string> => {
      const rows = [];
      for (const table of ["escalations", "grants"] as const)
        rows.push(
          await db.selectFrom(table).selectAll().where("namespace_id", "=", namespaceId).orderBy("id").execute(),
        );
      return JSON.stringify(rows);
    };
    const seed = async (database: Database): Promise<EscalationRecord> => askIn(openAll(database), newTenant());
    const statementsOf = async ({ run }: Operation): Promise<string[]> => {
      const { database, statements } = recordStatements(await open());
      await run(openAll(database), await seed(await open()));
      return statements;
    };

    for (const operation of operations) {
      test(`${operation.name} rejects, nothing is half done, and the next try succeeds`, async () => {
        const database = await open();
        const problems: string[] = [];
        const statements = await statementsOf(operation);
        for (const [place, statement] of statements.entries()) {
          const record = await seed(database);
          const before = await stateOf(database, record.namespaceId);
          const own = openAll(failingAt(database, place + 1, "before"));
          if (!(await isRefused(operation.run(own, record)))) problems.push(`acknowledged without ${statement}`);
          if ((await stateOf(database, record.namespaceId)) !== before) problems.push(`half done without ${statement}`);
          if (await isRefused(operation.run(own, record))) problems.push(`stuck after ${statement}`);
        }
        expect(statements.length).toBeGreaterThan(0);
        expect(problems).toEqual([]);
      });

      test(`${operation.name} rejects when an answer is lost, and is done as a whole or not at all`, async () => {
        const database = await open();
        const problems: string[] = [];
        for (const [place, statement] of (await statementsOf(operation)).entries()) {
          if (statement === "begin") continue;
          const record = await seed(database);
          const before = await stateOf(database, record.namespaceId);
          const own = openAll(failingAt(database, place + 1, "after"));
          if (!(await isRefused(operation.run(own, record)))) problems.push(`acknowledged without ${statement}`);
          const isUndone = (await stateOf(database, record.namespaceId)) === before;
          if (statement !== "commit" && !isUndone) problems.push(`half done by ${statement}`);
          const fresh = openAll(database);
          const issued = await fresh.grants.list(record.namespaceId, { limit: 9 });
          const stored = await fresh.escalations.find(record.namespaceId, record.id, officeTime);
          if (issued.length > 0 !== (stored?.status === "approved")) problems.push(`half an answer by ${statement}`);
        }
        expect(problems).toEqual([]);
      });
    }

    test("everything rejects when the database is gone", async () => {
      const database = await openFresh(kind);
      const [own, record] = [openAll(database), await seed(database)];
      await database.close();
      const refused = await Promise.all(operations.map(({ run }) => isRefused(run(own, record))));
      expect(operations.filter((_, place) => !refused[place]).map(({ name }) => name)).toEqual([]);
    });
  });
});

/** An escalation that requests no authority. */
function inWords(reason: string): Escalation {
  return { status: "pending", reason, requestedAt: officeTime, reviewer: alice };
}

describe("escalations on a PostgreSQL that two hosts share", () => {
  test("an actor cannot ask more by asking both at once", async () => {
    const hosts = (await openPair()).map((database) => openStores(database, { openEscalations: 3 }));
    for (let round = 0; round < 5; round += 1) {
      const namespaceId = newTenant();
      const asked = Array.from({ length: 16 }, (_, place) =>
        hosts[place % 2]?.escalations.add(context({ namespaceId }), inWords(`escalation ${place}`)),
      );
      expect((await Promise.all(asked)).filter((said) => said !== "full")).toHaveLength(3);
      expect(await hosts[0]?.escalations.list(namespaceId, { limit: 99, now: officeTime })).toHaveLength(3);
    }
  });

  test("the same ask through both at once is one escalation, also when the one before has just expired", async () => {
    const hosts = (await openPair()).map(openAll);
    for (let round = 0; round < 10; round += 1) {
      const namespaceId = newTenant();
      await Promise.all(hosts.map(({ escalations }) => escalations.add(context({ namespaceId }), escalation())));
      const [first] = hosts;
      expect(await first?.escalations.list(namespaceId, { limit: 9, now: officeTime })).toHaveLength(1);
      const again = escalation({ requestedAt: end });
      await Promise.all(hosts.map(({ escalations }) => escalations.add(context({ namespaceId }), again)));
      const records = await first?.escalations.list(namespaceId, { limit: 9, now: end });
      expect(records?.map(({ status }) => status)).toEqual(["pending", "expired"]);
    }
  });

  test("of an approval and a denial at once one counts, and a grant is there if and only if it was the approval", async () => {
    const [here, there] = (await openPair()).map(openAll);
    if (!here || !there) throw new Error("A host is missing.");
    for (let round = 0; round < 10; round += 1) {
      const namespaceId = newTenant();
      const record = await askIn(here, namespaceId);
      const [approved, denied] = await Promise.all([
        here.escalations.approve(answerTo(record)),
        there.escalations.deny(answerTo(record), "No."),
      ]);
      expect([approved.kind, denied.kind].toSorted()).toEqual(["closed", "done"]);
      const issued = await there.grants.list(namespaceId, { limit: 9 });
      expect(issued).toHaveLength(approved.kind === "done" ? 1 : 0);
    }
  });
});

test("of two hosts that search for what expired one reports each escalation", async () => {
  const hosts = await openPair();
  const told: string[] = [];
  const stores = hosts.map((database) =>
    createEscalationStore(database, createRevisions(database), {
      lifetimeMs,
      maxOpen: 99,
      ...rules,
      onExpired: (_transaction, { id }) => Promise.resolve(told.push(id)),
    }),
  );
  const namespaceId = newTenant();
  for (let place = 0; place < 20; place += 1) await stores[0]?.add(context({ namespaceId }), inWords(`ask ${place}`));
  await Promise.all([...stores, ...stores].map((store) => store.expire(end, 99)));
  expect(new Set(told).size).toBe(20);
  expect(told).toHaveLength(20);
});
