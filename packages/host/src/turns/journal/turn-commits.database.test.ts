import { describe, expect, test } from "vitest";
import type { Capability, ToolCall } from "turnpike/contracts";
import { createServiceApi } from "turnpike/http";
import { createKernel, defineTool } from "turnpike/kernel";
import { createTurnExecutor, standardRuntime, type DriverDecision, type TurnDriver } from "turnpike/runtime";
import { z } from "zod";
import { turn } from "../../../test/counting-api.ts";
import { databaseKinds, newTenant, sharedDatabase } from "../../../test/databases.ts";
import { assistant, context, grant } from "../../../test/records.ts";
import { recordStatements } from "../../../test/watched-database.ts";
import { openStores } from "../../compose/stores.ts";
import { keepPreludes } from "./prelude.ts";

const call: ToolCall = {
  id: "call-1",
  tool: "bank.pay",
  arguments: {},
  requestedAt: context().now,
  traceId: "trace-1",
};
const pay = defineTool({
  name: "bank.pay",
  description: "Pays.",
  namespace: "bank",
  readWrite: "write",
  input: z.strictObject({}),
  requires: { action: "pay", resource: { namespace: "bank", path: [] } },
  run: () => "paid",
});
const capabilities: Capability[] = [
  { resource: { namespace: "bank", path: [] }, actions: ["pay"], scope: "exact" },
  {
    resource: { namespace: "service.execution", path: ["agent", assistant.agentId] },
    actions: ["invoke"],
    scope: "exact",
  },
];

/** A driver that wants so many calls at once, and is content. */
function wanting(calls: number): TurnDriver {
  const decisions: DriverDecision[] = [
    { type: "tools", calls: Array.from({ length: calls }, (_, place) => ({ ...call, id: `call-${place}` })) },
    { type: "complete", output: "done" },
  ];
  return {
    open() {
      let next = 0;
      return Promise.resolve({ next: () => Promise.resolve(decisions[next++] as DriverDecision) });
    },
  };
}

describe.each(databaseKinds)("a turn on %s", (kind) => {
  const open = sharedDatabase(kind);

  for (const calls of [1, 3])
    test(`waits for its beginning, its admission, what it may do, ${calls} calls, their results and its end`, async () => {
      const tenant = newTenant();
      const { database, statements } = recordStatements(await open());
      const { grants, usage, audit, decisions: ledger, turns: journal } = openStores(database);
      await grants.issue(grant("g", { namespaceId: tenant, capabilities }));
      const kernel = createKernel({ grants, usage, audit, ledger, tools: [pay] });
      const turns = createTurnExecutor({ kernel, runtime: standardRuntime(wanting(calls)), journal });
      const api = keepPreludes(createServiceApi({ kernel, turns }));
      const caller = context({ namespaceId: tenant, enabledToolNamespaces: ["bank"] });
      const { purpose, traceId } = caller;
      const message = { ...turn.message, purpose, traceId, receiver: assistant };
      // The first finds nothing in the caches.
      for (const executionId of ["first", "second"]) {
        statements.length = 0;
        expect(await api.executeTurn(caller, { ...turn, executionId, message })).toMatchObject({ status: "succeeded" });
      }
      // On PostgreSQL a decision asks whether the grants are still those that are known: what led to it is kept meanwhile.
      expect(statements.filter((text) => text === "commit")).toHaveLength(kind === "sqlite" ? 6 : 7);
    });
});
