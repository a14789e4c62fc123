import { sql } from "kysely";
import { describe, expect, test } from "vitest";
import { databaseKinds, openFresh } from "../../test/databases.ts";
import { grant } from "../../test/records.ts";
import { openStores } from "../compose/stores.ts";
import { distinctNames } from "./distinct-names.ts";

describe.each(databaseKinds)("distinct names on %s", (kind) => {
  test("are those of every column once, in their order, of the rows that count", async () => {
    const database = await openFresh(kind);
    const { grants } = openStores(database);
    const agent = (agentId: string) => ({ kind: "agent", agentId }) as const;
    for (const [place, [subject, issuer]] of [
      ["c", "a"],
      ["a", "b"],
      ["c", "d"],
      ["e", "e"],
    ].entries())
      await grants.issue(grant(`g${place}`, { subject: agent(subject ?? ""), issuer: agent(issuer ?? "") }));
    await grants.issue(grant("other", { namespaceId: "tenant-2", subject: agent("z") }));
    const where = sql<boolean>`namespace_id = 'tenant-1'`;
    const columns = [
      { table: "grants", column: "subject", where },
      { table: "grants", column: "issuer", where },
    ] as const;
    const all = ["agent:a", "agent:b", "agent:c", "agent:d", "agent:e"];
    expect(await distinctNames(database.reporting, columns, { most: 9 })).toEqual(all);
    expect(await distinctNames(database.reporting, columns, { most: 2 })).toEqual(all.slice(0, 2));
    expect(await distinctNames(database.reporting, columns, { after: "agent:b", most: 2 })).toEqual(all.slice(2, 4));
    expect(await distinctNames(database.reporting, columns, { after: "agent:e", most: 2 })).toEqual([]);
    const tenants = [{ table: "grants", column: "namespace_id" }] as const;
    expect(await distinctNames(database.reporting, tenants, { most: 9 })).toEqual(["tenant-1", "tenant-2"]);
  });
});
