import { describe, expect, test } from "vitest";
import type { TurnResult } from "turnpike/contracts";
import { databaseKinds, newTenant, sharedDatabase } from "../../../test/databases.ts";
import { beginTurn, endedEntry, openJournal, progress, turnToBegin } from "../../../test/turn-journals.ts";
import { failingAt, watched } from "../../../test/watched-database.ts";
import type { Database } from "../../storage/index.ts";

const done = { status: "succeeded" } as TurnResult;
const lost = { status: "failed", error: { code: "audit_unavailable" } } as TurnResult;

/** A synchronous turn on a database, of which others see this host as told. */
async function startOn(database: Database, isPresent: () => boolean) {
  const journal = openJournal({ ...database, strand: database.strand, isPresent });
  const turn = turnToBegin(newTenant(), "turn", { isAsync: false });
  const writer = await beginTurn(journal, turn);
  const mayTell = (result: TurnResult) => journal.mayTell(turn.context, turn.request, result);
  const end = (changes = {}) => writer.write([endedEntry("turn", changes)], progress);
  return { journal, writer, mayTell, end };
}

describe.each(databaseKinds)("the result of a synchronous turn on %s", (kind) => {
  const open = sharedDatabase(kind);
  const isAlone = kind === "sqlite";

  test("may be told when it is stored", async () => {
    const { mayTell, end } = await startOn(await open(), () => true);
    await end();
    expect(await mayTell(done)).toBe("result");
  });

  for (const when of ["before", "after"] as const)
    test(`may be told once a later attempt has stored it, when the first one failed ${when} it took effect`, async () => {
      const shared = await open();
      const { journal, writer, mayTell, end } = await startOn(failingAt(shared, 2, when, { of: "commit" }), () => true);
      await expect(end()).rejects.toThrow("injected");
      expect(await mayTell(done)).toBe("result");
      await journal.close();
      const row = shared.db.selectFrom("turns").select("status").where("id", "=", writer.id);
      expect(await row.executeTakeFirst()).toEqual({ status: "succeeded" });
    });

  test("is not told while it is not stored and others may hold the host for dead", async () => {
    const failing = failingAt(await open(), 2, "before", { of: "commit" });
    const { journal, mayTell, end } = await startOn(failing, () => false);
    await expect(end()).rejects.toThrow("injected");
    expect(await mayTell(done)).toBe(isAlone ? "result" : "interrupted");
    await journal.close();
  });

  test("is not told when another host has the turn by the time that it could be stored", async () => {
    const shared = await open();
    const { journal, writer, mayTell, end } = await startOn(
      failingAt(shared, 2, "before", { of: "commit" }),
      () => true,
    );
    await expect(end()).rejects.toThrow("injected");
    const others = { ...shared, strand: shared.strand, hostId: shared.hostId + 1000 };
    const other = openJournal({ ...others, isAlive: () => Promise.resolve(false) });
    expect(await other.take(writer.id)).toMatchObject({ run: 2 });
    expect(await mayTell(done)).toBe(isAlone ? "result" : "interrupted");
    await journal.close();
  });

  test("that its journal was lost is told when it is how the turn ended, and not when it is stored nowhere", async () => {
    const running = await startOn(await open(), () => true);
    expect(await running.mayTell(lost)).toBe(isAlone ? "result" : "pending");
    const ended = await startOn(await open(), () => true);
    await ended.end({ status: "failed", error: { code: "audit_unavailable", message: "Lost.", retryable: false } });
    expect(await ended.mayTell(lost)).toBe("result");
  });

  test("that its journal was lost is not told of a turn that cannot be read, which may go on", async () => {
    let isAway = false;
    const shared = await open();
    const { mayTell, end } = await startOn(
      watched(shared, {
        before: () => {
          if (isAway) throw new Error("away");
        },
      }),
      () => true,
    );
    await end();
    isAway = true;
    expect(await mayTell(lost)).toBe(isAlone ? "result" : "pending");
    isAway = false;
    expect(await mayTell(lost)).toBe(isAlone ? "result" : "interrupted");
  });
});
