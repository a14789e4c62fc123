import type { Capability, ToolCall, ToolResult, TurnResult } from "turnpike/contracts";
import { createServiceApi } from "turnpike/http";
import { createKernel } from "turnpike/kernel";
import {
  createTurnExecutor,
  standardRuntime,
  type DriverDecision,
  type TurnDriver,
  type TurnExecutionOptions,
} from "turnpike/runtime";
import { openStores } from "../src/compose/stores.ts";
import type { Database } from "../src/storage/index.ts";
import { writeEventsWithTurns } from "../src/turns/journal/pending-events.ts";
import { entriesOfRow } from "../src/turns/journal/turn-rows.ts";
import { turn } from "./counting-api.ts";
import { newTenant } from "./databases.ts";
import { payTool } from "./pay-tool.ts";
import { assistant, context, grant } from "./records.ts";

const capabilities: Capability[] = [
  { resource: { namespace: "bank", path: [] }, actions: ["pay"], scope: "exact" },
  {
    resource: { namespace: "service.execution", path: ["agent", assistant.agentId] },
    actions: ["invoke"],
    scope: "exact",
  },
];

/** A call that pays, or one of a tool that does not exist. */
export function payment(id: string, tool = "bank.pay"): ToolCall {
  return { id, tool, arguments: { to: id }, requestedAt: context().now, traceId: "trace-1" };
}

/** A driver that wants one thing after the other, each once it knows what became of the one before, and is content then. */
export function wanting(
  isPure: boolean,
  ...wishes: readonly ((results: readonly ToolResult[]) => readonly ToolCall[] | Promise<readonly ToolCall[]>)[]
): TurnDriver {
  return {
    isPure,
    resumes: () => true,
    open() {
      let place = 0;
      return Promise.resolve({
        recall: () => void (place += 1),
        async next(input): Promise<DriverDecision> {
          const calls = await wishes[place]?.(input.type === "start" ? [] : input.results);
          place += 1;
          return calls === undefined ? { type: "complete", output: "done" } : { type: "tools", calls: [...calls] };
        },
      });
    },
  };
}

/** A tenant whose agent may pay, with the host's own stores. */
export async function payingWorld(database: Database, driver: TurnDriver) {
  const namespaceId = newTenant();
  const { grants, usage, audit, decisions: ledger, turns: journal } = openStores(database);
  await grants.issue(grant("g", { namespaceId, capabilities }));
  const paid: string[] = [];
  const kernel = createKernel({ grants, usage, audit, ledger, tools: [payTool(paid)] });
  const turns = createTurnExecutor({ kernel, runtime: standardRuntime(driver), journal });
  const api = writeEventsWithTurns(createServiceApi({ kernel, turns }));
  const caller = context({ namespaceId, enabledToolNamespaces: ["bank"] });
  const { purpose, traceId } = caller;
  const message = { ...turn.message, purpose, traceId, receiver: assistant };
  return {
    namespaceId,
    journal,
    /** The ids of the payments that were made. */
    paid,
    run: (executionId: string, options?: Pick<TurnExecutionOptions, "isAsync" | "writer">): Promise<TurnResult> =>
      api.executeTurn(caller, { ...turn, executionId, message }, options),
    /** What is stored of the tenant's turns. */
    async entries(): Promise<string[]> {
      const rows = database.db
        .selectFrom("turn_entries")
        .innerJoin("turns", "turns.id", "turn_entries.turn")
        .select(["turn_entries.kind", "turn_entries.content"])
        .where("namespace_id", "=", namespaceId)
        .orderBy("position");
      return (await rows.execute())
        .flatMap(entriesOfRow)
        .map((entry) => (entry.kind === "event" ? entry.event.type : entry.kind));
    },
    /** What happened, and to which call. */
    async auditLog(): Promise<string[]> {
      const rows = database.db.selectFrom("audit").select("content").where("namespace_id", "=", namespaceId);
      return (await rows.orderBy("sequence").execute()).map(({ content }) => {
        const event = JSON.parse(content) as { type: string; outcome: string; operationId?: string };
        return [event.type, event.outcome, event.operationId].filter((word) => word !== undefined).join(" ");
      });
    },
  };
}
