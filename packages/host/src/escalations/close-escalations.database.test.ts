import { sql } from "kysely";
import { describe, expect, test, vi } from "vitest";
import { databaseKinds, newTenant, openFresh, openPair } from "../../test/databases.ts";
import { askAct, askIn, bob, escalation, makeReviewers, officeTime, oona } from "../../test/office.ts";
import { access, grant } from "../../test/records.ts";
import { openStores, type StoreOptions, type Stores } from "../compose/stores.ts";
import type { EscalationRecord } from "../admin-contract/index.ts";
import { createEscalationClosing } from "./close-escalations.ts";
import type { Answer } from "./escalation-answers.ts";

const later = "2026-01-01T12:05:00.000Z";

function answerTo({ namespaceId, id, ask }: EscalationRecord, changes: Partial<Answer> = {}): Answer {
  return { namespaceId, id, ask, by: "operator-1", person: oona, at: later, ...changes };
}

/** A payment that waits under a grant, and another that differs in its amount. */
async function askUnder(
  stores: Stores,
  namespaceId: string,
  grantId: string,
  { amount = 1, ...who }: { amount?: number; credential?: string; executionId?: string; now?: string } = {},
): Promise<EscalationRecord> {
  const act = { kind: "tool", tool: "bank.pay", arguments: { to: grantId, amount } } as const;
  return askAct(stores, namespaceId, { grantId, act }, who);
}

describe.each(databaseKinds)("on %s", (kind) => {
  const open = async (options: StoreOptions = {}) => {
    const stores = openStores(await openFresh(kind), options);
    await makeReviewers(stores, ["operator-1", "operator-2"]);
    return { stores, namespaceId: newTenant() };
  };
  const at = (stores: Stores, { namespaceId, id }: EscalationRecord, now = later) =>
    stores.escalations.find(namespaceId, id, now);

  /** That it cannot be answered, and that nothing comes of trying; the act is asked about again under another id. */
  const expectClosed = async (stores: Stores, record: EscalationRecord, closed: object): Promise<void> => {
    expect(await at(stores, record)).toMatchObject({ status: "expired", closed: { at: later, ...closed } });
    const waits = { now: later, limit: 9, status: "pending" } as const;
    expect(await stores.escalations.list(record.namespaceId, waits)).not.toContainEqual(
      expect.objectContaining({ id: record.id }),
    );
    const answer = answerTo(record);
    for (const said of [
      await stores.escalations.previewApproval(answer),
      await stores.escalations.approve(answer),
      await stores.escalations.deny(answer, "No."),
    ])
      expect(said).toMatchObject({ kind: "closed", record: { closed } });
    expect(await stores.permits.find(record.namespaceId, record.ask, later)).toBeUndefined();
  };

  describe("an escalation of a credential", () => {
    const credentialsOf = async (stores: Stores, namespaceId: string) =>
      Promise.all([1, 2].map(async () => (await stores.credentials.create({ namespaceId, access })).id));

    test("is closed when that is revoked, whether it is about an act or asks for authority; another's waits", async () => {
      const { stores, namespaceId } = await open();
      const [gone = "", other = ""] = await credentialsOf(stores, namespaceId);
      const act = await askUnder(stores, namespaceId, "g1", { credential: gone });
      const wish = await askIn(stores, namespaceId, escalation(), { credential: gone });
      const others = await askUnder(stores, namespaceId, "g1", { credential: other, amount: 2 });
      const foreign = await askUnder(stores, namespaceId, "g1", { amount: 3 });
      expect(await stores.credentials.revoke(gone, later)).toBe(true);
      for (const record of [act, wish])
        await expectClosed(stores, record, { reason: "credential_revoked", credential: gone });
      for (const record of [others, foreign]) expect(await at(stores, record)).toMatchObject({ status: "pending" });
      expect((await at(stores, others))?.closed).toBeUndefined();
    });

    test("waits on when that gets another token", async () => {
      const { stores, namespaceId } = await open();
      const [id = ""] = await credentialsOf(stores, namespaceId);
      const record = await askUnder(stores, namespaceId, "g1", { credential: id });
      expect(await stores.credentials.rotate(id, new Date(later))).toBeDefined();
      expect(await at(stores, record)).toMatchObject({ status: "pending" });
      expect(await stores.escalations.approve(answerTo(record))).toMatchObject({ kind: "done" });
    });

    test("ends when that expires, and says so", async () => {
      const { stores, namespaceId } = await open();
      const { id } = await stores.credentials.create({ namespaceId, access, expiresAt: later });
      const record = await askUnder(stores, namespaceId, "g1", { credential: id });
      expect(record).toMatchObject({ status: "pending", expiresAt: later });
      await expectClosed(stores, record, { reason: "credential_expired", credential: id });
    });

    test("is not asked with one that was revoked meanwhile", async () => {
      const { stores, namespaceId } = await open();
      const [id = ""] = await credentialsOf(stores, namespaceId);
      await stores.credentials.revoke(id, later);
      await expect(askUnder(stores, namespaceId, "g1", { credential: id })).rejects.toThrow("credential_revoked");
      expect(await stores.escalations.countPending(officeTime)).toBe(0);
    });
  });

  describe("an escalation under a grant", () => {
    /** A grant, one that was derived from it through another, and one beside them. */
    const openChain = async (options: StoreOptions = {}, constraints: { expiresAt?: string } = {}) => {
      const { stores, namespaceId } = await open(options);
      const issue = (id: string, parentId?: string, own = {}) =>
        stores.grants.issue(grant(id, { namespaceId, constraints: own, ...(parentId && { parentId }) }));
      await issue("root", undefined, constraints);
      await issue("middle", "root");
      await issue("leaf", "middle");
      await issue("beside");
      return { stores, namespaceId };
    };
    const revocations: { name: string; revoke: (stores: Stores, tenant: string, id: string) => Promise<unknown> }[] = [
      { name: "is revoked", revoke: ({ grants }, tenant, id) => grants.revoke(tenant, id, later) },
      {
        name: "is revoked among others",
        async revoke({ grants }, tenant, id) {
          const { revision } = await grants.readState(tenant);
          await grants.changeAll(tenant, { issue: [], revoke: [id], at: later }, revision);
        },
      },
      {
        name: "is revoked with all that one credential made",
        revoke: ({ grants }, tenant, id) => grants.revokeAll([grant(id, { namespaceId: tenant })], later),
      },
    ];
    for (const { name, revoke } of revocations)
      test(`is closed when that ${name}, and so is one under a grant that was derived from it`, async () => {
        const { stores, namespaceId } = await openChain();
        const [own, derived, beside] = [
          await askUnder(stores, namespaceId, "root"),
          await askUnder(stores, namespaceId, "leaf"),
          await askUnder(stores, namespaceId, "beside"),
        ];
        const elsewhere = await askUnder(stores, newTenant(), "root");
        await revoke(stores, namespaceId, "root");
        for (const record of [own, derived])
          await expectClosed(stores, record, { reason: "grant_revoked", grantId: "root" });
        for (const record of [beside, elsewhere]) expect(await at(stores, record)).toMatchObject({ status: "pending" });
      });

    test("is closed when the approval that issued the grant is withdrawn", async () => {
      const { stores, namespaceId } = await open();
      const wish = await askIn(stores, namespaceId);
      await stores.escalations.approve(answerTo(wish, { at: officeTime }));
      const grantId = `approved-${wish.id}`;
      const record = await askUnder(stores, namespaceId, grantId);
      const withdrawn = await stores.escalations.withdraw(answerTo(wish, { by: "operator-2", person: bob }));
      expect(withdrawn).toMatchObject({ kind: "done" });
      await expectClosed(stores, record, { reason: "grant_revoked", grantId });
    });

    test("ends when that expires, or one that it was derived from, without anything that runs", async () => {
      const { stores, namespaceId } = await openChain({}, { expiresAt: "2026-01-01T12:05:00Z" });
      const record = await askUnder(stores, namespaceId, "leaf");
      expect(record).toMatchObject({ status: "pending", expiresAt: later });
      expect(record.closed).toBeUndefined();
      expect(await stores.escalations.countPending("2026-01-01T12:04:59.999Z")).toBe(1);
      expect(await stores.escalations.countPending(later)).toBe(0);
      await expectClosed(stores, record, { reason: "grant_expired", grantId: "root" });
    });

    test("says that it expired without an answer when that came first", async () => {
      const { stores, namespaceId } = await openChain({ escalationMs: 60_000 }, { expiresAt: "2026-01-01T13:00:00Z" });
      const record = await askUnder(stores, namespaceId, "root");
      await stores.grants.revoke(namespaceId, "root", later);
      const found = await at(stores, record);
      expect(found).toMatchObject({ status: "expired", expiresAt: "2026-01-01T12:01:00.000Z" });
      expect(found?.closed).toBeUndefined();
      expect(await stores.permits.find(namespaceId, record.ask, later)).toMatchObject({ reason: "approval_expired" });
    });

    test("is not asked under one that was revoked, or whose parent was", async () => {
      const { stores, namespaceId } = await openChain();
      await stores.grants.revoke(namespaceId, "middle", officeTime);
      await expect(askUnder(stores, namespaceId, "leaf")).rejects.toThrow("grant_revoked");
      await expect(askUnder(stores, namespaceId, "middle")).rejects.toThrow("grant_revoked");
      expect(await askUnder(stores, namespaceId, "root")).toMatchObject({ status: "pending" });
    });

    test("is asked again, under a new id, once another grant carries the act", async () => {
      const { stores, namespaceId } = await openChain();
      const record = await askUnder(stores, namespaceId, "root");
      await stores.grants.revoke(namespaceId, "root", later);
      const act = record.approval?.act;
      if (act === undefined) throw new Error("It is about no act.");
      const again = await askAct(stores, namespaceId, { act, grantId: "beside" }, { now: later });
      expect(again).toMatchObject({ status: "pending", ask: record.ask, approval: { grantId: "beside" } });
      expect(again.id > record.id).toBe(true);
    });

    test("is closed after the first of two approvals, and a second one does not count", async () => {
      const { stores, namespaceId } = await openChain({ approvals: 2 });
      const record = await askUnder(stores, namespaceId, "root");
      const first = await stores.escalations.approve(answerTo(record, { at: officeTime }));
      expect(first).toMatchObject({ kind: "done", record: { status: "pending" } });
      await stores.grants.revoke(namespaceId, "root", later);
      await expectClosed(stores, record, { reason: "grant_revoked" });
    });

    test("is told of in the transaction of the revocation: what is thrown then undoes both", async () => {
      const told: unknown[] = [];
      const { stores, namespaceId } = await openChain({
        onClosed(_transaction, { id, closed }) {
          told.push([id, closed?.reason]);
          return told.length === 1 ? Promise.reject(new Error("not now")) : Promise.resolve();
        },
      });
      const record = await askUnder(stores, namespaceId, "root");
      await expect(stores.grants.revoke(namespaceId, "root", later)).rejects.toThrow("not now");
      expect(await at(stores, record)).toMatchObject({ status: "pending" });
      expect((await stores.grants.findStored(namespaceId, "root"))?.revokedAt).toBeUndefined();
      expect(await stores.grants.revoke(namespaceId, "root", later)).toBe(true);
      expect(told).toEqual(Array.from({ length: 2 }, () => [record.id, "grant_revoked"]));
      // The expiry finds nothing to report.
      expect(await stores.escalations.expire(later, 9)).toBe(0);
    });

    test("is one of very many that are closed together", async () => {
      const { stores, namespaceId } = await openChain({ openEscalations: 1000 });
      for (let amount = 0; amount < 120; amount += 1) await askUnder(stores, namespaceId, "leaf", { amount });
      const closed: string[] = [];
      await stores.grants.revoke(namespaceId, "root", later, (_transaction, escalations) => {
        closed.push(...escalations.map(({ id }) => id));
        return Promise.resolve();
      });
      expect(new Set(closed).size).toBe(120);
      expect(await stores.escalations.countPending(officeTime)).toBe(0);
    });
  });

  test("of an approval, an escalation and a revocation at once no escalation stays open", async () => {
    const databases = kind === "postgres" ? await openPair() : [await openFresh(kind)];
    const [one, other = one] = databases.map((database) => openStores(database)) as [Stores, Stores?];
    await makeReviewers(one, ["operator-1"]);
    for (let round = 0; round < 10; round += 1) {
      const namespaceId = newTenant();
      await one.grants.issue(grant("g1", { namespaceId }));
      const record = await askUnder(one, namespaceId, "g1");
      const [said, asked] = await Promise.all([
        other.escalations.approve(answerTo(record)),
        askUnder(other, namespaceId, "g1", { amount: 2 }).catch((error: unknown) => error),
        one.grants.revoke(namespaceId, "g1", later),
      ]);
      const found = await at(one, record);
      expect([said.kind, found?.status]).toEqual(said.kind === "done" ? ["done", "approved"] : ["closed", "expired"]);
      expect(await one.escalations.list(namespaceId, { now: officeTime, limit: 9, status: "pending" })).toEqual([]);
      expect(asked instanceof Error ? asked.message : "grant_revoked").toContain("grant_revoked");
    }
  });
});

const isHeldUp = sql`select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`;
const patience = { timeout: 20_000 };

test("an escalation that is made while another host revokes its grant waits for that, and is not made", async () => {
  const [one, other] = await openPair();
  const [stores, others] = [openStores(one), openStores(other)];
  const namespaceId = newTenant();
  const carrier = grant("g1", { namespaceId });
  await stores.grants.issue(carrier);
  let asking: Promise<string> | undefined;
  await stores.grants.revokeAll([carrier], officeTime, async () => {
    let isOver = false;
    asking = askUnder(others, namespaceId, "g1").then(
      ({ id }) => `asked ${id}`,
      (error: unknown) => (error as Error).message,
    );
    void asking.then(() => (isOver = true));
    await vi.waitUntil(async () => isOver || (await isHeldUp.execute(one.db)).rows.length > 0, patience);
  });
  expect(await asking).toContain("grant_revoked");
  expect(await stores.escalations.countPending(officeTime)).toBe(0);
});

test("of two hosts that close an escalation at once one does, and tells of it", async () => {
  const [one, other] = await openPair();
  const namespaceId = newTenant();
  const stores = openStores(one);
  await stores.grants.issue(grant("g1", { namespaceId }));
  const { id } = await askUnder(stores, namespaceId, "g1");
  const told: string[] = [];
  const { ofGrants } = createEscalationClosing({
    onClosed: (_transaction, record) => Promise.resolve(told.push(record.id)),
  });
  let second: ReturnType<typeof ofGrants> | undefined;
  const first = await one.db.transaction().execute(async (transaction) => {
    const closed = await ofGrants(transaction, namespaceId, ["g1"], later);
    second = other.db.transaction().execute((same) => ofGrants(same, namespaceId, ["g1"], later));
    // It has found the escalation, which waits for all that it can see, and wants its row.
    await vi.waitUntil(async () => (await isHeldUp.execute(one.db)).rows.length > 0, patience);
    return closed;
  });
  expect(first).toMatchObject([{ id }]);
  expect(await second).toEqual([]);
  expect(told).toEqual([id]);
});
