import { sql } from "kysely";
import { describe, expect, test } from "vitest";
import { TurnStateSchema } from "turnpike/contracts";
import { events, turn } from "../../../test/counting-api.ts";
import { databaseKinds, newLocation, openHost } from "../../../test/databases.ts";
import { writeBefore } from "../../../test/old-database.ts";
import { assistant, context } from "../../../test/records.ts";
import { openStores } from "../../compose/stores.ts";
import { turnFingerprint } from "../../ledger/index.ts";
import type { Database } from "../database.ts";

const times = { startedAt: "2026-01-01T12:00:00Z", completedAt: "2026-01-01T12:00:01Z" };

function resultOf(executionId: string) {
  const said = { output: "done \0 \ud800", metadata: { events: "stored" } };
  return { status: "succeeded", version: 1, executionId, traceId: "trace-1", ...times, ...said, events };
}

/** A database as it was when replay protection stored turns, with these rows in it. */
async function writeOld(
  kind: Database["kind"],
  location: string,
  rows: readonly { id: string; actor?: string; result?: object; finishedAt?: string }[],
): Promise<void> {
  await writeBefore("0012-turns", { kind, location }, async (db) => {
    for (const { id, actor = "agent:assistant", result, finishedAt = null } of rows) {
      const fingerprint = turnFingerprint(context(), { ...turn, executionId: id });
      await sql`insert into replay (namespace_id, actor, kind, scope, id, fingerprint, host_id, claim, result, finished_at)
      values ('tenant-1', ${actor}, 'turn', '', ${id}, ${fingerprint}, 1, 'claim',
        ${result === undefined ? null : JSON.stringify(result)}, ${finishedAt})`.execute(db);
    }
    await sql`insert into replay (namespace_id, actor, kind, scope, id, fingerprint, host_id, claim)
    values ('tenant-1', 'agent:assistant', 'tool', 'trace-1', 'call', 'print', 1, 'claim')`.execute(db);
  });
}

const keyOf = (executionId: string) => ({ namespaceId: "tenant-1", actor: assistant, executionId });
const beginning = (executionId: string, changes = {}) => ({
  request: { ...turn, executionId, ...changes },
  context: context({ executionId }),
  isAsync: false,
  runtime: { id: "test", version: "1" },
  limits: { maxSteps: 1, maxToolCalls: 1, timeoutMs: 1 },
  startedAt: times.startedAt,
});

describe.each(databaseKinds)("on %s", (kind) => {
  test("turns from before there was a journal keep their ids and their results", async () => {
    const location = await newLocation(kind);
    const finishedAt = times.completedAt;
    const many = Array.from({ length: 120 }, (_, place) => ({
      id: `turn-${place}`,
      result: resultOf(`turn-${place}`),
      finishedAt,
    }));
    await writeOld(kind, location, many);
    const database = await openHost(location);
    const { turns } = openStores(database);
    for (const { id, result } of [many[0], many[119]].flatMap((row) => row ?? [])) {
      const state = await turns.find(keyOf(id));
      expect(state).toMatchObject({ status: "succeeded", agent: assistant, result });
      expect(TurnStateSchema.parse(state)).toEqual(state);
      expect(await turns.events(keyOf(id), 0)).toEqual(events.slice(1));
      const again = await turns.begin(beginning(id), {});
      expect(again).toMatchObject({ kind: "known", isSame: true, isAsync: false, state: { result } });
      const other = await turns.begin(beginning(id, { metadata: { another: true } }), {});
      expect(other).toMatchObject({ kind: "known", isSame: false });
    }
    expect(await turns.unattended(10)).toEqual([]);
    const left = await database.db.selectFrom("replay").select("id").execute();
    expect(left).toEqual([{ id: "call" }]);
  });

  test("turns from before that have no result are interrupted, whether they ran or their result was forgotten", async () => {
    const location = await newLocation(kind);
    await writeOld(kind, location, [{ id: "ran" }, { id: "forgotten", finishedAt: times.completedAt }]);
    const { turns } = openStores(await openHost(location));
    for (const id of ["ran", "forgotten"]) {
      const state = await turns.find(keyOf(id));
      expect(state).toMatchObject({ status: "failed", result: { error: { code: "turn_interrupted" }, events: [] } });
      expect(TurnStateSchema.parse(state)).toEqual(state);
      expect(await turns.begin(beginning(id), {})).toMatchObject({ kind: "known", isSame: true });
    }
  });

  test("the id of a turn from before actors were stored stays taken for every actor", async () => {
    const location = await newLocation(kind);
    await writeOld(kind, location, [{ id: "old", actor: "", result: resultOf("old"), finishedAt: times.completedAt }]);
    const { turns } = openStores(await openHost(location));
    expect(await turns.begin(beginning("old"), {})).toMatchObject({ kind: "known", isSame: true });
    // It belongs to no actor: what it says is for every caller who knows its request.
    expect(await turns.find(keyOf("old"))).toBeUndefined();
  });
});
