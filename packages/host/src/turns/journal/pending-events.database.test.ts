import { describe, expect, test } from "vitest";
import type { ServiceApi } from "turnpike/http";
import type { CallOptions } from "turnpike/kernel";
import { turn } from "../../../test/counting-api.ts";
import { databaseKinds, newTenant, sharedDatabase } from "../../../test/databases.ts";
import { auditEvent, context } from "../../../test/records.ts";
import { openJournal, turnToBegin } from "../../../test/turn-journals.ts";
import { failingAt, recordStatements } from "../../../test/watched-database.ts";
import { createDecisionLedger, recordEvent } from "../../ledger/index.ts";
import type { Database } from "../../storage/index.ts";
import { writeEventsWithTurns } from "./pending-events.ts";

/** The options that a turn begins with. */
async function callOf(given?: CallOptions & { writer?: never }): Promise<CallOptions> {
  const calls: CallOptions[] = [];
  const executeTurn: ServiceApi["executeTurn"] = (_context, _request, call) => {
    calls.push(call ?? {});
    return Promise.resolve({} as never);
  };
  await writeEventsWithTurns({ executeTurn } as ServiceApi).executeTurn(context(), turn, given);
  return calls[0] ?? {};
}

async function auditLogOf({ db }: Database, tenant: string): Promise<string[]> {
  const rows = await db.selectFrom("audit").select("id").where("namespace_id", "=", tenant).execute();
  return rows.map(({ id }) => id);
}

describe.each(databaseKinds)("what is recorded before a turn begins, on %s,", (kind) => {
  const open = sharedDatabase(kind);

  test("is stored with its beginning, in one commit, and not before", async () => {
    const { database, statements } = recordStatements(await open());
    const tenant = newTenant();
    const journal = openJournal(database);
    const call = await callOf();
    await recordEvent(journal.ledger, auditEvent("listed", { namespaceId: tenant }), call);
    expect(await auditLogOf(database, tenant)).toEqual([]);
    statements.length = 0;
    expect(await journal.begin(turnToBegin(tenant, "turn"), call)).toMatchObject({ kind: "begun" });
    expect(statements.filter((text) => text === "commit")).toHaveLength(1);
    expect(await auditLogOf(database, tenant)).toEqual(["listed"]);
  });

  test("is not stored when the turn does not begin: no one was shown anything", async () => {
    const shared = await open();
    const tenant = newTenant();
    const journal = openJournal(shared);
    await journal.begin(turnToBegin(tenant, "turn"), {});
    const call = await callOf();
    await recordEvent(journal.ledger, auditEvent("listed", { namespaceId: tenant }), call);
    expect(await journal.begin(turnToBegin(tenant, "turn"), call)).toMatchObject({ kind: "known" });
    const failing = openJournal(failingAt(shared, 1, "before", { of: "commit" }));
    await expect(failing.begin(turnToBegin(tenant, "other"), call)).rejects.toThrow("injected");
    expect(await auditLogOf(shared, tenant)).toEqual([]);
  });
});

test("nothing is decided before a turn begins, and one that resumes has begun", async () => {
  const { writes } = await callOf({ host: "mine" });
  const { ledger } = openJournal({ kind: "sqlite", onReturn: () => {} } as unknown as Database);
  const choices = [{ event: auditEvent("decided", { outcome: "allowed" }) }];
  await expect(createDecisionLedger(ledger).decide(choices, { writes })).rejects.toThrow("has not begun");
  expect(await callOf({ host: "mine" })).toMatchObject({ host: "mine", writes: expect.anything() as unknown });
  const going = { host: "mine", writer: {} as never };
  expect(await callOf(going)).toBe(going);
});
