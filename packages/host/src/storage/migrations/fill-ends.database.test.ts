import { sql } from "kysely";
import { describe, expect, test } from "vitest";
import { databaseKinds, newLocation, openHost } from "../../../test/databases.ts";
import { writeBefore } from "../../../test/old-database.ts";
import { grant } from "../../../test/records.ts";

describe.each(databaseKinds)("on %s", (kind) => {
  test("grants from before there was a column for it end when they expire or are revoked, whichever is first", async () => {
    const location = await newLocation(kind);
    const many = Array.from({ length: 450 }, (_, place) => {
      const id = `many-${String(place).padStart(3, "0")}`;
      return grant(id, { constraints: { expiresAt: "2026-02-01T00:00:00Z" } });
    });
    const others = [
      grant("expires", { constraints: { expiresAt: "2026-03-01T01:00:00+01:00" } }),
      grant("far", { constraints: { expiresAt: "9999-12-31T23:59:59-01:00" } }),
      grant("forever", { metadata: { note: '"expiresAt":' } }),
      grant("revoked", { revokedAt: "2026-01-15T00:00:00Z", constraints: { expiresAt: "2026-03-01T00:00:00Z" } }),
      grant("revoked-late", { revokedAt: "2026-04-01T00:00:00Z", constraints: { expiresAt: "2026-03-01T00:00:00Z" } }),
    ];
    await writeBefore("0020-grant-ends", { kind, location }, async (db) => {
      for (const one of [...many, ...others])
        await sql`insert into grants (namespace_id, id, subject, issuer, content)
          values ('tenant-1', ${one.id}, 'agent:assistant', 'human:alice', ${JSON.stringify(one)})`.execute(db);
    });
    const { db } = await openHost(location);
    const rows = await db.selectFrom("grants").select(["id", "ends_at"]).orderBy("id").execute();
    const ends = Object.fromEntries(rows.map(({ id, ends_at }) => [id, ends_at]));
    expect(ends).toEqual({
      ...Object.fromEntries(many.map(({ id }) => [id, "2026-02-01T00:00:00.000Z"])),
      expires: "2026-03-01T00:00:00.000Z",
      far: "never",
      forever: "never",
      revoked: "2026-01-15T00:00:00.000Z",
      "revoked-late": "2026-03-01T00:00:00.000Z",
    });
  });
});
