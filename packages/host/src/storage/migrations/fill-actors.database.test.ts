import { sql } from "kysely";
import { describe, expect, test } from "vitest";
import { databaseKinds, newLocation, openHost } from "../../../test/databases.ts";
import { writeBefore } from "../../../test/old-database.ts";
import { access, alice } from "../../../test/records.ts";
import { openStores } from "../../compose/stores.ts";
import type { Database } from "../database.ts";

/** A database as it was before credentials had a column for who acts with them, with a credential of each actor. */
async function writeOld(kind: Database["kind"], location: string, actors: readonly object[]): Promise<void> {
  await writeBefore("0018-credential-actors", { kind, location }, async (db) => {
    for (const [place, actor] of actors.entries()) {
      const content = JSON.stringify({ ...access, actor });
      await sql`insert into credentials (id, namespace_id, secret_hash, access, created_at)
      values (${String(place).padStart(16, "0")}, 'tenant-1', 'hash', ${content}, '2026-01-01T00:00:00.000Z')`.execute(
        db,
      );
    }
  });
}

describe.each(databaseKinds)("on %s", (kind) => {
  test("credentials from before there was a column for it are counted with the actor who acts with them", async () => {
    const location = await newLocation(kind);
    const many = Array.from({ length: 450 }, (_, place) => ({ kind: "agent", agentId: `a${String(place % 3)}` }));
    const others = [
      alice,
      { kind: "group", conversationId: "family" },
      { kind: "service", serviceId: "mail:out" },
      { kind: "human", userId: "nul\0" },
    ];
    await writeOld(kind, location, [...many, ...others]);
    const { principals } = openStores(await openHost(location));
    const found = await principals.list("tenant-1", undefined, 99);
    expect(found.principals.map(({ principal }) => principal)).toEqual(
      expect.arrayContaining([...many.slice(0, 3), ...others]),
    );
    expect(found.principals).toHaveLength(7);
    const counts = await principals.count("tenant-1", ["agent:a0", "service:mail:out"]);
    expect([...counts.values()].map(({ credentials }) => credentials)).toEqual([150, 1]);
  });
});
