import { describe, expect, test } from "vitest";
import { databaseKinds, newTenant, sharedDatabase } from "../../test/databases.ts";
import { auditEvent } from "../../test/records.ts";
import { OutdatedHostError, ownEpoch } from "../storage/index.ts";
import { entryOf } from "./chain.ts";
import { openLedger } from "./ledger.ts";
import type { Submission } from "./submission.ts";

const open = sharedDatabase("postgres");

async function world() {
  const database = await open();
  const tenant = newTenant();
  const ledger = openLedger(database);
  const record = (id: string): Submission => ({
    alternatives: [{ entries: [entryOf(auditEvent(id, { namespaceId: tenant }))] }],
  });
  const keyOf = (id: string) => ({ namespace_id: tenant, actor: "agent:a", kind: "tool", scope: "", id }) as const;
  const claiming = (id: string, maxUses?: number): Submission => ({
    claim: { key: keyOf(id), fingerprint: "one", nonce: `${tenant} ${id}` },
    alternatives: [
      {
        entries: [entryOf(auditEvent(id, { namespaceId: tenant }))],
        uses: maxUses === undefined ? [] : [{ namespaceId: tenant, grantId: "grant-1", maxUses }],
      },
    ],
  });
  const ending = (id: string): Submission => ({
    ...record(`${id} ended`),
    ending: {
      key: keyOf(id),
      nonce: `${tenant} ${id}`,
      outcome: { kind: "finished", result: '"done"', isRead: false },
    },
  });
  const beginning = (id: string): Submission => ({
    begins: {
      id: `${tenant} ${id}`,
      namespace_id: tenant,
      actor: "agent:a",
      execution_id: id,
      fingerprint: "one",
      is_async: 1,
      heading: "{}",
      content: "{}",
      started_at: "2026-01-01T12:00:00.000Z",
      updated_at: "2026-01-01T12:00:00.000Z",
      bytes: 4,
      most: { turns: 100, bytes: 1000 },
    },
  });
  const stored = async () => {
    const rowsOf = (table: "audit" | "replay" | "turns") =>
      database.db.selectFrom(table).select("id").where("namespace_id", "=", tenant).orderBy("id").execute();
    const [events, ids, turns] = await Promise.all([rowsOf("audit"), rowsOf("replay"), rowsOf("turns")]);
    return [...events, ...ids, ...turns].map(({ id }) => id);
  };
  const setLowest = (lowest: number) => database.db.updateTable("schema_epoch").set({ lowest }).execute();
  /** Writes with a ledger that knows nothing, so that it reads first. */
  const submitUnknowing = (submission: Submission) => openLedger(database).submit(submission);
  return { ledger, submitUnknowing, tenant, record, claiming, ending, beginning, stored, setLowest };
}

describe.runIf(databaseKinds.includes("postgres"))("a host that is too old, and has not heard of it", () => {
  for (const { what, isSlow } of [
    { what: "with a statement that reads nothing first", isSlow: false },
    { what: "in a transaction", isSlow: true },
  ])
    test(`takes no id and begins no turn ${what}, and finishes what it does`, async () => {
      const { ledger, submitUnknowing, tenant, record, claiming, ending, beginning, stored, setLowest } = await world();
      await ledger.submit(record("first"));
      const submit = isSlow ? submitUnknowing : ledger.submit;
      const claim = (id: string) => claiming(id, 10);
      await submit(claim("running"));
      const before = await stored();

      await setLowest(ownEpoch + 1);
      const refused = [claim("new"), beginning("new-turn")].map((one) => submit(one));
      for (const { status, reason } of (await Promise.allSettled(refused)) as PromiseRejectedResult[])
        expect([status, reason]).toEqual(["rejected", expect.any(OutdatedHostError)]);
      expect(await stored()).toEqual(before);
      expect(await ledger.submit(ending("running"))).toEqual({ kind: "written", alternative: 0 });
      expect(await ledger.submit(record("later"))).toEqual({ kind: "written", alternative: 0 });

      await setLowest(ownEpoch);
      expect(await submit(claim("new"))).toEqual({ kind: "written", alternative: 0 });
      expect(await submit(beginning("new-turn"))).toEqual({ kind: "written", alternative: -1 });
      expect(await stored()).toEqual(expect.arrayContaining(["new", `${tenant} new-turn`]));
    });

  test("ends what runs in the batch in which it may not begin something", async () => {
    const { ledger, record, claiming, ending, setLowest } = await world();
    await ledger.submit(record("first"));
    await ledger.submit(claiming("running"));
    await setLowest(ownEpoch + 1);
    const [ended, begun] = await Promise.allSettled([ledger.submit(ending("running")), ledger.submit(claiming("new"))]);
    expect([ended.status, begun.status]).toEqual(["fulfilled", "rejected"]);
    await setLowest(ownEpoch);
  });
});
