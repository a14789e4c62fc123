import { describe, expect, test } from "vitest";
import type { ToolCall } from "turnpike/contracts";
import { createServiceApi, type ServiceApi } from "turnpike/http";
import { createKernel } from "turnpike/kernel";
import { databaseKinds, newTenant, sharedDatabase } from "../../test/databases.ts";
import { payTool } from "../../test/pay-tool.ts";
import { context, grant } from "../../test/records.ts";
import { answeringLate, failingAt, recordStatements } from "../../test/watched-database.ts";
import { openStores, type Stores } from "../compose/stores.ts";
import type { Database } from "../storage/index.ts";
import { protectFromReplay } from "./replay-api.ts";

/** A service over a database that pays, at most once under an id, and what was paid. */
function serviceOn(database: Database): { api: ServiceApi; paid: string[]; stores: Stores; replayed: string[] } {
  const stores = openStores(database);
  const paid: string[] = [];
  const replayed: string[] = [];
  const { grants, usage, audit, decisions: ledger } = stores;
  const kernel = createKernel({ grants, usage, audit, ledger, tools: [payTool(paid)] });
  const turns = { execute: () => Promise.reject(new Error("no turns here")) };
  const api = protectFromReplay(createServiceApi({ kernel, turns }), {
    store: stores.replay,
    isClaimMadeByApi: true,
    onReplay: ({ id }) => void replayed.push(id),
  });
  return { api, paid, stores, replayed };
}

const capabilities = [{ resource: { namespace: "bank", path: [] }, actions: ["pay"], scope: "descendants" as const }];
const callOf = (id: string, to = "bob"): ToolCall => ({
  id,
  tool: "bank.pay",
  arguments: { to },
  requestedAt: context().now,
  traceId: "trace-1",
});
const caller = (namespaceId: string) => context({ namespaceId, enabledToolNamespaces: ["bank"] });
const commitsIn = (statements: readonly string[]): number => statements.filter((text) => text === "commit").length;

/** What the audit log of a tenant says, oldest first. */
async function auditLogOf({ audit }: Stores, tenant: string): Promise<string[]> {
  const rows = await audit.list(tenant, { limit: 100 });
  return rows.map(({ event }) => `${event.type} ${event.outcome}`).toReversed();
}

describe.each(databaseKinds)("a call on %s", (kind) => {
  const open = sharedDatabase(kind);
  const grantFor = async (tenant: string, maxUses?: number): Promise<void> => {
    const constraints = maxUses === undefined ? {} : { maxUses };
    await openStores(await open()).grants.issue(grant("g", { namespaceId: tenant, capabilities, constraints }));
  };

  for (const maxUses of [undefined, 5]) {
    test(`commits once before its effect and once before its answer, ${maxUses ? "with" : "without"} a limit of uses`, async () => {
      const tenant = newTenant();
      await grantFor(tenant, maxUses);
      const { database, statements } = recordStatements(await open());
      const { api, paid, stores } = serviceOn(database);
      for (const id of ["1", "2"]) {
        statements.length = 0;
        expect(await api.invokeTool(caller(tenant), callOf(id))).toMatchObject({ status: "succeeded" });
        expect(commitsIn(statements)).toBe(2);
      }
      expect(paid).toHaveLength(2);
      expect(await stores.usage.used(tenant, "g")).toBe(maxUses === undefined ? 0 : 2);
      const events = ["authorization.checked allowed", "tool.invoked succeeded"];
      expect(await auditLogOf(stores, tenant)).toEqual([...events, ...events]);
    });
  }

  test("that was made before is answered from its stored result: nothing runs, is used or is recorded again", async () => {
    const tenant = newTenant();
    await grantFor(tenant, 5);
    const { api, paid, stores, replayed } = serviceOn(await open());
    const first = await api.invokeTool(caller(tenant), callOf("1"));
    const events = await auditLogOf(stores, tenant);
    expect(await api.invokeTool(caller(tenant), callOf("1"))).toEqual(first);
    await expect(api.invokeTool(caller(tenant), callOf("1", "carol"))).rejects.toMatchObject({
      code: "replay_conflict",
    });
    expect([paid, replayed, await stores.usage.used(tenant, "g")]).toEqual([["bob"], ["1"], 1]);
    expect(await auditLogOf(stores, tenant)).toEqual(events);
  });

  test("that was made before is answered from its stored result also when it would be refused now", async () => {
    const tenant = newTenant();
    await grantFor(tenant);
    const { api, stores } = serviceOn(await open());
    const first = await api.invokeTool(caller(tenant), callOf("1"));
    await stores.grants.revoke(tenant, "g", "2026-01-01T11:00:00Z");
    expect(await api.invokeTool(caller(tenant), callOf("1"))).toEqual(first);
    const unnamed = { ...caller(tenant), enabledToolNamespaces: [] };
    expect(await api.invokeTool(unnamed, callOf("1"))).toEqual(first);
    expect(await api.invokeTool(caller(tenant), callOf("2"))).toMatchObject({ status: "denied" });
  });

  for (const [name, why, events] of [
    ["is not allowed", {}, ["authorization.checked denied", "tool.invoked denied"]],
    ["is of a tool that is switched off", { enabledToolNamespaces: new Array<string>() }, ["tool.invoked denied"]],
  ] as const) {
    test(`that ${name} is in the audit log and leaves its id free`, async () => {
      const tenant = newTenant();
      await grantFor(tenant, 1);
      const { api, paid, stores } = serviceOn(await open());
      await api.invokeTool(caller(tenant), callOf("0"));
      const before = await auditLogOf(stores, tenant);
      for (let round = 0; round < 2; round += 1)
        expect(await api.invokeTool({ ...caller(tenant), ...why }, callOf("1"))).toMatchObject({ status: "denied" });
      expect(await auditLogOf(stores, tenant)).toEqual([...before, ...events, ...events]);
      await stores.grants.issue(grant("h", { namespaceId: tenant, capabilities }));
      expect(await api.invokeTool(caller(tenant), callOf("1"))).toMatchObject({ status: "succeeded" });
      expect(paid).toHaveLength(2);
    });
  }

  test("that is not allowed leaves its id free with the commit that says so, whatever comes of the rest", async () => {
    const tenant = newTenant();
    await grantFor(tenant, 1);
    const database = await open();
    await serviceOn(database).api.invokeTool(caller(tenant), callOf("0"));
    const { api } = serviceOn(failingAt(database, 2, "before", { of: "commit" }));
    expect(await api.invokeTool(caller(tenant), callOf("1"))).toMatchObject({ status: "denied" });
    const other = serviceOn(database);
    await other.stores.grants.issue(grant("h", { namespaceId: tenant, capabilities }));
    expect(await other.api.invokeTool(caller(tenant), callOf("1"))).toMatchObject({ status: "succeeded" });
  });

  test("that many make at once under one id runs once, and takes one use", async () => {
    const tenant = newTenant();
    await grantFor(tenant, 9);
    const { api, paid, stores } = serviceOn(await open());
    const answers = await Promise.allSettled(
      Array.from({ length: 40 }, () => api.invokeTool(caller(tenant), callOf("1"))),
    );
    const stored = answers.filter(({ status }) => status === "fulfilled");
    expect(stored.length).toBeGreaterThan(0);
    const refusals = answers.flatMap((answer) => (answer.status === "rejected" ? [answer.reason as object] : []));
    expect(refusals).toEqual(refusals.map(() => expect.objectContaining({ code: "replay_pending" })));
    expect([paid.length, await stores.usage.used(tenant, "g")]).toEqual([1, 1]);
    expect(await auditLogOf(stores, tenant)).toEqual(["authorization.checked allowed", "tool.invoked succeeded"]);
  });

  test("whose claim and decision cannot be stored does nothing, and says which store failed", async () => {
    const tenant = newTenant();
    await grantFor(tenant, 9);
    const database = await open();
    const of = "insert into";
    let failures = 0;
    for (let statement = 1; statement <= 4; statement += 1) {
      const { api, paid } = serviceOn(failingAt(database, statement, "before", { of, code: "SQLITE_FULL" }));
      const answer = api.invokeTool(caller(tenant), callOf(`failing-${statement}`));
      const refused = await answer.then(
        () => undefined,
        (error: unknown) => error,
      );
      if (refused === undefined) continue;
      failures += 1;
      expect(refused).toMatchObject({ status: 503, code: "replay_unavailable" });
      expect(paid).toEqual([]);
      expect(await api.invokeTool(caller(tenant), callOf(`failing-${statement}`))).toMatchObject({
        status: "succeeded",
      });
    }
    expect(failures).toBeGreaterThan(0);
  });

  test("whose caller goes while claim and decision are being stored does nothing, and leaves its id free", async () => {
    const tenant = newTenant();
    await grantFor(tenant);
    await serviceOn(await open()).api.invokeTool(caller(tenant), callOf("first of the tenant"));
    const { database, statements } = recordStatements(await open());
    await serviceOn(database).api.invokeTool(caller(tenant), callOf("0"));
    const late = answeringLate(await open(), statements.indexOf("commit") + 1);
    const { api, paid } = serviceOn(late.database);
    const gone = new AbortController();
    const left = new Error("gone");
    const answer = api.invokeTool(caller(tenant), callOf("1"), { signal: gone.signal });
    await late.tookEffect;
    gone.abort(left);
    // The call has given up by the time that the answer comes.
    await new Promise(setImmediate);
    late.answer();
    await expect(answer).rejects.toBe(left);
    expect(paid).toEqual([]);
    expect(await api.invokeTool(caller(tenant), callOf("1"))).toMatchObject({ status: "succeeded" });
  });

  test("whose outcome and result could not be stored stores both later, together", async () => {
    const tenant = newTenant();
    await grantFor(tenant);
    const database = await open();
    const { api, stores } = serviceOn(failingAt(database, 2, "before", { of: "commit" }));
    const first = await api.invokeTool(caller(tenant), callOf("1"));
    expect(first).toMatchObject({ status: "succeeded" });
    // Where hosts share the database, the caller is told once both are stored.
    const [decision, outcome] = ["authorization.checked allowed", "tool.invoked succeeded"];
    const stored = kind === "postgres" ? [decision, outcome] : [decision];
    expect(await auditLogOf(stores, tenant)).toEqual(stored);
    await stores.replay.close();
    expect(await auditLogOf(stores, tenant)).toEqual(["authorization.checked allowed", "tool.invoked succeeded"]);
    expect(await serviceOn(database).api.invokeTool(caller(tenant), callOf("1"))).toEqual(first);
  });
});
