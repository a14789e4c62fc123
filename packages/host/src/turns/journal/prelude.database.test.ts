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
import { keepPreludes } from "./prelude.ts";

/** The options that a turn begins with. */
async function callOf(given?: CallOptions & { pen?: never }): Promise<CallOptions> {
  const calls: CallOptions[] = [];
  const executeTurn: ServiceApi["executeTurn"] = (_context, _request, call) => {
    calls.push(call ?? {});
    return Promise.resolve({} as never);
  };
  await keepPreludes({ executeTurn } as ServiceApi).executeTurn(context(), turn, given);
  return calls[0] ?? {};
}

async function trailOf({ db }: Database, tenant: string): Promise<string[]> {
  const rows = await db.selectFrom("audit").select("id").where("namespace_id", "=", tenant).execute();
  return rows.map(({ id }) => id);
}

describe.each(databaseKinds)("what is recorded before a turn begins, on %s,", (kind) => {
  const open = sharedDatabase(kind);

  test("is kept with its beginning, in one commit, and not before", async () => {
    const { database, statements } = recordStatements(await open());
    const tenant = newTenant();
    const journal = openJournal(database);
    const call = await callOf();
    await recordEvent(journal.ledger, auditEvent("listed", { namespaceId: tenant }), call);
    expect(await trailOf(database, tenant)).toEqual([]);
    statements.length = 0;
    expect(await journal.begin(turnToBegin(tenant, "turn"), call)).toMatchObject({ kind: "begun" });
    expect(statements.filter((text) => text === "commit")).toHaveLength(1);
    expect(await trailOf(database, tenant)).toEqual(["listed"]);
  });

  test("is not kept when the turn does not begin: nobody was shown anything", async () => {
    const shared = await open();
    const tenant = newTenant();
    const journal = openJournal(shared);
    await journal.begin(turnToBegin(tenant, "turn"), {});
    const call = await callOf();
    await recordEvent(journal.ledger, auditEvent("listed", { namespaceId: tenant }), call);
    expect(await journal.begin(turnToBegin(tenant, "turn"), call)).toMatchObject({ kind: "known" });
    const failing = openJournal(failingAt(shared, 1, "before", { of: "commit" }));
    await expect(failing.begin(turnToBegin(tenant, "other"), call)).rejects.toThrow("injected");
    expect(await trailOf(shared, tenant)).toEqual([]);
  });
});

test("nothing is decided before a turn begins, and one that goes on has begun", async () => {
  const { claim } = await callOf({ host: "mine" });
  const { ledger } = openJournal({ kind: "sqlite" } as Database);
  const choices = [{ event: auditEvent("decided", { outcome: "allowed" }) }];
  await expect(createDecisionLedger(ledger).decide(choices, { claim })).rejects.toThrow("has not begun");
  expect(await callOf({ host: "mine" })).toMatchObject({ host: "mine", claim: expect.anything() as unknown });
  const going = { host: "mine", pen: {} as never };
  expect(await callOf(going)).toBe(going);
});
