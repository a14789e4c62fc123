import { describe, expect, test } from "vitest";
import { databaseKinds, newTenant, openFresh } from "../../../test/databases.ts";
import { askAct, askIn, escalation } from "../../../test/office.ts";
import { assistant, grant } from "../../../test/records.ts";
import {
  approvalEntry,
  beginTurn,
  endedEntry,
  progress,
  turnKey,
  turnToBegin,
  waitingEntry,
} from "../../../test/turn-journals.ts";
import { openStores } from "../../compose/stores.ts";
import type { EscalationRecord } from "../../admin-contract/index.ts";

/** The end of a turn, as its entry says it, and an instant before. */
const [ended, before] = ["2026-01-01T12:00:09.000Z", "2026-01-01T12:00:08.999Z"];
/** After this test: cancelling is by the clock of the machine. */
const farOff = 100 * 365 * 86_400_000;

describe.each(databaseKinds)("an escalation of a turn on %s", (kind) => {
  const open = async () => {
    const stores = openStores(await openFresh(kind), { escalationMs: farOff });
    const namespaceId = newTenant();
    await stores.grants.issue(grant("grant-1", { namespaceId }));
    const begin = (name: string, isAsync = true) =>
      beginTurn(stores.turns, turnToBegin(namespaceId, name, { isAsync }));
    const askedIn = (executionId?: string, to = "bob"): Promise<EscalationRecord> => {
      const act = { kind: "tool", tool: "bank.pay", arguments: { to } } as const;
      return askAct(stores, namespaceId, { act }, executionId === undefined ? {} : { executionId });
    };
    const stateOf = async ({ id }: EscalationRecord, now = ended) => {
      const found = await stores.escalations.find(namespaceId, id, now);
      return found?.closed?.reason ?? found?.status;
    };
    return { stores, namespaceId, begin, askedIn, stateOf };
  };

  test("is closed when that ends, at that instant, and the step that marks what expired reports it", async () => {
    const { stores, begin, askedIn, stateOf } = await open();
    const writer = await begin("one");
    const record = await askedIn("one");
    expect(await stateOf(record)).toBe("pending");
    await writer.write([endedEntry("one")], progress);
    expect([await stateOf(record, before), await stateOf(record)]).toEqual(["pending", "turn_ended"]);
    expect(await stores.escalations.countPending(ended)).toBe(0);
    expect(await stores.escalations.expire(ended, 9)).toBe(1);
    expect(await stateOf(record, before)).toBe("turn_ended");
  });

  test("waits on when that was not asynchronous, because its caller comes back for the answer", async () => {
    const { begin, askedIn, stateOf } = await open();
    const writer = await begin("one", false);
    const record = await askedIn("one");
    await writer.write([endedEntry("one")], progress);
    expect(await stateOf(record)).toBe("pending");
  });

  test("waits on when another turn of that id ends, or when no turn asked it", async () => {
    const { stores, begin, askedIn, stateOf } = await open();
    const writer = await begin("one");
    const [direct, other] = [await askedIn(), await askedIn("other", "carol")];
    const elsewhere = await askAct(stores, newTenant(), {}, { executionId: "one" });
    await writer.write([endedEntry("one")], progress);
    expect([await stateOf(direct), await stateOf(other)]).toEqual(["pending", "pending"]);
    expect(await stores.escalations.find(elsewhere.namespaceId, elsewhere.id, ended)).toMatchObject({
      status: "pending",
    });
  });

  test("waits on while another turn waits for it, and is closed when that is cancelled, too", async () => {
    const { stores, namespaceId, begin, askedIn, stateOf } = await open();
    const [one, two] = [await begin("one"), await begin("two")];
    const record = await askedIn("one");
    await two.write([approvalEntry("call-1", record)], progress);
    await one.write([endedEntry("one")], progress);
    expect(await stateOf(record)).toBe("pending");
    await stores.turns.cancel(turnKey(namespaceId, "two"));
    expect(await stateOf(record, new Date().toISOString())).toBe("turn_cancelled");
  });

  test("is closed when that is cancelled, whether it waits or runs; a caller's own escalation stays", async () => {
    const { stores, namespaceId, begin, askedIn, stateOf } = await open();
    const [waits, runs] = [await begin("waits"), await begin("runs")];
    const records = [await askedIn("waits", "bob"), await askedIn("runs", "carol")] as const;
    const direct = await askedIn(undefined, "dora");
    await waits.write([approvalEntry("call-1", records[0]), approvalEntry("call-2", direct)], progress);
    for (const name of ["waits", "runs"]) await stores.turns.cancel(turnKey(namespaceId, name));
    const now = new Date().toISOString();
    expect(await Promise.all([...records, direct].map((record) => stateOf(record, now)))).toEqual([
      "turn_cancelled",
      "turn_cancelled",
      "pending",
    ]);
    runs.close(new Error("The test ends."));
  });

  test("that is closed with its grant wakes every turn that waits for it, which asks anew or learns what is gone", async () => {
    const { stores, namespaceId, begin, askedIn } = await open();
    const record = await askedIn("one");
    const writers = [await begin("one"), await begin("two")];
    for (const writer of writers) await writer.write([approvalEntry("call-1", record)], progress);
    await stores.grants.revoke(namespaceId, "grant-1", ended);
    for (const { id } of writers) {
      const taken = await stores.turns.take(id);
      expect(taken?.stored.at(-1)).toMatchObject({ kind: "waiting", callId: "call-1" });
    }
  });

  test("that is closed with the credential it was asked with is answered so where a driver asked by itself", async () => {
    const { stores, namespaceId, begin } = await open();
    const access = { actor: assistant, owner: assistant, purposes: ["support"] };
    const credential = (await stores.credentials.create({ namespaceId, access })).id;
    const record = await askIn(stores, namespaceId, escalation(), { executionId: "one", credential });
    const writer = await begin("one");
    await writer.write([waitingEntry(record.id, record.expiresAt)], progress);
    await stores.credentials.revoke(credential, ended);
    const taken = await stores.turns.take(writer.id);
    expect(taken?.stored.at(-1)).toMatchObject({
      kind: "answered",
      result: {
        status: "denied",
        error: {
          code: "escalation_expired",
          message: "The escalation can no longer be answered: the credential that it was asked with was revoked.",
        },
      },
    });
  });

  test("that ended with its turn before another began to wait for it wakes that one", async () => {
    const { stores, begin, askedIn } = await open();
    const [one, two] = [await begin("one"), await begin("two")];
    const record = await askedIn("one");
    await one.write([endedEntry("one")], progress);
    await two.write([approvalEntry("call-1", record)], progress);
    expect(await stores.turns.wakeMissed(9, before)).toEqual([]);
    expect(await stores.turns.wakeMissed(9, ended)).toEqual([two.id]);
    expect((await stores.turns.take(two.id))?.stored.at(-1)).toMatchObject({ kind: "waiting" });
  });

  test("under a grant that ends wakes its turn at that instant", async () => {
    const { stores, namespaceId, begin } = await open();
    await stores.grants.issue(grant("short", { namespaceId, constraints: { expiresAt: ended } }));
    const record = await askAct(stores, namespaceId, { grantId: "short" }, { executionId: "one" });
    const writer = await begin("one");
    await writer.write([approvalEntry("call-1", record)], progress);
    expect(await stores.turns.wakeExpired(before, 9)).toEqual([]);
    expect(await stores.turns.wakeExpired(ended, 9)).toEqual([writer.id]);
    expect((await stores.turns.take(writer.id))?.stored.at(-1)).toMatchObject({ kind: "waiting" });
  });
});
