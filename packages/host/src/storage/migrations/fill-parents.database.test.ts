import { sql } from "kysely";
import { describe, expect, test } from "vitest";
import { databaseKinds, newLocation, openHost } from "../../../test/databases.ts";
import { writeBefore } from "../../../test/old-database.ts";
import { grant } from "../../../test/records.ts";
import { openStores } from "../../compose/stores.ts";
import type { Database } from "../database.ts";

/** A database as it was before grants had a column for their parents, with these grants in it. */
async function writeOld(kind: Database["kind"], location: string, grants: readonly object[]): Promise<void> {
  await writeBefore("0010-read-indexes", { kind, location }, async (db) => {
    for (const one of grants as { id: string }[]) {
      await sql`insert into grants (namespace_id, id, subject, issuer, content)
      values ('tenant-1', ${one.id}, 'agent:assistant', 'human:alice', ${JSON.stringify(one)})`.execute(db);
    }
  });
}

describe.each(databaseKinds)("on %s", (kind) => {
  test("grants that were derived before there was a column for it are found by their parents", async () => {
    const location = await newLocation(kind);
    const many = Array.from({ length: 450 }, (_, place) => `child-${String(place).padStart(3, "0")}`);
    await writeOld(kind, location, [
      grant("root"),
      ...many.map((id) => grant(id, { parentId: "root" })),
      grant("grandchild", { parentId: "child-449" }),
      grant("child-of-nul", { parentId: "nul\0" }),
      grant("talks-of-it", { metadata: { parentId: "root" } }),
    ]);
    const { grants } = openStores(await openHost(location));
    const found = await grants.descendants("tenant-1", "root", 1000);
    expect(found.map(({ id }) => id)).toEqual([...many, "grandchild"]);
    expect(await grants.descendants("tenant-1", "nul\0", 9)).toMatchObject([{ id: "child-of-nul" }]);
  });
});
