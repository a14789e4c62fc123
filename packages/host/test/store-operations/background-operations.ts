import { createSecretKey } from "node:crypto";
import { openDeliveries, openOutbox, type Webhook } from "../../src/webhooks/index.ts";
import type { Taken } from "../../src/webhooks/outbox.ts";
import { removeOldEscalations } from "../../src/retention/old-escalations.ts";
import { forgetEndedTurns } from "../../src/retention/old-turns.ts";
import type { Database } from "../../src/storage/database.ts";
import { askIn, escalation } from "../office.ts";
import { beginTurn, endedEntry, eventEntries, progress, turnToBegin } from "../turn-journals.ts";
import type { Operations, Seed } from "./operation.ts";

const now = new Date("2026-01-01T13:00:00.000Z");
/** Long before anything else in these tests happened. */
const [longAgo, later] = ["1999-01-01T00:00:00.000Z", "1999-06-01T00:00:00.000Z"];

/** A webhook of this tenant's messages alone. */
function webhookOf({ tenant }: Seed): Webhook {
  const secret = createSecretKey(Buffer.from("secret"));
  return { key: tenant, url: "", shown: "", secret, events: new Set(), isGone: false };
}

/** Rows that the database lost, as far as it says so itself. */
async function addGap({ db, hostId }: Database, { tenant }: Seed): Promise<void> {
  const gap = { id: tenant, host_id: hostId, noticed_at: longAgo, content: "[]", accepted_at: null };
  await db.insertInto("database_gaps").values(gap).execute();
}

async function addMessage({ db }: Database, { tenant }: Seed): Promise<void> {
  const at = { created_at: "2026-01-01T12:00:00.000Z", due_at: "2026-01-01T12:00:00.000Z" };
  const about = { namespace_id: tenant, type: "escalation.opened", content: "{}" };
  await db
    .insertInto("outbox")
    .values({ webhook: tenant, message: "message-1", ...about, ...at })
    .execute();
}

async function taken(database: Database, seed: Seed): Promise<Taken> {
  await addMessage(database, seed);
  const message = await openOutbox(database).take(webhookOf(seed), now);
  if (message === undefined) throw new Error("There is no message.");
  return message;
}

/** What a host does by itself: it sends messages to webhooks and removes what is old. */
export const backgroundOperations: Operations = {
  "losses.listOpen":
    ({ losses }) =>
    () =>
      losses.listOpen(),
  "losses.accept": async ({ losses }, seed, database) => {
    await addGap(database, seed);
    return () => losses.accept(later, false);
  },
  "losses.accept, and revokes": async ({ losses }, seed, database) => {
    await addGap(database, seed);
    return () => losses.accept(later, true);
  },
  "losses.listAccepted":
    ({ losses }, { tenant }) =>
    () =>
      losses.listAccepted([tenant]),
  "outbox.take": async (_stores, seed, database) => {
    await addMessage(database, seed);
    return () => openOutbox(database).take(webhookOf(seed), now);
  },
  "outbox.postpone": async (_stores, seed, database) => {
    const message = await taken(database, seed);
    return () => openOutbox(database).postpone(message, now);
  },
  "outbox.finish": async (_stores, seed, database) => {
    const message = await taken(database, seed);
    return () => openOutbox(database).finish(message, { state: "delivered", at: now });
  },
  "outbox.finishAll": async (_stores, seed, database) => {
    await addMessage(database, seed);
    return () => openOutbox(database).finishAll(webhookOf(seed), { state: "failed", at: now, error: "gone" });
  },
  "outbox.removeAllBut": async (_stores, seed, database) => {
    await addMessage(database, seed);
    return () => openOutbox(database).removeAllBut([]);
  },
  "outbox.retryAll": async (_stores, seed, database) => {
    await taken(database, seed);
    return () => openOutbox(database).retryAll();
  },
  "outbox.countOf": (_stores, seed, database) => () =>
    openOutbox(database).countOf(webhookOf(seed), "escalation.opened"),
  "deliveries.list": async (stores, seed, database) => {
    await addMessage(database, seed);
    return () => stores.deliveries.list(seed.tenant, { limit: 9 });
  },
  "deliveries.retry": async (_stores, seed, database) => {
    await openOutbox(database).finish(await taken(database, seed), { state: "failed", at: now, error: "answered 503" });
    return () => openDeliveries(database, [webhookOf(seed)]).retry(seed.tenant, "message-1", now);
  },
  "outbox.count": (_stores, _seed, database) => () => openOutbox(database).count(),
  "retention.escalations": async (stores, { tenant }, database) => {
    const asked = await askIn(stores, tenant, escalation({ requestedAt: longAgo }));
    const permitted = { status: "approved", permit_expires_at: longAgo } as const;
    await database.db.updateTable("escalations").set(permitted).where("id", "=", asked.id).execute();
    await stores.permits.use(tenant, asked.id);
    return () => removeOldEscalations(database, later, 9);
  },
  "retention.turns": async ({ turns }, { tenant }, database) => {
    const writer = await beginTurn(turns, turnToBegin(tenant, "turn"));
    await writer.write([...eventEntries(0, 3), endedEntry("turn", { completedAt: longAgo })], progress);
    return () => forgetEndedTurns(database, later, 200);
  },
};
