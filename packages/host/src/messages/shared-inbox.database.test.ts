import { expect, test } from "vitest";
import type { MessageEnvelope } from "turnpike/contracts";
import { newLocation, openHost, openPair, tenAtOnce } from "../../test/databases.ts";
import { envelope as example } from "../../test/counting-api.ts";
import { alice, now } from "../../test/records.ts";
import { createMessageStore, type MessageStore } from "./message-store.ts";

const tenants = ["tenant-a", "tenant-b"] as const;
const perHost = 50;

function message(id: string): MessageEnvelope {
  return { ...example, id };
}

/** Reads an inbox by its cursor while `isWanted`, and once more to the end. */
async function follow(store: MessageStore, namespaceId: string, isWanted: () => boolean): Promise<string[]> {
  const seen: string[] = [];
  let [after, goesOn] = [0, true];
  while (goesOn) {
    const wasWanted = isWanted();
    const page = await store.inbox({ namespaceId, receiver: alice }, { after, limit: 7 });
    seen.push(...page.map(({ envelope }) => envelope.id));
    after = page.at(-1)?.sequence ?? after;
    goesOn = wasWanted || page.length > 0;
  }
  return seen;
}

test("a reader by a cursor while two hosts deliver misses nothing and sees nothing twice", async () => {
  const location = await newLocation("postgres");
  const [one, other, third] = [await openHost(location), await openHost(location), await openHost(location)];
  const writers = [createMessageStore(one), createMessageStore(other)];
  const reader = createMessageStore(third);
  let isDelivering = true;
  const following = tenants.map((tenant) => follow(reader, tenant, () => isDelivering));
  const deliver = (store: MessageStore, host: number, place: number) =>
    Promise.all(tenants.map((tenant) => store.deliver(message(`${tenant}-host-${host}-${place}`), tenant, now)));
  const answers = await Promise.all(
    writers.map((store, host) => tenAtOnce(perHost, (place) => deliver(store, host, place))),
  );
  isDelivering = false;
  expect(new Set(answers.flat(2))).toEqual(new Set(["stored"]));
  for (const [place, seen] of (await Promise.all(following)).entries()) {
    expect(seen).toHaveLength(2 * perHost);
    expect(new Set(seen).size).toBe(2 * perHost);
    expect(seen.filter((id) => !id.startsWith(`${tenants[place]}-`))).toEqual([]);
  }
});

test("a message that is not committed yet holds back those that would overtake it", async () => {
  const [here, there] = await openPair();
  const store = createMessageStore(there);
  await store.deliver(message("first"), "tenant-1", now);
  const waiting = await here.db.transaction().execute(async (transaction) => {
    await transaction
      .selectFrom("inboxes")
      .select("sequence")
      .where("namespace_id", "=", "tenant-1")
      .forUpdate()
      .executeTakeFirstOrThrow();
    const overtaking = store.deliver(message("third"), "tenant-1", now);
    const second = { ...rowOf("second"), sequence: 2 };
    await transaction.insertInto("messages").values(second).execute();
    await transaction.updateTable("inboxes").set({ sequence: 2, unacknowledged: 2 }).execute();
    return { overtaking };
  });
  expect(await waiting.overtaking).toBe("stored");
  const received = await store.inbox({ namespaceId: "tenant-1", receiver: alice }, { limit: 10 });
  expect(received.map(({ sequence, envelope }) => [sequence, envelope.id])).toEqual([
    [1, "first"],
    [2, "second"],
    [3, "third"],
  ]);
});

function rowOf(id: string) {
  const about = { namespace_id: "tenant-1", receiver: "human:alice", sender: "agent:assistant" };
  return { ...about, id, content: JSON.stringify(message(id)), received_at: now, acknowledged_at: null };
}

test("one message that two hosts deliver at once is one, and an id that goes to two receivers at once goes to one", async () => {
  const stores = (await openPair()).map((database) => createMessageStore(database));
  const bob = { kind: "human", userId: "bob" } as const;
  for (let round = 0; round < 20; round += 1) {
    const same = message(`same-${round}`);
    const outcomes = await Promise.all(stores.map((store) => store.deliver(same, "tenant-1", now)));
    expect(outcomes).toEqual(["stored", "stored"]);
    const split = [message(`split-${round}`), { ...message(`split-${round}`), receiver: bob }];
    const answers = await Promise.all(
      stores.map((store, place) => store.deliver(split[place] ?? same, "tenant-1", now)),
    );
    expect(answers.toSorted()).toEqual(["conflict", "stored"]);
  }
  const [reader] = stores;
  const counts = await Promise.all(
    [alice, bob].map((receiver) => reader?.inbox({ namespaceId: "tenant-1", receiver }, { limit: 100 })),
  );
  expect(counts.flat()).toHaveLength(40);
});

test("two hosts that acknowledge at once give the room of each message back once", async () => {
  const stores = (await openPair()).map((database) => createMessageStore(database));
  const ids = Array.from({ length: 20 }, (_, place) => `message-${place}`);
  for (let round = 0; round < 5; round += 1) {
    const inbox = { namespaceId: `tenant-${round}`, receiver: alice };
    for (const id of ids) await stores[0]?.deliver(message(id), inbox.namespaceId, now);
    const unknown = await Promise.all(
      stores.map((store, host) => store.acknowledge(inbox, ids.slice(host * 5, host * 5 + 10), now)),
    );
    expect(unknown).toEqual([[], []]);
    expect(await stores[0]?.countUnacknowledged()).toBe(5 * (round + 1));
    expect(await stores[1]?.inbox(inbox, { limit: 100 })).toHaveLength(5);
  }
});
