import { describe, expect, test } from "vitest";
import { databaseKinds, newTenant, sharedDatabase } from "../../../test/databases.ts";
import {
  beginTurn,
  endedEntry,
  eventEntries,
  openJournal,
  progress,
  turnToBegin,
  waitingEntry,
} from "../../../test/turn-journals.ts";
import { actorOf } from "./turn-rows.ts";

describe.each(databaseKinds)("on %s", (kind) => {
  const open = sharedDatabase(kind);

  test("live turns are those of a tenant that run, wait or ended after an instant", async () => {
    const journal = openJournal(await open());
    const [namespaceId, other] = [newTenant(), newTenant()];
    const begin = (tenant: string, id: string) => beginTurn(journal, turnToBegin(tenant, id));
    await begin(other, "elsewhere");
    await (await begin(namespaceId, "runs")).write(eventEntries(0, 2), progress);
    await (await begin(namespaceId, "waits")).write([waitingEntry("q1", "2099-01-01T00:00:00.000Z")], progress);
    for (const [id, completedAt] of [
      ["before", "2026-01-01T11:59:59.000Z"],
      ["after", "2026-01-01T12:00:01.000Z"],
    ] as const)
      await (await begin(namespaceId, id)).write([endedEntry(id, { completedAt })], progress);
    const rows = await journal.listLive(namespaceId, "2026-01-01T12:00:00.000Z");
    expect(rows.map((row) => [actorOf(row).executionId, row.status, row.events])).toEqual([
      ["runs", "running", 2],
      ["waits", "waiting", 0],
      ["after", "succeeded", 0],
    ]);
    const ids = rows.map(({ id }) => id);
    expect(await journal.findLive(ids.slice(0, 1))).toEqual(rows.slice(0, 1));
    expect([await journal.findLive([]), await journal.findLive(["t0"])]).toEqual([[], []]);
  });
});
