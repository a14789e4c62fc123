import { describe, expect, test } from "vitest";
import type { JournalEntry } from "turnpike/runtime";
import { databaseKinds, newTenant, sharedDatabase } from "../../../test/databases.ts";
import { now } from "../../../test/records.ts";
import {
  beginTurn,
  endedEntry,
  eventEntries,
  openJournal,
  progress,
  turnToBegin,
} from "../../../test/turn-journals.ts";

const admitted: JournalEntry = {
  kind: "admitted",
  admission: { at: now, grantId: "run", grants: [], namespaces: [] },
};
const denied = { status: "denied", output: undefined, error: { code: "no_matching_grant", message: "No." } };

describe.each(databaseKinds)("the id of a turn on %s", (kind) => {
  const open = sharedDatabase(kind);

  test("is free again when it was denied before it was admitted, and not when it was afterwards", async () => {
    const database = await open();
    const tenant = newTenant();
    const journal = openJournal(database);
    const first = await beginTurn(journal, turnToBegin(tenant, "turn"));
    await first.write([...eventEntries(), endedEntry("turn", denied)], progress);
    const second = await beginTurn(journal, turnToBegin(tenant, "turn"));
    const stored = database.db.selectFrom("turn_entries").select("turn").where("turn", "=", first.id);
    expect(await stored.execute()).toEqual([]);
    await second.write([admitted], progress);
    await second.write([endedEntry("turn", denied)], progress);
    expect(await journal.begin(turnToBegin(tenant, "turn"), {})).toMatchObject({ kind: "known", isSame: true });
  });

  for (const { name, entries, kind: answer } of [
    { name: "is free again when no run before the denial admitted it", entries: eventEntries(), kind: "begun" },
    { name: "stays taken when a run before the denial admitted it", entries: [admitted], kind: "known" },
  ])
    test(name, async () => {
      const journal = openJournal(await open());
      const tenant = newTenant();
      const first = await beginTurn(journal, turnToBegin(tenant, "turn"));
      await first.write(entries, progress);
      await journal.leave(first);
      const second = await journal.take(first.id);
      await second?.write([endedEntry("turn", denied)], progress);
      expect((await journal.begin(turnToBegin(tenant, "turn"), {})).kind).toBe(answer);
    });

  test("says which turn has it, and whether it was begun by the same request, unless it is free", async () => {
    const journal = openJournal(await open());
    const tenant = newTenant();
    const { context, request } = turnToBegin(tenant, "turn");
    expect(await journal.known(context, request)).toBeUndefined();
    const first = await beginTurn(journal, turnToBegin(tenant, "turn"));
    expect(await journal.known(context, request)).toMatchObject({
      state: { executionId: "turn", status: "running" },
      isAsync: true,
      isSame: true,
    });
    const another = { ...request, metadata: { another: true } };
    expect(await journal.known(context, another)).toMatchObject({ isSame: false });
    await first.write([endedEntry("turn", denied)], progress);
    expect(await journal.known(context, request)).toBeUndefined();
  });

  test("is taken by one of forty who begin it again when it was denied", async () => {
    const database = await open();
    const tenant = newTenant();
    const journals = [openJournal(database), openJournal(database)] as const;
    await (await beginTurn(journals[0], turnToBegin(tenant, "turn"))).write([endedEntry("turn", denied)], progress);
    const begun = await Promise.all(
      Array.from({ length: 40 }, (_, place) =>
        journals[place % 2 === 0 ? 0 : 1].begin(turnToBegin(tenant, "turn"), {}),
      ),
    );
    expect(begun.filter(({ kind: how }) => how === "begun")).toHaveLength(1);
  });
});
