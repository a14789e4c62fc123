import { createServiceApi, type ServiceApi } from "turnpike/http";
import type { Kernel } from "turnpike/kernel";
import { createTurnExecutor, type RuntimePlugin, type TurnExecutionPort } from "turnpike/runtime";
import { callOfKeptCaller, verifySenders } from "../access/index.ts";
import { errorFacts, foreignErrorFacts, traceSteps } from "../observe/index.ts";
import type { Database } from "../storage/index.ts";
import {
  createTurnEngine,
  keepPreludes,
  openTurnSlots,
  type Runtimes,
  type TurnEngine,
  turnLimitsOf,
} from "../turns/index.ts";
import type { Config } from "./config.ts";
import { createPipeline, createRuns, type PipelineParts } from "./pipeline.ts";
import type { Stores } from "./stores.ts";

/** What running turns uses. */
interface TurnParts
  extends
    Required<Runtimes>,
    Pick<PipelineParts, "access" | "isHidden" | "unavailable" | "metrics" | "tracing" | "log"> {
  database: Database;
  stores: Stores;
  kernel: Kernel;
  clock(): Date;
}

/** The service with every layer of this host, and the engine that goes on with its turns. */
export async function openTurns(config: Config, parts: TurnParts): Promise<{ api: ServiceApi; engine: TurnEngine }> {
  const { database, stores, kernel, runtime, runtimeOfVerifiedSenders, tracing, log, clock } = parts;
  const turnsWith = (plugin: RuntimePlugin): TurnExecutionPort =>
    createTurnExecutor({
      kernel,
      runtime: tracing === undefined ? plugin : traceSteps(plugin),
      journal: stores.turns,
      defaults: config.turns,
      onTurnError: (error, executionId) => log.error({ executionId, ...foreignErrorFacts(error) }, "runtime failed"),
    });
  const turns = verifySenders(stores.messages, {
    claimed: turnsWith(runtime),
    verified: turnsWith(runtimeOfVerifiedSenders),
    onError: (error) => log.error(errorFacts(error), "inbox not read to verify a sender"),
  });
  const onSlotError = (error: unknown): void => log.error(errorFacts(error), "slots for turns not counted");
  const slots = await openTurnSlots(database, turnLimitsOf(config.limits), onSlotError);
  const layers = { ...parts, slots, replay: stores.replay, turns: stores.turns, onSlotError };
  const runs = createRuns(keepPreludes(createServiceApi({ kernel, turns })), layers);
  const engine = createTurnEngine({
    journal: stores.turns,
    runs,
    async contextNow(context) {
      const enabledToolNamespaces = [...(await stores.settings.enabled(context.namespaceId, context.actor))];
      return { ...context, enabledToolNamespaces, now: clock().toISOString() };
    },
    callOf: (kept) => callOfKeptCaller({ credentials: stores.credentials, isDeleted: stores.tenants.isDeleted }, kept),
    clock,
    onError: (error, executionId) => log.error({ executionId, ...errorFacts(error) }, "turn does not go on yet"),
  });
  return { api: createPipeline(runs, { ...layers, engine }), engine };
}
