import { describe, expect, test } from "vitest";
import { databaseKinds, newTenant, openFresh, openPair } from "../../test/databases.ts";
import { askAct, askIn, bob, makeReviewers, officeTime, oona } from "../../test/office.ts";
import { assistant, context, grant } from "../../test/records.ts";
import { openStores, type StoreOptions, type Stores } from "../compose/stores.ts";
import type { EscalationRecord } from "../admin-contract/index.ts";
import type { Answer } from "./escalation-answers.ts";

const later = "2026-01-01T12:05:00.000Z";
const withdrawal = { by: bob, credential: "operator-2", at: later };

function approvalOf({ namespaceId, id, ask }: EscalationRecord, changes: Partial<Answer> = {}): Answer {
  return { namespaceId, id, ask, by: "operator-1", person: oona, at: officeTime, ...changes };
}

/** Another person, five minutes later. */
function backOf(record: EscalationRecord, changes: Partial<Answer> = {}): Answer {
  return approvalOf(record, { by: "operator-2", person: bob, at: later, ...changes });
}

/** What an act comes to at five past. */
const said = ({ permits }: Stores, { namespaceId, ask }: EscalationRecord) => permits.find(namespaceId, ask, later);

/** A payment that a person approved. */
async function approvedAct(
  stores: Stores,
  namespaceId = newTenant(),
  who: Parameters<typeof askAct>[3] = {},
): Promise<EscalationRecord> {
  const record = await askAct(stores, namespaceId, {}, who);
  await stores.escalations.approve(approvalOf(record));
  return record;
}

/** Authority that a person approved. */
async function approvedGrant(
  stores: Stores,
  namespaceId = newTenant(),
): Promise<EscalationRecord & { grantId: string }> {
  const record = await askIn(stores, namespaceId);
  await stores.escalations.approve(approvalOf(record));
  return { ...record, grantId: `approved-${record.id}` };
}

describe.each(databaseKinds)("on %s", (kind) => {
  const open = async (options: StoreOptions = {}): Promise<Stores> => {
    const stores = openStores(await openFresh(kind), options);
    await makeReviewers(stores, ["operator-1", "operator-2", "operator-3"]);
    return stores;
  };

  describe("an approval that is withdrawn", () => {
    test("permits nothing any more, and the act is asked about again under another id", async () => {
      const stores = await open();
      const record = await approvedAct(stores);
      expect(await said(stores, record)).toMatchObject({ kind: "permitted" });
      expect(await stores.escalations.withdraw(backOf(record), "A forgery.")).toMatchObject({
        kind: "done",
        record: { id: record.id, status: "withdrawn", withdrawal: { ...withdrawal, reason: "A forgery." } },
      });
      expect(await said(stores, record)).toBeUndefined();
      expect(await stores.permits.use(record.namespaceId, record.id)).toBe(false);
      const request = record.approval?.request;
      if (request === undefined) throw new Error("It is about no act.");
      const who = context({ namespaceId: record.namespaceId, now: later });
      expect(await stores.permits.waiting(who, request)).toEqual([]);
      const again = await askAct(stores, record.namespaceId, {}, { now: later });
      expect(again.id > record.id).toBe(true);
      expect([again.status, again.ask]).toEqual(["pending", record.ask]);
    });

    test("revokes the grant that it issued", async () => {
      const stores = await open();
      const record = await approvedGrant(stores);
      expect(await stores.escalations.withdraw(backOf(record))).toMatchObject({ kind: "done", record: { withdrawal } });
      expect(await stores.grants.findStored(record.namespaceId, record.grantId)).toMatchObject({ revokedAt: later });
    });

    test("is told of in its transaction: what is thrown then undoes it", async () => {
      const told: unknown[] = [];
      const stores = await open({
        onWithdrawn(_transaction, { id, status }) {
          told.push([id, status]);
          return told.length === 1 ? Promise.reject(new Error("not now")) : Promise.resolve();
        },
      });
      const record = await approvedAct(stores);
      await expect(stores.escalations.withdraw(backOf(record))).rejects.toThrow("not now");
      expect(await said(stores, record)).toMatchObject({ kind: "permitted" });
      await stores.escalations.withdraw(backOf(record));
      expect(told).toEqual(Array.from({ length: 2 }, () => [record.id, "withdrawn"]));
    });

    for (const row of [
      { name: "that was not given yet", prepare: askAct, kind: "not-approved" },
      {
        name: "that was used",
        async prepare(stores: Stores, namespaceId: string) {
          const record = await approvedAct(stores, namespaceId);
          await stores.permits.use(namespaceId, record.id);
          return record;
        },
        kind: "used",
      },
      {
        name: "that was taken back",
        async prepare(stores: Stores, namespaceId: string) {
          const record = await approvedAct(stores, namespaceId);
          await stores.escalations.withdraw(backOf(record));
          return record;
        },
        kind: "not-approved",
      },
      {
        name: "that was a denial",
        async prepare(stores: Stores, namespaceId: string) {
          const record = await askAct(stores, namespaceId);
          await stores.escalations.deny(approvalOf(record), "No.");
          return record;
        },
        kind: "not-approved",
      },
      { name: "to another request", prepare: approvedAct, changes: { ask: "0".repeat(64) }, kind: "other-request" },
      { name: "to nothing", prepare: approvedAct, changes: { id: "q0" }, kind: "unknown" },
      { name: "by the actor", prepare: approvedAct, changes: { person: assistant }, kind: "own-request" },
      {
        name: "by a person who tried the act",
        prepare: (stores: Stores, namespaceId: string) =>
          approvedAct(stores, namespaceId, { triedBy: { actor: bob, credential: "operator-9" } }),
        kind: "takes-part",
      },
      {
        name: "by a person who asked about the act",
        prepare: (stores: Stores, namespaceId: string) =>
          approvedAct(stores, namespaceId, { askedBy: { actor: bob, credential: "operator-9" } }),
        kind: "takes-part",
      },
    ]) {
      test(`is refused when it is one ${row.name}`, async () => {
        const stores = await open();
        const record = await row.prepare(stores, newTenant());
        const before = await stores.escalations.find(record.namespaceId, record.id, later);
        for (const how of ["previewWithdrawal", "withdraw"] as const)
          expect(await stores.escalations[how](backOf(record, row.changes))).toMatchObject({ kind: row.kind });
        expect(await stores.escalations.find(record.namespaceId, record.id, later)).toEqual(before);
      });
    }

    test("is not taken back by a person whose credential was revoked while they sent that", async () => {
      const stores = await open();
      const record = await approvedAct(stores);
      await stores.credentials.revoke("operator-2", later);
      expect(await stores.escalations.withdraw(backOf(record))).toEqual({ kind: "no-reviewer" });
      expect(await said(stores, record)).toMatchObject({ kind: "permitted" });
    });
  });

  test("of a use and a withdrawal at once one counts, and the other one is told", async () => {
    const stores = await open();
    const seen = new Set<string>();
    for (let round = 0; round < 20; round += 1) {
      const record = await approvedAct(stores);
      const use = () => stores.permits.use(record.namespaceId, record.id);
      const back = () => stores.escalations.withdraw(backOf(record));
      const [isUsed, { kind: became }] =
        round % 2 === 0
          ? await Promise.all([use(), back()])
          : await Promise.all([back(), use()]).then(([one, other]) => [other, one] as const);
      expect(became).toBe(isUsed ? "used" : "done");
      seen.add(became);
    }
    expect(seen.size).toBeGreaterThan(0);
  });

  describe("where two people have to approve", () => {
    const firstYes = async (stores: Stores) => {
      const record = await askAct(stores, newTenant());
      await stores.escalations.approve(approvalOf(record));
      return record;
    };
    const secondYes = (stores: Stores, record: EscalationRecord) => stores.escalations.approve(backOf(record));
    const first = { by: oona, credential: "operator-1", at: officeTime };

    const reviewer = { actor: oona, owner: oona, purposes: ["operate"], admin: true, role: "reviewer" };
    for (const row of [
      { name: "was revoked", why: "credential_revoked", row: { revoked_at: officeTime } },
      { name: "has expired", why: "credential_expired", row: { expires_at: later } },
      {
        name: "is no reviewer's any more",
        why: "not_a_reviewer",
        row: { access: JSON.stringify({ ...reviewer, role: "auditor" }) },
      },
      {
        name: "is a reviewer's of another tenant",
        why: "not_a_reviewer",
        row: { access: JSON.stringify({ ...reviewer, tenant: "elsewhere" }) },
      },
    ]) {
      test(`the approval of a person whose credential ${row.name} does not count when the second one comes, and that is said`, async () => {
        const database = await openFresh(kind);
        const stores = openStores(database, { approvals: 2 });
        await makeReviewers(stores, ["operator-1", "operator-2", "operator-3"]);
        const record = await firstYes(stores);
        await database.db.updateTable("credentials").set(row.row).where("id", "=", "operator-1").execute();
        expect(await secondYes(stores, record)).toMatchObject({
          kind: "done",
          record: {
            status: "pending",
            approvals: [{ by: bob, credential: "operator-2" }],
            dropped: [{ ...first, why: row.why }],
          },
        });
        expect(await said(stores, record)).toMatchObject({ kind: "asked" });
        const carol = { kind: "human", userId: "carol" } as const;
        const third = await stores.escalations.approve(backOf(record, { by: "operator-3", person: carol }));
        expect(third).toMatchObject({ kind: "done", record: { status: "approved" } });
      });
    }

    for (const part of ["triedBy", "askedBy"] as const)
      test(`the approval of a person who joins the escalation afterwards does not count (${part})`, async () => {
        const stores = await open({ approvals: 2 });
        const record = await firstYes(stores);
        const joining = { [part]: { actor: oona, credential: "operator-9" } };
        expect((await askAct(stores, record.namespaceId, {}, joining)).id).toBe(record.id);
        expect(await secondYes(stores, record)).toMatchObject({
          kind: "done",
          record: { status: "pending", approvals: [{ by: bob }], dropped: [{ ...first, why: "takes_part" }] },
        });
        expect(await said(stores, record)).toMatchObject({ kind: "asked" });
        for (const credential of ["operator-1", "operator-3"])
          expect(await stores.escalations.approve(approvalOf(record, { by: credential }))).toEqual({
            kind: "takes-part",
          });
      });

    test("an approval counts whose credential got another token, and so does one by a reviewer of that tenant", async () => {
      const stores = await open({ approvals: 2 });
      const record = await firstYes(stores);
      await stores.credentials.rotate("operator-1", new Date(officeTime));
      expect(await secondYes(stores, record)).toMatchObject({ record: { status: "approved" } });
      const other = await askAct(stores, newTenant());
      await makeReviewers(stores, ["operator-8"], { access: { tenant: other.namespaceId } });
      await stores.escalations.approve(approvalOf(other, { by: "operator-8" }));
      expect(await secondYes(stores, other)).toMatchObject({ record: { status: "approved" } });
    });

    test("a person whose first approval no longer counts approves again with another credential", async () => {
      const stores = await open({ approvals: 2 });
      const record = await firstYes(stores);
      await stores.credentials.revoke("operator-1", officeTime);
      const again = await stores.escalations.approve(approvalOf(record, { by: "operator-3", at: later }));
      expect(again).toMatchObject({
        kind: "done",
        record: { status: "pending", dropped: [{ why: "credential_revoked" }] },
      });
      expect(await secondYes(stores, record)).toMatchObject({ record: { status: "approved" } });
    });

    test("an approval from before credentials were stored with it does not count", async () => {
      const database = await openFresh(kind);
      const stores = openStores(database, { approvals: 2 });
      await makeReviewers(stores, ["operator-1", "operator-2"]);
      const record = await firstYes(stores);
      const content = JSON.stringify({ ...record, approvals: [{ by: oona, at: officeTime }] });
      await database.db.updateTable("escalations").set({ content }).where("id", "=", record.id).execute();
      expect(await secondYes(stores, record)).toMatchObject({
        record: { status: "pending", dropped: [{ by: oona, why: "credential_unknown" }] },
      });
    });
  });

  describe("revoking a credential with its answers", () => {
    const ending = { by: bob, credential: "operator-2", at: later };
    const revoke = (stores: Stores, id = "operator-1") =>
      stores.credentials.revoke(id, later, (transaction) => stores.escalations.endAnswersOf(transaction, id, ending));

    test("ends unused permits, grants and first approvals that were given with it, and nothing else", async () => {
      const stores = await open({ approvals: 2 });
      const both = async (record: EscalationRecord) => {
        await stores.escalations.approve(approvalOf(record));
        await stores.escalations.approve(backOf(record, { at: officeTime }));
        return record;
      };
      const permit = await both(await askAct(stores, newTenant()));
      const used = await both(await askAct(stores, newTenant()));
      await stores.permits.use(used.namespaceId, used.id);
      const issued = await both(await askIn(stores, newTenant()));
      const waiting = await askAct(stores, newTenant());
      await stores.escalations.approve(approvalOf(waiting));
      const others = await askAct(stores, newTenant());
      await stores.escalations.approve(backOf(others));
      expect(
        (await stores.escalations.answersOf("operator-1", later)).answers
          .map((one) => [one.kind, one.record.id])
          .toSorted(),
      ).toEqual(
        [
          ["approval", waiting.id],
          ["grant", issued.id],
          ["permit", permit.id],
        ].toSorted(),
      );
      expect(await revoke(stores)).toBe(true);
      expect(await said(stores, permit)).toBeUndefined();
      expect(await stores.escalations.find(used.namespaceId, used.id, later)).toMatchObject({ status: "approved" });
      expect(await stores.grants.findStored(issued.namespaceId, `approved-${issued.id}`)).toMatchObject({
        revokedAt: later,
      });
      expect(await stores.escalations.find(waiting.namespaceId, waiting.id, later)).toMatchObject({
        status: "pending",
        approvals: [],
        dropped: [{ credential: "operator-1", why: "credential_revoked" }],
      });
      expect(await stores.escalations.find(others.namespaceId, others.id, later)).toMatchObject({
        approvals: [{ credential: "operator-2" }],
      });
      expect(await stores.escalations.answersOf("operator-1", later)).toEqual({ answers: [] });
    });

    test("without its answers leaves them, and they can be ended afterwards", async () => {
      const stores = await open();
      const record = await approvedAct(stores);
      await stores.credentials.revoke("operator-1", later);
      expect(await said(stores, record)).toMatchObject({ kind: "permitted" });
      expect(await revoke(stores)).toBe(false);
      expect(await said(stores, record)).toBeUndefined();
      expect(await stores.escalations.find(record.namespaceId, record.id, later)).toMatchObject({
        status: "withdrawn",
        withdrawal: { ...ending, reason: "The credential operator-1 was revoked, and its answers with it." },
      });
    });
  });
});

test("of a use on one host and a withdrawal on another one counts", async () => {
  const [here, there] = (await openPair()).map((database) => openStores(database)) as [Stores, Stores];
  await makeReviewers(here, ["operator-1", "operator-2"]);
  for (let round = 0; round < 20; round += 1) {
    const record = await approvedAct(here);
    await here.grants.issue(grant("grant-1", { namespaceId: record.namespaceId }));
    const [isUsed, { kind: became }] = await Promise.all([
      here.permits.use(record.namespaceId, record.id),
      there.escalations.withdraw(backOf(record)),
    ]);
    expect(became).toBe(isUsed ? "used" : "done");
  }
});
