import { sql } from "kysely";
import { expect, test } from "vitest";
import { databaseKinds, openFresh } from "../../test/databases.ts";
import { heartbeat } from "./heartbeat.ts";
import { isOutage } from "./outage.ts";

for (const kind of databaseKinds) {
  test(`the write is made durable on ${kind} and leaves nothing behind`, async () => {
    const database = await openFresh(kind);
    for (let beat = 0; beat < 3; beat += 1) await heartbeat(database);
    expect(await database.db.selectFrom("heartbeats").selectAll().execute()).toEqual([]);
  });
}

test("the write is refused while the disk is full, and taken again once it is not", async () => {
  const database = await openFresh("sqlite");
  const { db } = database;
  await sql`pragma max_page_count = 1`.execute(db);
  let isFull = false;
  for (let row = 0; !isFull; row += 1) {
    const large = { namespace_id: `tenant-${row}`, owner: "x".repeat(3000) };
    isFull = await db
      .insertInto("owners")
      .values(large)
      .execute()
      .then(
        () => false,
        () => true,
      );
  }
  await expect(heartbeat(database)).rejects.toSatisfy(isOutage);
  await sql`pragma max_page_count = 1000000`.execute(db);
  await heartbeat(database);
});
