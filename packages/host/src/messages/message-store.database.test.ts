import { describe, expect, test } from "vitest";
import type { MessageEnvelope, PrincipalRef } from "turnpike/contracts";
import { databaseKinds, newTenant, openFresh, sharedDatabase, tenAtOnce } from "../../test/databases.ts";
import { envelope as example } from "../../test/counting-api.ts";
import { failingAt, recordStatements } from "../../test/watched-database.ts";
import { alice, assistant, now } from "../../test/records.ts";
import type { Database } from "../storage/database.ts";
import { openStores } from "../compose/stores.ts";
import { createMessageStore, type Inbox, type MessageStore } from "./message-store.ts";

const bob: PrincipalRef = { kind: "human", userId: "bob" };
const later = "2026-01-01T12:10:00Z";

/** A sender, another for each place. */
function senderAt(place: number): PrincipalRef {
  return { kind: "human", userId: `sender-${place}` };
}

function message(id: string, changes: Partial<MessageEnvelope> = {}): MessageEnvelope {
  return { ...example, id, ...changes };
}

function alices(namespaceId: string): Inbox {
  return { namespaceId, receiver: alice };
}

async function idsIn(store: MessageStore, inbox: Inbox, page: { after?: number; limit?: number } = {}) {
  return (await store.inbox(inbox, { limit: 100, ...page })).map(({ envelope }) => envelope.id);
}

async function deliverAll(store: MessageStore, tenant: string, ids: readonly string[]): Promise<void> {
  for (const id of ids) expect(await store.deliver(message(id), tenant, now)).toBe("stored");
}

describe.each(databaseKinds)("messages on %s", (kind) => {
  const open = sharedDatabase(kind);

  test("an inbox holds as many unread messages as the stores were opened with", async () => {
    const { messages } = openStores(await open(), { unreadMessages: 2 });
    const tenant = newTenant();
    for (const place of [1, 2])
      expect(await messages.deliver(message("m", { sender: senderAt(place) }), tenant, now)).toBe("stored");
    expect(await messages.deliver(message("m", { sender: senderAt(3) }), tenant, now)).toBe("full");
  });

  test("a message is read to its last character, with the instant at which it was received", async () => {
    const store = createMessageStore(await open());
    const tenant = newTenant();
    const sent = message("m\0-1", {
      payload: { text: "ä\0\ud800🙂", deep: [1e21, null, { "key\0": -1.5 }] },
      replyTo: "message-0",
      provenance: { source: "test", parentIds: ["message-0"], metadata: { step: 1 } },
    });
    expect(await store.deliver(sent, tenant, later)).toBe("stored");
    expect(await store.inbox(alices(tenant), { limit: 1 })).toEqual([
      { sequence: 1, envelope: sent, receivedAt: "2026-01-01T12:10:00Z", isAcknowledged: false },
    ]);
  });

  test("messages come in the order in which they were delivered, a page at a time", async () => {
    const store = createMessageStore(await open());
    const tenant = newTenant();
    await deliverAll(store, tenant, ["c", "a", "b"]);
    expect(await idsIn(store, alices(tenant), { limit: 2 })).toEqual(["c", "a"]);
    expect(await idsIn(store, alices(tenant), { after: 2 })).toEqual(["b"]);
    expect(await idsIn(store, alices(tenant), { after: 3 })).toEqual([]);
  });

  test("large messages come in pages of a million characters, and the largest comes alone", async () => {
    const store = createMessageStore(await open());
    const tenant = newTenant();
    for (const [id, length] of Object.entries({ a: 600_000, b: 600_000, c: 3_000_000, d: 1, e: 1 })) {
      await store.deliver(message(id, { payload: "x".repeat(length) }), tenant, now);
    }
    expect(await idsIn(store, alices(tenant))).toEqual(["a", "b"]);
    expect(await idsIn(store, alices(tenant), { after: 2 })).toEqual(["c"]);
    expect(await idsIn(store, alices(tenant), { after: 3 })).toEqual(["d", "e"]);
  });

  describe("a message lies in an inbox", () => {
    const sent = message("message-1", { sender: bob, payload: { text: "pay\0" }, replyTo: "message-0" });
    const rows: { name: string; asked: MessageEnvelope; holds: boolean; elsewhere?: boolean }[] = [
      { name: "as it was sent", asked: sent, holds: true },
      { name: "when the same is said to be of another time", asked: { ...sent, createdAt: later }, holds: true },
      { name: "and not under another id", asked: { ...sent, id: "message-2" }, holds: false },
      { name: "and not from another sender", asked: { ...sent, sender: assistant }, holds: false },
      {
        name: "and not from a sender of another kind",
        asked: { ...sent, sender: { kind: "service", serviceId: "bob" } },
        holds: false,
      },
      { name: "and not to another receiver", asked: { ...sent, receiver: assistant }, holds: false },
      { name: "and not in another tenant", asked: sent, elsewhere: true, holds: false },
      { name: "and not with another content", asked: { ...sent, payload: { text: "pay" } }, holds: false },
      { name: "and not for another purpose", asked: { ...sent, purpose: "billing" }, holds: false },
      { name: "and not as an answer to something else", asked: { ...sent, replyTo: "message-9" }, holds: false },
    ];
    for (const row of rows) {
      test(row.name, async () => {
        const store = createMessageStore(await open());
        const tenant = newTenant();
        expect(await store.deliver(sent, tenant, now)).toBe("stored");
        await store.acknowledge(alices(tenant), row.holds ? ["message-1"] : [], later);
        expect(await store.holds(row.elsewhere === true ? newTenant() : tenant, row.asked)).toBe(row.holds);
      });
    }
  });

  test("messages of two senders under one id both lie in the inbox", async () => {
    const store = createMessageStore(await open());
    const tenant = newTenant();
    const both = [message("message-1", { sender: bob }), message("message-1", { sender: assistant })];
    for (const sent of both) expect(await store.deliver(sent, tenant, now)).toBe("stored");
    for (const sent of both) expect(await store.holds(tenant, sent)).toBe(true);
  });

  test("tenants, receivers and kinds of receivers with the same id never meet", async () => {
    const store = createMessageStore(await open());
    const [tenant, elsewhere] = [newTenant(), newTenant()];
    await deliverAll(store, tenant, ["message-1"]);
    for (const other of [
      alices(elsewhere),
      { namespaceId: tenant, receiver: bob },
      { namespaceId: tenant, receiver: { kind: "service", serviceId: "alice" } as const },
    ]) {
      expect(await store.inbox(other, { limit: 100, includeAcknowledged: true })).toEqual([]);
      expect(await store.acknowledge(other, ["message-1"], later)).toEqual(["message-1"]);
      expect(await store.knows(other, "message-1")).toBe(false);
    }
    expect(await idsIn(store, alices(tenant))).toEqual(["message-1"]);
  });

  test("the same id in two tenants is two messages", async () => {
    const store = createMessageStore(await open());
    const tenants = [newTenant(), newTenant()];
    for (const tenant of tenants) await deliverAll(store, tenant, ["message-1"]);
    for (const tenant of tenants) expect(await idsIn(store, alices(tenant))).toEqual(["message-1"]);
  });

  test("the same id of two senders is two messages", async () => {
    const store = createMessageStore(await open());
    const tenant = newTenant();
    await deliverAll(store, tenant, ["message-1"]);
    expect(await store.deliver(message("message-1", { sender: bob }), tenant, now)).toBe("stored");
    const received = await store.inbox(alices(tenant), { limit: 100 });
    expect(received.map(({ envelope }) => envelope.sender)).toEqual([assistant, bob]);
  });

  test("a message that is delivered again is stored once, acknowledged or not", async () => {
    const store = createMessageStore(await open());
    const tenant = newTenant();
    await deliverAll(store, tenant, ["message-1", "message-1"]);
    expect(await store.deliver(message("message-1", { createdAt: later }), tenant, later)).toBe("stored");
    expect(await idsIn(store, alices(tenant))).toEqual(["message-1"]);
    await store.acknowledge(alices(tenant), ["message-1"], later);
    await deliverAll(store, tenant, ["message-1"]);
    expect(await idsIn(store, alices(tenant))).toEqual([]);
  });

  for (const row of [
    { name: "another payload", changes: { payload: "other" } },
    { name: "another receiver", changes: { receiver: bob } },
    { name: "another purpose", changes: { purpose: "billing" } },
    { name: "an answer to something", changes: { replyTo: "message-0" } },
  ]) {
    test(`the id of a message is refused to ${row.name} of the same sender`, async () => {
      const store = createMessageStore(await open());
      const tenant = newTenant();
      await deliverAll(store, tenant, ["message-1"]);
      expect(await store.deliver(message("message-1", row.changes), tenant, now)).toBe("conflict");
      expect(await store.inbox(alices(tenant), { limit: 100 })).toHaveLength(1);
      expect(await idsIn(store, { namespaceId: tenant, receiver: bob })).toEqual([]);
    });
  }

  test("an acknowledged message is shown only to those who ask for it", async () => {
    const store = createMessageStore(await open());
    const tenant = newTenant();
    await deliverAll(store, tenant, ["a", "b"]);
    expect(await store.acknowledge(alices(tenant), ["a", "unknown"], later)).toEqual(["unknown"]);
    expect(await idsIn(store, alices(tenant))).toEqual(["b"]);
    const all = await store.inbox(alices(tenant), { limit: 100, includeAcknowledged: true });
    expect(all.map(({ envelope, isAcknowledged }) => [envelope.id, isAcknowledged])).toEqual([
      ["a", true],
      ["b", false],
    ]);
  });

  test("acknowledging again changes nothing, and an id that was acknowledged is not unknown", async () => {
    const store = createMessageStore(await open());
    const tenant = newTenant();
    await deliverAll(store, tenant, ["a", "b"]);
    for (let round = 0; round < 3; round += 1) {
      expect(await store.acknowledge(alices(tenant), ["a", "a"], later)).toEqual([]);
    }
    expect(await idsIn(store, alices(tenant))).toEqual(["b"]);
  });

  test("acknowledging an id that two senders used leaves the later message, which may not have been seen", async () => {
    const store = createMessageStore(await open());
    const tenant = newTenant();
    await deliverAll(store, tenant, ["a"]);
    await store.deliver(message("a", { sender: bob }), tenant, now);
    await store.acknowledge(alices(tenant), ["a"], later);
    const [left] = await store.inbox(alices(tenant), { limit: 100 });
    expect(left?.envelope.sender).toEqual(bob);
  });

  test("acknowledging nothing, or in an inbox that never was, changes nothing", async () => {
    const store = createMessageStore(await open());
    const tenant = newTenant();
    expect(await store.acknowledge(alices(tenant), [], later)).toEqual([]);
    expect(await store.acknowledge(alices(tenant), ["a"], later)).toEqual(["a"]);
  });

  test("a full inbox refuses what is new, keeps what it has, and has room again for each acknowledgement", async () => {
    const store = createMessageStore(await open(), { maxUnacknowledged: 2 });
    const tenant = newTenant();
    const deliver = (id: string, sender: PrincipalRef, changes = {}) =>
      store.deliver(message(id, { sender, ...changes }), tenant, now);
    expect(await deliver("a", assistant)).toBe("stored");
    expect(await deliver("b", bob)).toBe("stored");
    expect(await deliver("c", senderAt(3))).toBe("full");
    expect(await deliver("a", assistant)).toBe("stored");
    expect(await deliver("d", assistant, { receiver: bob })).toBe("stored");
    await store.acknowledge(alices(tenant), ["a", "a", "unknown"], later);
    expect(await deliver("c", senderAt(3))).toBe("stored");
    expect(await deliver("e", senderAt(4))).toBe("full");
    expect(await idsIn(store, alices(tenant))).toEqual(["b", "c"]);
  });

  for (const { room, most } of [
    { room: 1, most: 1 },
    { room: 10, most: 1 },
    { room: 11, most: 2 },
    { room: 30, most: 3 },
  ])
    test(`of an inbox with room for ${room}, one sender gets ${most}, and others still get in`, async () => {
      const store = createMessageStore(await open(), { maxUnacknowledged: room });
      const tenant = newTenant();
      const ids = Array.from({ length: most + 1 }, (_, place) => `m-${place}`);
      const deliveries = [];
      for (const id of ids) deliveries.push(await store.deliver(message(id), tenant, now));
      expect(deliveries).toEqual([...ids.slice(1).map(() => "stored"), room === 1 ? "full" : "crowded"]);
      const ofBob = await store.deliver(message("m", { sender: bob }), tenant, now);
      expect(ofBob).toBe(room === 1 ? "full" : "stored");
      expect(await store.deliver(message("other", { receiver: bob }), tenant, now)).toBe("stored");
      expect(await store.deliver(message("m-0"), tenant, now)).toBe("stored");
      await store.acknowledge(alices(tenant), ["m-0"], later);
      expect(await store.deliver(message("again"), tenant, now)).toBe("stored");
    });

  test("fifty deliveries, ten at once, into an inbox with room for twenty are twenty messages", async () => {
    const store = createMessageStore(await open(), { maxUnacknowledged: 20 });
    const tenant = newTenant();
    const deliveries = await tenAtOnce(50, (place) =>
      store.deliver(message(`message-${place}`, { sender: senderAt(place) }), tenant, now),
    );
    expect(deliveries.filter((delivery) => delivery === "stored")).toHaveLength(20);
    expect(deliveries.filter((delivery) => delivery === "full")).toHaveLength(30);
    expect(await idsIn(store, alices(tenant))).toHaveLength(20);
  });

  test("ten deliveries at once of one sender into an inbox with room for twenty are two messages", async () => {
    const store = createMessageStore(await open(), { maxUnacknowledged: 20 });
    const tenant = newTenant();
    const deliveries = await tenAtOnce(10, (place) => store.deliver(message(`message-${place}`), tenant, now));
    expect(deliveries.filter((delivery) => delivery === "stored")).toHaveLength(2);
    expect(deliveries.filter((delivery) => delivery === "crowded")).toHaveLength(8);
  });

  for (const row of [
    { name: "its receiver", who: alice, knows: true },
    { name: "its sender", who: assistant, knows: true },
    { name: "no one else", who: bob, knows: false },
  ]) {
    test(`a message is known to ${row.name}`, async () => {
      const store = createMessageStore(await open());
      const tenant = newTenant();
      await deliverAll(store, tenant, ["a"]);
      expect(await store.knows({ namespaceId: tenant, receiver: row.who }, "a")).toBe(row.knows);
      expect(await store.knows({ namespaceId: tenant, receiver: row.who }, "b")).toBe(false);
      expect(await store.knows({ namespaceId: newTenant(), receiver: row.who }, "a")).toBe(false);
    });
  }

  test("what waits to be acknowledged is counted over all tenants", async () => {
    const store = createMessageStore(await openFresh(kind));
    expect(await store.countUnacknowledged()).toBe(0);
    await deliverAll(store, "tenant-1", ["a", "b", "c"]);
    await deliverAll(store, "tenant-2", ["a"]);
    await store.acknowledge(alices("tenant-1"), ["b"], later);
    expect(await store.countUnacknowledged()).toBe(3);
  });

  const changes = [
    {
      name: "a delivery",
      run: (store: MessageStore, tenant: string) => store.deliver(message("new"), tenant, now),
    },
    {
      name: "an acknowledgement",
      run: (store: MessageStore, tenant: string) => store.acknowledge(alices(tenant), ["seeded"], later),
    },
  ];
  for (const { name, run } of changes) {
    test(`${name} whose statement fails, whichever it is, rejects and leaves nothing half written`, async () => {
      const database = await open();
      const seed = async (): Promise<string> => {
        const tenant = newTenant();
        await deliverAll(createMessageStore(database), tenant, ["seeded"]);
        return tenant;
      };
      const { database: recorded, statements } = recordStatements(database);
      await run(createMessageStore(recorded), await seed());
      expect(statements.at(-1)).toBe("commit");
      for (let n = 1; n <= statements.length; n += 1) {
        const tenant = await seed();
        const before = await stateOf(database, tenant);
        await expect(run(createMessageStore(failingAt(database, n, "before")), tenant)).rejects.toThrow("injected");
        expect(await stateOf(database, tenant)).toEqual(before);
        await run(createMessageStore(database), tenant);
        expect(await stateOf(database, tenant)).not.toEqual(before);
      }
    });
  }
});

async function stateOf({ db }: Database, tenant: string): Promise<unknown[]> {
  const inboxes = await db.selectFrom("inboxes").selectAll().where("namespace_id", "=", tenant).execute();
  const messages = await db.selectFrom("messages").selectAll().where("namespace_id", "=", tenant).execute();
  return [inboxes, messages];
}
