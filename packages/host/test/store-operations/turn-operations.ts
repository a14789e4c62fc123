import { call } from "../counting-api.ts";
import type { Stores } from "../../src/compose/stores.ts";
import type { LedgerRunWriter } from "../../src/turns/journal/run-writer.ts";
import { askIn, escalation, officeTime } from "../office.ts";
import { access, assistant, context, neverAborted } from "../records.ts";
import { beginTurn, endedEntry, eventEntries, progress, turnKey, turnToBegin, waitingEntry } from "../turn-journals.ts";
import type { JournalEntry } from "turnpike/runtime";
import { openAllStores, type Operation, type Operations, type Seed } from "./operation.ts";

/** The entry of a call that is about to be made. */
export const oneCall: JournalEntry = { kind: "call", call, step: 0, repeatable: false };

/** A turn that runs. After a write that failed nothing more is written by its run: each later writer is of the next one. */
export async function writerOf({ turns }: Stores, { tenant }: Seed): Promise<() => Promise<LedgerRunWriter>> {
  const first = await beginTurn(turns, turnToBegin(tenant, "turn"));
  let isUsed = false;
  return async () => {
    if (!isUsed) {
      isUsed = true;
      return first;
    }
    const next = await turns.take(first.id);
    if (next === undefined) throw new Error("The turn was not taken.");
    return next;
  };
}

/** A turn stores entries. */
function writing(...entries: readonly JournalEntry[]): Operation {
  return async (stores, seed) => {
    const nextWriter = await writerOf(stores, seed);
    return async () => (await nextWriter()).write(entries, progress);
  };
}

/** A turn that no host runs. */
async function leftTurn({ turns }: Stores, { tenant }: Seed): Promise<LedgerRunWriter> {
  const writer = await beginTurn(turns, turnToBegin(tenant, "turn"));
  await writer.write(eventEntries(0, 2), progress);
  await turns.leave(writer);
  return writer;
}

/** A turn that waits for an escalation. */
async function waitingTurn(stores: Stores, { tenant }: Seed, expiresAt: string): Promise<string> {
  const { id } = await askIn(stores, tenant, escalation({ requestedAt: longAgo }));
  const writer = await beginTurn(stores.turns, turnToBegin(tenant, "turn"));
  await writer.write([waitingEntry(id, expiresAt)], progress);
  return id;
}

/** Long before anything else in these tests expires. */
const [longAgo, soonAfter, later] = [
  "1999-01-01T00:00:00.000Z",
  "1999-01-02T00:00:00.000Z",
  "1999-02-01T00:00:00.000Z",
];

/** The journal of turns. */
export const turnOperations: Operations = {
  "turns.begin":
    ({ turns }, { tenant }) =>
    () =>
      turns.begin(turnToBegin(tenant, "new"), {}),
  "turns.begin, again": async ({ turns }, { tenant }) => {
    await beginTurn(turns, turnToBegin(tenant, "turn"));
    return () => turns.begin(turnToBegin(tenant, "turn"), {});
  },
  "turns.begin, after a refusal": async ({ turns }, { tenant }) => {
    const writer = await beginTurn(turns, turnToBegin(tenant, "turn"));
    const error = { code: "no_matching_grant", message: "No." };
    await writer.write([endedEntry("turn", { status: "denied", error, output: undefined })], progress);
    return () => turns.begin(turnToBegin(tenant, "turn"), {});
  },
  "turns.begin, and its run stores events": writing(...eventEntries(0, 2)),
  "turns.begin, and its run stores a call": writing(oneCall),
  "turns.begin, and its run waits": writing(waitingEntry("escalation-1", "2999-01-01T00:00:00.000Z")),
  "turns.begin, and its run ends": writing(...eventEntries(2, 3), endedEntry("turn")),
  "turns.known": ({ turns }, { tenant }) => {
    const { request } = turnToBegin(tenant, "turn");
    return () => turns.known(context({ namespaceId: tenant }), request);
  },
  "turns.find": async (stores, seed) => {
    await leftTurn(stores, seed);
    return () => Promise.resolve(stores.turns.find(turnKey(seed.tenant, "turn")));
  },
  "turns.findBy": async (stores, seed) => {
    await leftTurn(stores, seed);
    return () => stores.turns.findBy(seed.tenant, "turn");
  },
  "turns.findLive": async (stores, seed) => {
    const { id } = await leftTurn(stores, seed);
    return () => stores.turns.findLive([id]);
  },
  "turns.list":
    ({ turns }, { tenant }) =>
    () =>
      Promise.resolve(turns.list({ namespaceId: tenant, actor: assistant }, { limit: 9 })),
  "turns.listAll":
    ({ turns }, { tenant }) =>
    () =>
      turns.listAll({ namespaceId: tenant, limit: 9 }),
  "turns.listOpenOf":
    ({ turns }, { tenant, credential }) =>
    () =>
      turns.listOpenOf({ id: credential.id, namespaceId: tenant, access }, { limit: 9 }),
  "turns.listLive":
    ({ turns }, { tenant }) =>
    () =>
      turns.listLive(tenant, officeTime),
  "turns.listHosts":
    ({ turns }) =>
    () =>
      turns.listHosts(),
  "turns.countOf":
    ({ turns }, { tenant }) =>
    () =>
      turns.countOf(tenant),
  "turns.events": async (stores, seed) => {
    await leftTurn(stores, seed);
    return () => Promise.resolve(stores.turns.events(turnKey(seed.tenant, "turn"), -1));
  },
  "turns.follow": async (stores, seed) => {
    await leftTurn(stores, seed);
    return () => stores.turns.follow(turnKey(seed.tenant, "turn"), -1, neverAborted)[Symbol.asyncIterator]().next();
  },
  "turns.cancel": async (stores, seed) => {
    await waitingTurn(stores, seed, "2999-01-01T00:00:00.000Z");
    return () => Promise.resolve(stores.turns.cancel(turnKey(seed.tenant, "turn")));
  },
  "turns.cancelled":
    ({ turns }) =>
    () =>
      turns.cancelled(),
  "turns.leave": async ({ turns }, { tenant }) => {
    const writer = await beginTurn(turns, turnToBegin(tenant, "turn"));
    return () => turns.leave(writer);
  },
  "turns.letGo": async ({ turns }, { tenant }, database) => {
    // The stores under test have no run of it.
    await beginTurn(openAllStores(database).turns, turnToBegin(tenant, "turn"));
    return () => turns.letGo();
  },
  "turns.take": async (stores, seed) => {
    const { id } = await leftTurn(stores, seed);
    return () => stores.turns.take(id);
  },
  "turns.unattended":
    ({ turns }) =>
    () =>
      turns.unattended(9),
  "turns.wakeAnswered": async (stores, seed, { db }) => {
    const id = await waitingTurn(stores, seed, "2999-01-01T00:00:00.000Z");
    const answer = { namespaceId: seed.tenant, id, status: "denied", now: officeTime } as const;
    return () => db.transaction().execute((transaction) => stores.turns.wakeAnswered(transaction, answer));
  },
  "turns.wakeExpired": async (stores, seed) => {
    await waitingTurn(stores, seed, soonAfter);
    return () => stores.turns.wakeExpired(later, 9);
  },
  "turns.wakeMissed": async (stores, seed, { db }) => {
    const id = await waitingTurn(stores, seed, "2999-01-01T00:00:00.000Z");
    const escalations = db.updateTable("escalations").set({ status: "denied" });
    await escalations.where("namespace_id", "=", seed.tenant).where("id", "=", id).execute();
    return () => stores.turns.wakeMissed(9, officeTime);
  },
};
