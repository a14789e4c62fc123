import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { Grant } from "turnpike/contracts";
import { databaseKinds, newTenant, openFresh, openPair } from "../../test/databases.ts";
import { grant } from "../../test/records.ts";
import type { InvariantRecord } from "../admin-contract/index.ts";
import { openStores, type Stores } from "../compose/stores.ts";
import { createRevisions } from "../storage/index.ts";
import { InvariantViolatedError } from "./check-invariants.ts";
import { RevisionPassedError } from "./grant-writes.ts";
import { createInvariantStore, type InvariantStore } from "./invariant-store.ts";

const at = "2026-01-01T12:00:00.000Z";
const apart: InvariantRecord = {
  id: "apart",
  separate: {
    acts: [
      { action: "create", resource: "payments" },
      { action: "approve", resource: "payments" },
    ],
  },
};

function holding(namespaceId: string, action: string): Grant {
  const capabilities = [{ resource: { namespace: "payments", path: [] }, actions: [action], scope: "exact" as const }];
  return grant(action, { namespaceId, capabilities });
}

/** How each of some writes that began together ended. */
async function endsOf(writes: readonly (Promise<unknown> | undefined)[]): Promise<string[]> {
  const ends = await Promise.allSettled(writes);
  return ends
    .map((end) => {
      if (end.status === "fulfilled") return "written";
      if (end.reason instanceof InvariantViolatedError) return "refused";
      throw end.reason;
    })
    .toSorted();
}

describe("on a PostgreSQL that two hosts share", () => {
  const rounds = 10;

  test("of two grants that break a rule only together one is issued, and the other is refused", async () => {
    const [here, there] = (await openPair()).map((database) => openStores(database));
    for (let round = 0; round < rounds; round += 1) {
      const namespaceId = newTenant();
      await here?.invariants.add({ ...apart, namespaceId }, at);
      const writes = [
        here?.grants.issue(holding(namespaceId, "create"), undefined, at),
        there?.grants.issue(holding(namespaceId, "approve"), undefined, at),
      ];
      expect(await endsOf(writes)).toEqual(["refused", "written"]);
      expect(await there?.grants.list(namespaceId, { limit: 9 })).toHaveLength(1);
    }
  });

  test("of a grant and a rule that it breaks one is written, and the other is refused", async () => {
    const [here, there] = (await openPair()).map((database) => openStores(database));
    for (let round = 0; round < rounds; round += 1) {
      const namespaceId = newTenant();
      // A rule about every tenant as well as one about its own.
      const of = round % 2 === 0 ? { namespaceId } : {};
      const rule = { id: `none-${round}`, ...of, never: { resource: "payments", action: `act-${round}` } };
      const writes = [
        here?.invariants.add(rule, at),
        there?.grants.issue(holding(namespaceId, `act-${round}`), undefined, at),
      ];
      expect(await endsOf(writes)).toEqual(["refused", "written"]);
    }
  });
});

describe.each(databaseKinds)("a rule that is added on %s while grants are issued", (kind) => {
  /** The rules of a database, in which something else is written each time before a rule is. */
  async function openBehind(write: (stores: Stores) => Promise<unknown>): Promise<InvariantStore> {
    const database = await openFresh(kind);
    const [stores, revisions] = [openStores(database), createRevisions(database)];
    return createInvariantStore(database, {
      ...revisions,
      async write(change) {
        await write(stores);
        return revisions.write(change);
      },
    });
  }

  test("is held against what was issued after it was checked", async () => {
    let issued = 0;
    const invariants = await openBehind(async ({ grants }) => {
      if ((issued += 1) === 1) await grants.issue(holding("acme", "create"), undefined, at);
    });
    const rule = { id: "none", namespaceId: "acme", never: { resource: "payments" } };
    await expect(invariants.add(rule, at)).rejects.toThrow(InvariantViolatedError);
    expect(await invariants.list("acme")).toEqual([]);
    const other = { ...rule, never: { resource: "payments", action: "approve" } };
    expect(await invariants.add(other, at)).toEqual({ violations: [] });
  });

  test("is not added where something is changed each time that it is checked", async () => {
    let issued = 0;
    const invariants = await openBehind(({ grants }) =>
      grants.issue(grant(`grant-${(issued += 1)}`, { namespaceId: "acme" }), undefined, at),
    );
    const rule = { id: "none", namespaceId: "acme", never: { resource: "payments" } };
    await expect(invariants.add(rule, at)).rejects.toThrow(RevisionPassedError);
    expect([issued, await invariants.list("acme")]).toEqual([10, []]);
  });
});

test("grants are written in one file alone, whose every way to issue one holds it against the rules", () => {
  const root = join(import.meta.dirname, "..");
  const writing = readdirSync(root, { recursive: true, encoding: "utf8" }).filter((file) => {
    if (!file.endsWith(".ts") || /\.test\.ts$|migrations/.test(file)) return false;
    return /(insertInto|updateTable)\("grants"\)|(insert into|update) grants\b/.test(
      readFileSync(join(root, file), "utf8"),
    );
  });
  expect(writing).toEqual([join("grants", "grant-writes.ts")]);
  const source = readFileSync(join(root, "grants/grant-writes.ts"), "utf8");
  expect(source.match(/await insertRows\(/g)).toHaveLength(2);
  expect(source.match(/await requireInvariants\(/g)).toHaveLength(2);
});
