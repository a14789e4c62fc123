import { describe, expect, test } from "vitest";
import type { Grant, TurnEvent } from "turnpike/contracts";
import { databaseKinds, newTenant, openPair, sharedDatabase } from "../../../test/databases.ts";
import {
  askAct,
  askIn,
  changesIn,
  officeTime,
  oona,
  openOffice,
  readPages,
  stateOf,
  type Office,
  type OfficeOptions,
  type Refusal,
} from "../../../test/office.ts";
import { alice, assistant, grant } from "../../../test/records.ts";
import { beginTurn, eventEntries, progress, turnToBegin } from "../../../test/turn-journals.ts";
import type { EscalationRecord } from "../../admin-contract/index.ts";

interface Shown {
  escalation: EscalationRecord;
  grant?: Grant;
  turn?: { state: { status: string }; events: TurnEvent[] };
}

const path = "/admin/v1/escalations";
const carol = { kind: "human", userId: "carol" } as const;

function about({ namespaceId, id, ask }: EscalationRecord) {
  return { namespaceId, id, ask };
}

describe.each(databaseKinds)("operators and acts that need an approval on %s", (kind) => {
  const open = sharedDatabase(kind);
  const office = async (options: OfficeOptions = {}): Promise<Office> => openOffice(await open(), options);

  test("an approval makes a permit and no grant, and the audit log names the hash and nothing of the act", async () => {
    const adminApi = await office();
    const namespaceId = newTenant();
    const act = { kind: "tool", tool: "bank.pay", arguments: { to: "a secret account" } } as const;
    const record = await askAct(adminApi.stores, namespaceId, { act });
    const { status, body } = await adminApi.post(`${path}/approve`, about(record));
    expect([status, body]).toEqual([
      200,
      {
        escalation: {
          ...record,
          status: "approved",
          approvals: [{ by: oona, credential: adminApi.operatorId, at: officeTime }],
          decidedAt: officeTime,
          decidedBy: adminApi.operatorId,
          permitExpiresAt: "2026-01-01T12:15:00.000Z",
        },
      },
    ]);
    expect(await adminApi.stores.grants.list(namespaceId, { limit: 9 })).toEqual([]);
    const events = await changesIn(adminApi, namespaceId);
    const said = { action: "escalation.approve", actor: oona, receiver: assistant };
    const metadata = { escalation: record.id, requestHash: record.ask, operator: adminApi.operatorId };
    expect(events).toMatchObject([
      { ...said, outcome: "allowed", metadata },
      { ...said, outcome: "succeeded", metadata },
    ]);
    expect(JSON.stringify(events)).not.toContain("secret");
    expect(adminApi.wakes()).toBe(1);
  });

  test("a denial is in the audit log with the hash, and makes nothing", async () => {
    const adminApi = await office();
    const record = await askAct(adminApi.stores, newTenant());
    const sent = { ...about(record), reason: "Not to him." };
    const { status, body } = await adminApi.post<Shown>(`${path}/deny`, sent);
    expect([status, body.escalation.status]).toEqual([200, "denied"]);
    const events = await changesIn(adminApi, record.namespaceId);
    expect(events.at(-1)).toMatchObject({ action: "escalation.deny", metadata: { requestHash: record.ask } });
    const state = await adminApi.stores.permits.find(record.namespaceId, record.ask, officeTime);
    expect(state).toEqual({ kind: "refused", reason: "approval_denied" });
  });

  test("an approval of an act that would last for longer than a day is refused, and one of a day is not", async () => {
    const adminApi = await office();
    const record = await askAct(adminApi.stores, newTenant());
    for (const expiresAt of ["9999-12-31T23:59:59Z", "2026-01-02T12:00:00.001Z"]) {
      const { status, body } = await adminApi.post<Refusal>(`${path}/approve`, { ...about(record), expiresAt });
      expect([status, body.error.code]).toEqual([400, "invalid_request"]);
      expect(body.error.message).toContain("1440 minutes at most");
    }
    const day = { ...about(record), expiresAt: "2026-01-02T12:00:00Z" };
    expect((await adminApi.post(`${path}/approve`, day)).status).toBe(200);
  });

  test("several uses of one act cannot be approved, and the answer says so", async () => {
    const adminApi = await office();
    const record = await askAct(adminApi.stores, newTenant());
    const { status, body } = await adminApi.post<Refusal>(`${path}/approve`, { ...about(record), maxUses: 2 });
    expect([status, body.error.code]).toEqual([400, "invalid_request"]);
    expect(body.error.message).toContain("one use");
    expect(await changesIn(adminApi, record.namespaceId)).toEqual([]);
  });

  for (const name of ["act", "request for authority"] as const) {
    test(`no operator approves their own ${name}`, async () => {
      const adminApi = await office();
      const namespaceId = newTenant();
      const who = { actor: carol };
      const record =
        name === "act"
          ? await askAct(adminApi.stores, namespaceId, {}, who)
          : await askIn(adminApi.stores, namespaceId, undefined, who);
      const before = await stateOf(await open(), namespaceId);
      const post = await adminApi.postAs(carol);
      const { status, body } = await post<Refusal>(`${path}/approve`, about(record));
      expect([status, body.error.code]).toEqual([403, "permission_denied"]);
      expect(await stateOf(await open(), namespaceId)).toEqual(before);
      expect((await post(`${path}/deny`, { ...about(record), reason: "I changed my mind." })).status).toBe(200);
    });

    test(`with the rule of two people, the first approval of an ${name} is stored and reported, and a second person's counts`, async () => {
      const adminApi = await office({ approvals: 2 });
      const namespaceId = newTenant();
      const record = await (name === "act" ? askAct : askIn)(adminApi.stores, namespaceId);
      const first = await adminApi.post<Shown>(`${path}/approve`, about(record));
      const approvals = [{ by: oona, credential: adminApi.operatorId, at: officeTime }];
      expect([first.status, first.body]).toEqual([200, { escalation: { ...record, approvals } }]);
      const [listed] = await adminApi.stores.escalations.list(namespaceId, { limit: 9, now: officeTime });
      expect(listed).toEqual(first.body.escalation);
      expect(await adminApi.stores.grants.list(namespaceId, { limit: 9 })).toEqual([]);
      expect(adminApi.wakes()).toBe(0);
      const said = { escalation: record.id, requestHash: record.ask, approvals: 1 };
      expect((await changesIn(adminApi, namespaceId)).at(-1)).toMatchObject({ outcome: "succeeded", metadata: said });

      for (const post of [adminApi.post, await adminApi.postAs(oona)]) {
        const again = await post<Refusal>(`${path}/approve`, about(record));
        expect([again.status, again.body.error.code]).toEqual([409, "conflict"]);
        expect(again.body.error.message).toContain("second person");
      }
      const second = await (await adminApi.postAs(carol))<Shown>(`${path}/approve`, about(record));
      expect(second.body.escalation).toMatchObject({ status: "approved", approvals: [{ by: oona }, { by: carol }] });
      expect(second.body.grant === undefined).toBe(name === "act");
      const late = await (await adminApi.postAs(alice))<Refusal>(`${path}/approve`, about(record));
      expect(late.status).toBe(409);
      expect(late.body.error.message).toContain("human:oona and human:carol");
    });
  }

  test("with the rule of two people, the approval of a revoked credential is dropped, and answer and audit log say so", async () => {
    const adminApi = await office({ approvals: 2 });
    const record = await askAct(adminApi.stores, newTenant());
    const first = await (await adminApi.postAs(carol))<Shown>(`${path}/approve`, about(record));
    const gone = first.body.escalation.approvals?.[0]?.credential ?? "";
    await adminApi.post("/admin/v1/credentials/revoke", { id: gone });
    const second = await adminApi.post<Shown>(`${path}/approve`, about(record));
    expect(second.body.escalation).toMatchObject({
      status: "pending",
      approvals: [{ by: oona }],
      dropped: [{ by: carol, credential: gone, why: "credential_revoked" }],
    });
    expect((await changesIn(adminApi, record.namespaceId)).at(-1)).toMatchObject({
      outcome: "succeeded",
      metadata: { approvals: 1, dropped: [{ by: "human:carol", credential: gone, why: "credential_revoked" }] },
    });
  });

  describe("an approval is withdrawn", () => {
    test("by any reviewer: the audit log says so with the hash, and the act is asked about again", async () => {
      const adminApi = await office();
      const record = await askAct(adminApi.stores, newTenant());
      await adminApi.post(`${path}/approve`, about(record));
      const post = await adminApi.postAs(carol);
      const { status, body } = await post<Shown>(`${path}/withdraw`, { ...about(record), reason: "A forgery." });
      expect([status, body.escalation]).toMatchObject([
        200,
        { id: record.id, status: "withdrawn", withdrawal: { by: carol, at: officeTime, reason: "A forgery." } },
      ]);
      const withdrawn = (await changesIn(adminApi, record.namespaceId)).slice(-2);
      expect(withdrawn).toMatchObject([
        { outcome: "allowed", action: "escalation.withdraw", actor: carol, receiver: assistant },
        { outcome: "succeeded", metadata: { escalation: record.id, requestHash: record.ask } },
      ]);
      expect(JSON.stringify(withdrawn)).not.toContain("forgery");
      expect((await askAct(adminApi.stores, record.namespaceId)).id).not.toBe(record.id);
    });

    test("of authority, and the grant is revoked; the audit log names it", async () => {
      const adminApi = await office();
      const record = await askIn(adminApi.stores, newTenant());
      await adminApi.post(`${path}/approve`, about(record));
      expect((await adminApi.post(`${path}/withdraw`, about(record))).status).toBe(200);
      const grantId = `approved-${record.id}`;
      expect(await adminApi.stores.grants.findStored(record.namespaceId, grantId)).toMatchObject({
        revokedAt: officeTime,
      });
      expect((await changesIn(adminApi, record.namespaceId)).at(-1)).toMatchObject({ grantId });
    });

    for (const row of [
      { name: "that no operator gave", status: 409, says: "deny it instead" },
      {
        name: "to something else",
        change: { ask: "0".repeat(64) },
        isApproved: true,
        status: 409,
        says: "something else",
      },
      { name: "that there is not", change: { id: "q0" }, isApproved: true, status: 404, says: "no escalation" },
      { name: "by the actor", as: assistant, isApproved: true, status: 403, says: "You requested this yourself." },
      { name: "that was used", isApproved: true, isUsed: true, status: 409, says: "has happened" },
    ]) {
      test(`but not one ${row.name}: nothing changes, and nothing is in the audit log`, async () => {
        const adminApi = await office();
        const record = await askAct(adminApi.stores, newTenant());
        if (row.isApproved === true) await adminApi.post(`${path}/approve`, about(record));
        if (row.isUsed === true) await adminApi.stores.permits.use(record.namespaceId, record.id);
        const before = [
          await stateOf(await open(), record.namespaceId),
          (await changesIn(adminApi, record.namespaceId)).length,
        ];
        const post = row.as === undefined ? adminApi.post : await adminApi.postAs(row.as);
        const { status, body } = await post<Refusal>(`${path}/withdraw`, { ...about(record), ...row.change });
        expect([status, body.error.message]).toEqual([row.status, expect.stringContaining(row.says)]);
        expect([
          await stateOf(await open(), record.namespaceId),
          (await changesIn(adminApi, record.namespaceId)).length,
        ]).toEqual(before);
      });
    }
  });

  test("with the rule of two people, a grant is of the narrower terms of both", async () => {
    const adminApi = await office({ approvals: 2 });
    const record = await askIn(adminApi.stores, newTenant());
    await adminApi.post(`${path}/approve`, { ...about(record), maxUses: 1 });
    const expiresAt = "2026-01-01T12:10:00Z";
    const post = await adminApi.postAs(carol);
    const { body } = await post<Shown>(`${path}/approve`, { ...about(record), expiresAt, maxUses: 2 });
    expect(body.grant?.constraints).toEqual({ purposes: ["support"], expiresAt, maxUses: 1 });
  });

  test("the grant of an approval that names no end lasts for an hour", async () => {
    const adminApi = await office();
    const record = await askIn(adminApi.stores, newTenant());
    const { body } = await adminApi.post<Shown>(`${path}/approve`, about(record));
    expect(body.grant?.constraints.expiresAt).toBe("2026-01-01T13:00:00.000Z");
  });

  const tampered: { name: string; change(record: EscalationRecord): unknown }[] = [
    {
      name: "is of other arguments",
      change: ({ approval, ...record }) => ({
        ...record,
        approval: { ...approval, act: { ...approval?.act, arguments: { to: "bob", amount: 0 } } },
      }),
    },
    { name: "is another actor's", change: (record) => ({ ...record, requester: carol }) },
    { name: "is for another owner", change: (record) => ({ ...record, reviewer: carol }) },
    { name: "is for another purpose", change: (record) => ({ ...record, purpose: "spying" }) },
  ];
  for (const { name, change } of tampered) {
    test(`an act that was changed in the database and now ${name} is not approved`, async () => {
      const adminApi = await office();
      const record = await askAct(adminApi.stores, newTenant());
      const rows = (await open()).db.updateTable("escalations").where("namespace_id", "=", record.namespaceId);
      await rows.set({ content: JSON.stringify(change(record)) }).execute();
      expect((await adminApi.post(`${path}/approve`, about(record))).status).toBe(409);
      const found = await adminApi.stores.permits.find(record.namespaceId, record.ask, officeTime);
      expect(found?.kind).toBe("asked");
    });
  }

  describe("one escalation is shown", () => {
    const show = async ({ get }: Office, { namespaceId, id }: EscalationRecord) =>
      get<Shown & Refusal>(`${path}/${namespaceId}/${id}`);

    test("with the act, the grant that carries it, and what the turn has done so far", async () => {
      const adminApi = await office();
      const namespaceId = newTenant();
      const carrier = grant("grant-1", { namespaceId });
      await adminApi.stores.grants.issue(carrier);
      const writer = await beginTurn(adminApi.stores.turns, turnToBegin(namespaceId, "turn-1"));
      await writer.write(eventEntries(0, 2), progress);
      const record = await askAct(adminApi.stores, namespaceId, {}, { executionId: "turn-1" });
      const { status, body } = await show(adminApi, record);
      expect(status).toBe(200);
      expect(body.escalation).toEqual(record);
      expect(body.escalation.approval?.act).toMatchObject({ arguments: { to: "bob", amount: 1 } });
      expect(body.grant).toEqual(carrier);
      expect([body.turn?.state.status, body.turn?.events.length]).toEqual(["running", 2]);
    });

    test("without what is not there, and not in another tenant", async () => {
      const adminApi = await office();
      const record = await askAct(adminApi.stores, newTenant(), {}, { executionId: "gone" });
      expect((await show(adminApi, record)).body).toEqual({ escalation: record, approvalsNeeded: 1 });
      const elsewhere = await show(adminApi, { ...record, namespaceId: newTenant() });
      expect([elsewhere.status, elsewhere.body.error.code]).toEqual([404, "not_found"]);
    });

    test("with the grant that its approval issued", async () => {
      const adminApi = await office();
      const record = await askIn(adminApi.stores, newTenant());
      const { body } = await adminApi.post<Shown>(`${path}/approve`, about(record));
      expect((await show(adminApi, record)).body).toEqual({ ...body, approvalsNeeded: 1 });
    });
  });

  test("a list of large acts comes in pages of a few megabytes, and none is left out", async () => {
    const adminApi = await office();
    const namespaceId = newTenant();
    const asked: string[] = [];
    for (let number = 0; number < 9; number += 1) {
      const act = { kind: "tool", tool: "bank.pay", arguments: { number, text: "x".repeat(1_000_000) } } as const;
      asked.unshift((await askAct(adminApi.stores, namespaceId, { act })).id);
    }
    for (const status of ["pending", undefined]) {
      const query = { namespaceId, limit: 200, ...(status && { status }) };
      const pages = await readPages<{ escalations: EscalationRecord[]; cursor?: string }>(adminApi, path, query);
      expect(pages.flatMap(({ escalations }) => escalations.map(({ id }) => id)).toSorted()).toEqual(asked.toSorted());
      expect(pages.map(({ escalations }) => escalations.length)).toEqual([5, 4]);
    }
  });

  test("no grant is issued or derived under the name of a permit", async () => {
    const adminApi = await office();
    const namespaceId = newTenant();
    const wanted = grant("permit\nq1", { namespaceId });
    const issued = await adminApi.post<Refusal>("/admin/v1/grants", wanted);
    expect([issued.status, issued.body.error.code]).toEqual([400, "invalid_request"]);
    await adminApi.stores.grants.issue(grant("parent", { namespaceId, constraints: { delegationDepth: 1 } }));
    const child = { namespaceId, parentId: "parent", id: "permit\nq1", subject: alice };
    const derived = await adminApi.post<Refusal>("/admin/v1/grants/derive", child);
    expect([derived.status, derived.body.error.message.includes("/id")]).toEqual([400, true]);
  });
});

test("of an approval and a denial at once on two hosts one counts, and the other operator is told who was first and when", async () => {
  const [here, there] = await Promise.all((await openPair()).map((database) => openOffice(database)));
  if (!here || !there) throw new Error("An office is missing.");
  for (let round = 0; round < 5; round += 1) {
    const record = await askAct(here.stores, newTenant());
    const [approved, denied] = await Promise.all([
      here.post<Refusal>(`${path}/approve`, about(record)),
      there.post<Refusal>(`${path}/deny`, { ...about(record), reason: "No." }),
    ]);
    expect([approved.status, denied.status].toSorted()).toEqual([200, 409]);
    const told = (approved.status === 409 ? approved : denied).body.error.message;
    const who = approved.status === 409 ? there.operatorId : "human:oona";
    expect(told).toContain(`${officeTime} by ${who}`);
  }
});
