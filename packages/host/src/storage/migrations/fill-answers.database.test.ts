import { sql } from "kysely";
import { expect, test } from "vitest";
import { databaseKinds, newLocation, openHost } from "../../../test/databases.ts";
import { writeBefore } from "../../../test/old-database.ts";

test.each(databaseKinds)(
  "what was approved before is found by its credential, and what waits by its grant, on %s",
  async (kind) => {
    const location = await newLocation(kind);
    await writeBefore("0023-answers", { kind, location }, async (db) => {
      for (let place = 0; place < 450; place += 1) {
        const status = ["denied", "approved", "pending"][place % 3];
        const decided = status === "pending" ? {} : { decidedBy: place % 2 === 0 ? "one" : "nul\0" };
        const approval = place % 5 === 0 ? {} : { approval: { grantId: `grant-${place}` } };
        await sql`insert into escalations (namespace_id, id, ask, requester, status, expires_at, content)
        values ('acme', ${`q${String(place).padStart(4, "0")}`}, ${`ask-${place}`}, '', ${status}, '2026-01-01',
          ${JSON.stringify({ ...decided, ...approval })})`.execute(db);
      }
    });
    const { db } = await openHost(location);
    const rows = await db.selectFrom("escalation_answers").selectAll().orderBy("escalation_id").execute();
    expect(rows).toHaveLength(150);
    expect(rows.slice(0, 2)).toEqual([
      { credential_id: expect.stringMatching(/^sha256:/) as string, namespace_id: "acme", escalation_id: "q0001" },
      { credential_id: "one", namespace_id: "acme", escalation_id: "q0004" },
    ]);
    const carried = db.selectFrom("escalations").select(["id", "grant_id"]).where("grant_id", "is not", null);
    const found = await carried.orderBy("id").execute();
    expect([found.length, found[0], found.at(-1)]).toEqual([
      120,
      { id: "q0002", grant_id: "grant-2" },
      { id: "q0449", grant_id: "grant-449" },
    ]);
  },
);
