import { describe, expect, test } from "vitest";
import type { ToolCall } from "turnpike/contracts";
import { createServiceApi } from "turnpike/http";
import { createKernel } from "turnpike/kernel";
import { databaseKinds, newTenant, openPair, sharedDatabase } from "../../test/databases.ts";
import { oona } from "../../test/office.ts";
import { payTool } from "../../test/pay-tool.ts";
import { context, grant } from "../../test/records.ts";
import { recordStatements } from "../../test/watched-database.ts";
import { openStores } from "../compose/stores.ts";
import { protectFromReplay } from "../ledger/index.ts";
import type { Database } from "../storage/index.ts";

const capabilities = [
  {
    resource: { namespace: "bank", path: [] },
    actions: ["pay"],
    scope: "descendants" as const,
    approval: "each" as const,
  },
];

/** A bank on a database where each payment needs approval, and what was paid. */
function openBank(database: Database, namespaceId: string) {
  const stores = openStores(database);
  const paid: string[] = [];
  const { grants, usage, audit, permits, decisions: ledger } = stores;
  const kernel = createKernel({ grants, usage, audit, permits, ledger, tools: [payTool(paid)] });
  const turns = { execute: () => Promise.reject(new Error("no turns here")) };
  const api = protectFromReplay(createServiceApi({ kernel, turns }), {
    store: stores.replay,
    isClaimMadeByApi: true,
    onReplay() {},
  });
  const caller = context({ namespaceId, enabledToolNamespaces: ["bank"] });
  const callOf = (id: string, to: string): ToolCall => ({
    id,
    tool: "bank.pay",
    arguments: { to },
    requestedAt: caller.now,
    traceId: "trace-1",
  });
  const call = async (id: string, to = "bob") => {
    const result = await api.invokeTool(caller, callOf(id, to));
    return result.status === "succeeded" ? "succeeded" : result.error.code;
  };
  const approve = async () => {
    const [asked] = await stores.escalations.list(namespaceId, { status: "pending", limit: 1, now: caller.now });
    if (asked === undefined) throw new Error("Nothing was asked.");
    const at = "2026-01-01T12:00:01.000Z";
    return stores.escalations.approve({ ...asked, by: "operator-1", person: oona, at });
  };
  return { stores, paid, call, approve };
}

describe.each(databaseKinds)("an act that needs approval on %s", (kind) => {
  const open = sharedDatabase(kind);

  test("runs once after it, under whichever id; then it needs another one", async () => {
    const namespaceId = newTenant();
    const { stores, paid, call, approve } = openBank(await open(), namespaceId);
    await stores.grants.issue(grant("grant-1", { namespaceId, capabilities, constraints: { maxUses: 5 } }));
    expect([await call("one"), await call("two")]).toEqual(["approval_required", "approval_required"]);
    expect(await stores.usage.used(namespaceId, "grant-1")).toBe(0);
    await approve();
    expect(await call("one", "eve")).toBe("approval_required");
    const said = await Promise.all(Array.from({ length: 20 }, (_, place) => call(`at once ${place}`)));
    expect(said.filter((status) => status === "succeeded")).toHaveLength(1);
    expect(new Set(said)).toEqual(new Set(["succeeded", "approval_required"]));
    expect(paid).toEqual(["bob"]);
    expect(await stores.usage.used(namespaceId, "grant-1")).toBe(1);
  });

  test("takes its permit, its use and its id with its decision, in one commit", async () => {
    const namespaceId = newTenant();
    const { database, statements } = recordStatements(await open());
    const { stores, paid, call, approve } = openBank(database, namespaceId);
    await stores.grants.issue(grant("grant-1", { namespaceId, capabilities, constraints: { maxUses: 5 } }));
    await call("one");
    await approve();
    statements.length = 0;
    expect(await call("one")).toBe("succeeded");
    // One for the decision, and one for the result.
    expect(statements.filter((statement) => statement === "commit")).toHaveLength(2);
    expect(await call("one")).toBe("succeeded");
    expect(paid).toEqual(["bob"]);
    const uses = database.db.selectFrom("uses").select("used").where("namespace_id", "=", namespaceId);
    expect(await uses.execute()).toEqual([{ used: 1 }, { used: 1 }]);
  });
});

test("an act that was approved once runs once on two hosts that are asked for it at once", async () => {
  const namespaceId = newTenant();
  const [here, there] = (await openPair()).map((database) => openBank(database, namespaceId));
  if (!here || !there) throw new Error("A host is missing.");
  await here.stores.grants.issue(grant("grant-1", { namespaceId, capabilities }));
  for (let round = 1; round <= 5; round += 1) {
    await there.call(`asks ${round}`);
    await here.approve();
    const calls = [here, there].flatMap(({ call }, host) =>
      Array.from({ length: 10 }, (_, place) => call(`${round} ${host} ${place}`)),
    );
    await Promise.all(calls);
    expect([...here.paid, ...there.paid]).toHaveLength(round);
  }
});
