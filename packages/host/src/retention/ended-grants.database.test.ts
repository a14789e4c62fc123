import { describe, expect, test } from "vitest";
import { databaseKinds, newTenant, sharedDatabase } from "../../test/databases.ts";
import { grant } from "../../test/records.ts";
import { openStores } from "../compose/stores.ts";
import { removeEndedGrants } from "./ended-grants.ts";
import type { RunStep } from "./retention.ts";

const now = new Date("2026-06-01T00:00:00.000Z");
const straight: RunStep = (work) => work();

describe.each(databaseKinds)("a grant on %s", (kind) => {
  const open = sharedDatabase(kind);

  for (const row of [
    {
      name: "that expired long ago goes",
      changes: { constraints: { expiresAt: "2026-01-01T11:00:00Z" } },
      stays: false,
    },
    {
      name: "that expired within the days by the clock of another zone stays",
      changes: { constraints: { expiresAt: "2026-05-01T23:00:00-02:00" } },
      stays: true,
    },
    { name: "that was revoked long ago goes", changes: { revokedAt: "2026-02-01T00:00:00Z" }, stays: false },
    { name: "that expired lately stays", changes: { constraints: { expiresAt: "2026-05-20T00:00:00Z" } }, stays: true },
    {
      name: "that has not expired stays",
      changes: { constraints: { expiresAt: "2027-01-01T00:00:00Z" } },
      stays: true,
    },
    { name: "without an end stays", changes: {}, stays: true },
  ]) {
    test(row.name, async () => {
      const { grants } = openStores(await open());
      const namespaceId = newTenant();
      await grants.issue(grant("one", { namespaceId, ...row.changes }));
      await removeEndedGrants(grants, 30).run(now, straight);
      expect((await grants.findStored(namespaceId, "one")) !== undefined).toBe(row.stays);
      // Also for the kernel, which caches what it has read.
      expect((await grants.find(namespaceId, "one")) !== undefined).toBe(row.stays);
    });
  }

  test("goes with its uses, one of many, and beside those that stay", async () => {
    const { grants, usage } = openStores(await open());
    const namespaceId = newTenant();
    const constraints = { expiresAt: "2026-01-01T11:00:00Z", maxUses: 2 };
    for (let place = 0; place < 250; place += 1)
      await grants.issue(grant(`grant-${place}`, { namespaceId, ...(place % 2 === 0 && { constraints }) }));
    await usage.consume(namespaceId, "grant-0", 2);
    expect(await removeEndedGrants(grants, 30).run(now, straight)).toBe(125);
    expect(await grants.list(namespaceId, { limit: 500 })).toHaveLength(125);
    expect(await usage.used(namespaceId, "grant-0")).toBe(0);
  });
});
