import type { AccessContext } from "turnpike/contracts";
import { createServiceApi, type ServiceApi } from "turnpike/http";
import type { Kernel } from "turnpike/kernel";
import { createTurnExecutor, type RuntimePlugin, type TurnExecutionPort } from "turnpike/runtime";
import { callOfStoredCaller, verifySenders } from "../access/index.ts";
import { errorFacts, foreignErrorFacts } from "../telemetry/index.ts";
import type { Database } from "../storage/index.ts";
import {
  createOutdatedHost,
  createTurnEngine,
  openTurnSlots,
  type OutdatedHost,
  type Runtimes,
  type TurnEngine,
  turnLimitsOf,
} from "../turns/index.ts";
import type { Config } from "./config.ts";
import { attemptCalls, inLayers, inRuntimeLayers, requestLayers, runLayers, type PipelineParts } from "./pipeline.ts";
import type { Stores } from "./stores.ts";

/** What running turns uses. */
interface TurnParts
  extends
    Required<Runtimes>,
    Pick<PipelineParts, "access" | "held" | "isHidden" | "unavailable" | "urlOf" | "metrics" | "tracing" | "log"> {
  database: Database;
  stores: Stores;
  kernel: Kernel;
  clock(): Date;
}

interface OpenedTurns {
  api: ServiceApi;
  engine: TurnEngine;
  outdated: OutdatedHost;
}

/** The service with every layer of this host, and the engine that resumes its turns. */
export async function openTurns(config: Config, parts: TurnParts): Promise<OpenedTurns> {
  const { database, stores, kernel, runtime, runtimeOfVerifiedSenders, tracing, log, clock } = parts;
  const turnsWith = (plugin: RuntimePlugin): TurnExecutionPort =>
    createTurnExecutor({
      kernel: attemptCalls(kernel, stores.attempt),
      runtime: inRuntimeLayers(plugin, tracing !== undefined),
      journal: stores.turns,
      defaults: config.turns,
      onTurnError: (error, executionId) =>
        log.error(
          { executionId, ...foreignErrorFacts(error) },
          "could not run turn to its end, its result has the code",
        ),
    });
  const claimed = turnsWith(runtime);
  const turns = verifySenders(stores.messages, {
    claimed,
    verified: runtimeOfVerifiedSenders === runtime ? claimed : turnsWith(runtimeOfVerifiedSenders),
    onError: (error) => log.error(errorFacts(error), "could not read inbox, its sender counts as claimed"),
  });
  const onSlotError = (error: unknown): void =>
    log.error(errorFacts(error), "could not count slots for turns, will correct the count");
  const slots = await openTurnSlots(database, turnLimitsOf(config.limits), onSlotError);
  const outdated = createOutdatedHost({
    database,
    journal: stores.turns,
    onChange: (isTooOld) =>
      isTooOld
        ? log.warn({}, "database belongs to a newer version, will begin nothing")
        : log.info({}, "database may be served again"),
    onError: (error) => log.error(errorFacts(error), "could not leave turns to a newer version, will retry"),
  });
  const contextNow = async (context: AccessContext): Promise<AccessContext> => {
    const enabledToolNamespaces = [...(await stores.settings.enabled(context.namespaceId, context.actor))];
    return { ...context, enabledToolNamespaces, now: clock().toISOString() };
  };
  const { replay, losses, turns: journal, attempt } = stores;
  const layered = { ...parts, slots, outdated, replay, losses, turns: journal, attempt, contextNow, onSlotError };
  const runs = inLayers(runLayers(layered), createServiceApi({ kernel, turns }));
  const engine = createTurnEngine({
    journal: stores.turns,
    runs,
    contextNow,
    callOf: (stored) =>
      callOfStoredCaller({ credentials: stores.credentials, isDeleted: stores.tenants.isDeleted }, stored),
    clock,
    // A host that was paused may not know yet that it is too old, or that others go on with its turns.
    mayResume: () => database.isPresent() && !database.isTooOld(),
    onError: (error, executionId) =>
      log.error({ executionId, ...errorFacts(error) }, "could not resume turn, will retry"),
  });
  return { api: inLayers(requestLayers({ ...layered, engine }), runs), engine, outdated };
}
