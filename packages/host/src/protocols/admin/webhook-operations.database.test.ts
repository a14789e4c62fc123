import { describe, expect, test } from "vitest";
import { databaseKinds, newTenant, openFresh, sharedDatabase } from "../../../test/databases.ts";
import { officeTime, openOffice, readPages, type Office, type Refusal } from "../../../test/office.ts";
import { openOutbox, openWebhooks, type Webhook } from "../../webhooks/index.ts";
import type { Database } from "../../storage/index.ts";

interface Page {
  deliveries: { namespaceId: string; id: string; state: string; attempts: number; lastError?: string }[];
  cursor?: string;
}

const path = "/admin/v1/webhooks/deliveries";
const retryPath = "/admin/v1/webhooks/retry";
const url = "https://hooks.example/in/secret";
const env = { HOOK: "a secret of a webhook, long enough" };
const [webhook] = openWebhooks({ webhooks: [{ url, secretEnv: "HOOK", events: ["escalation.opened"] }] }, env) as [
  Webhook,
];

/** Takes the message that is next, as the sender does, and ends it. */
async function finish(database: Database, state: "delivered" | "failed"): Promise<void> {
  const outbox = openOutbox(database);
  const taken = await outbox.take(webhook, new Date(officeTime));
  if (taken === undefined) throw new Error("Nothing is due.");
  await outbox.finish(taken, { state, at: new Date(officeTime), ...(state === "failed" && { error: "answered 500" }) });
}

async function statesOf({ get }: Office, namespaceId: string, query: Record<string, string> = {}): Promise<string[]> {
  const { body } = await get<Page>(path, { namespaceId, ...query });
  return body.deliveries.map(({ state }) => state);
}

describe.each(databaseKinds)("what webhooks are told on %s", (kind) => {
  const open = sharedDatabase(kind);

  test("is listed with its state, attempts and what failed, and never a secret", async () => {
    const database = await openFresh(kind);
    const office = await openOffice(database);
    for (const state of ["delivered", "failed"] as const) {
      await office.addMessage("acme");
      await finish(database, state);
    }
    await office.addMessage("acme", 2);
    await office.addMessage("acme");
    const { body } = await office.get<Page>(path, { namespaceId: "acme" });
    const common = {
      namespaceId: "acme",
      id: expect.stringMatching(/^msg_[0-9a-f]{32}$/) as string,
      webhook: { number: 0, url: "https://hooks.example/***" },
      type: "escalation.opened",
      createdAt: officeTime,
    };
    expect(body.deliveries).toEqual([
      { ...common, state: "waiting", attempts: 0 },
      { ...common, state: "retrying", attempts: 2, nextAttemptAt: officeTime, lastError: "answered 503" },
      { ...common, state: "failed", attempts: 1, finishedAt: officeTime, lastError: "answered 500" },
      { ...common, state: "delivered", attempts: 1, finishedAt: officeTime },
    ]);
    expect(JSON.stringify(body)).not.toContain("secret");
    for (const state of ["waiting", "retrying", "delivered", "failed"])
      expect(await statesOf(office, "acme", { state })).toEqual([state]);
    for (const limit of [1, 2, 3]) {
      const pages = await readPages<Page>(office, path, { namespaceId: "acme", limit });
      expect(pages.flatMap(({ deliveries }) => deliveries)).toEqual(body.deliveries);
    }
  });

  test("is each tenant's own", async () => {
    const office = await openOffice(await open());
    const [one, other] = [newTenant(), newTenant()];
    const id = await office.addMessage(one, 1);
    expect(await statesOf(office, other)).toEqual([]);
    const { status, body } = await office.post<Refusal>(retryPath, { namespaceId: other, id });
    expect([status, body.error.code]).toEqual([404, "not_found"]);
    expect(await statesOf(office, one)).toEqual(["retrying"]);
  });

  test("is sent again on request, whatever became of it, once however often that is asked, and the audit log says who did", async () => {
    const database = await openFresh(kind);
    const office = await openOffice(database);
    for (const state of ["delivered", "failed"] as const) {
      const id = await office.addMessage("acme");
      await finish(database, state);
      const asked = [1, 2, 3].map(() => office.post(retryPath, { namespaceId: "acme", id }));
      expect((await Promise.all(asked)).map(({ status }) => status)).toEqual([200, 200, 200]);
      expect(await statesOf(office, "acme")).toEqual(["retrying"]);
      const taken = await openOutbox(database).take(webhook, new Date(officeTime));
      expect(taken).toMatchObject({ message: id, attempts: 2 });
      if (taken) await openOutbox(database).finish(taken, { state: "delivered", at: new Date(officeTime) });
      await database.db.deleteFrom("webhook_history").execute();
    }
    const log = await office.stores.audit.list("acme", { type: "operator.changed", limit: 1 });
    expect(log[0]?.event).toMatchObject({ action: "webhook.retry", outcome: "succeeded", actor: { userId: "oona" } });
  });

  test("that is put off is due at once on request", async () => {
    const database = await openFresh(kind);
    const office = await openOffice(database);
    const id = await office.addMessage("acme");
    const outbox = openOutbox(database);
    const taken = await outbox.take(webhook, new Date(officeTime));
    if (taken === undefined) throw new Error("Nothing is due.");
    await outbox.postpone(taken, new Date("2026-01-01T12:50:00Z"), "no answer: ECONNREFUSED");
    expect(await outbox.take(webhook, new Date(officeTime))).toBeUndefined();
    const { body } = await office.get<Page>(path, { namespaceId: "acme" });
    expect(body.deliveries).toMatchObject([
      { nextAttemptAt: "2026-01-01T12:50:00.000Z", lastError: "no answer: ECONNREFUSED" },
    ]);
    await office.post(retryPath, { namespaceId: "acme", id });
    expect(await outbox.take(webhook, new Date(officeTime))).toMatchObject({ message: id, attempts: 2 });
  });

  test("is not sent again to a webhook that is not configured, or that is unknown", async () => {
    const database = await openFresh(kind);
    const office = await openOffice(database);
    const id = await office.addMessage("acme");
    await finish(database, "failed");
    await database.db.updateTable("webhook_history").set({ webhook: "another" }).execute();
    const { status, body } = await office.post<Refusal>(retryPath, { namespaceId: "acme", id });
    expect([status, body.error.message]).toEqual([
      409,
      "Its webhook is not configured any more: put it into notify.webhooks again, and restart.",
    ]);
    expect(await statesOf(office, "acme")).toEqual(["failed"]);
    expect((await office.post<Refusal>(retryPath, { namespaceId: "acme", id: "msg_0" })).status).toBe(404);
  });

  test("is retained within a bound for each tenant and state, so that no tenant pushes another's out", async () => {
    const database = await openFresh(kind);
    const office = await openOffice(database);
    await office.addMessage("other");
    await finish(database, "delivered");
    await office.addMessage("acme");
    await finish(database, "failed");
    const at = { created_at: officeTime, due_at: officeTime };
    const row = { webhook: webhook.key, namespace_id: "acme", type: "escalation.opened", content: "{}", ...at };
    for (let some = 0; some < 3; some += 1) {
      const rows = Array.from({ length: 400 }, (_, place) => ({ ...row, message: `msg_${some * 400 + place}` }));
      await database.db.insertInto("outbox").values(rows).execute();
    }
    await openOutbox(database).finishAll(webhook, { state: "delivered", at: new Date(officeTime) });
    const stored = await database.db
      .selectFrom("webhook_history")
      .select(["namespace_id", "state", "message"])
      .execute();
    const ofAcme = stored.filter(({ namespace_id, state }) => namespace_id === "acme" && state === "delivered");
    expect(ofAcme).toHaveLength(1000);
    expect(ofAcme.map(({ message }) => message)).toContain("msg_1199");
    expect(stored.length - ofAcme.length).toBe(2);
  });

  for (const cursor of ["0", "outbox.", "audit.1", "outbox.1e3"]) {
    test(`a cursor that no page gave is refused: ${cursor}`, async () => {
      const office = await openOffice(await open());
      const { status, body } = await office.get<Refusal>(path, { namespaceId: newTenant(), cursor });
      expect([status, body.error.code]).toEqual([400, "invalid_request"]);
    });
  }
});
