import type { DiscoveryContext } from "turnpike/contracts";
import type { ServiceApi } from "turnpike/http";
import { type HostAccessGuard, limitSenders, recordOf } from "../access/index.ts";
import { protectFromReplay, type ReplayStore } from "../ledger/index.ts";
import { errorFacts, type Log, measureTurns, type Metrics, traceTurns, type Tracing } from "../observe/index.ts";
import { hideNamespaces } from "../tool-namespaces/index.ts";
import {
  answerKnownTurns,
  limitTurns,
  type TurnEngine,
  type TurnJournalStore,
  type TurnSlots,
} from "../turns/index.ts";

/** What the layers around the service use. */
export interface PipelineParts {
  access: HostAccessGuard;
  slots: TurnSlots;
  replay: ReplayStore;
  turns: TurnJournalStore;
  isHidden: Parameters<typeof hideNamespaces>[1];
  metrics: Metrics;
  tracing?: Tracing | undefined;
  /** The MCP servers that a caller has, and that are not there right now. */
  unavailable(context: DiscoveryContext): readonly string[];
  log: Log;
  onSlotError(error: unknown): void;
}

type Layer = (api: ServiceApi) => ServiceApi;

/** The outermost layer is first. Each layer sees a call before those below it. */
function within(layers: readonly Layer[], service: ServiceApi): ServiceApi {
  return layers.reduceRight((api, layer) => layer(api), service);
}

/** The service with every layer that this host puts around a run of a turn, the first one and those that go on. */
export function createRuns(service: ServiceApi, parts: PipelineParts): ServiceApi {
  const { access, slots, isHidden, metrics, tracing, onSlotError } = parts;
  return within(
    [
      (api) =>
        limitTurns(api, {
          slots,
          credentialOf: (call) => recordOf(call)?.facts.credentialId,
          onError: onSlotError,
        }),
      access.watchTurns,
      (api) => measureTurns(api, metrics),
      (api) => (tracing === undefined ? api : traceTurns(api, tracing)),
      (api) => hideNamespaces(api, isHidden),
    ],
    service,
  );
}

/** The same api, which says beside a list of tools which servers it would have more of if they were there. */
function sayUnavailable(api: ServiceApi, unavailable: PipelineParts["unavailable"]): ServiceApi {
  return {
    ...api,
    async listTools(context, call) {
      const tools = await api.listTools(context, call);
      const namespaces = unavailable(context).map((server) => `mcp.${server}`);
      const record = recordOf(call);
      if (record !== undefined && namespaces.length > 0) record.headers["x-tools-unavailable"] = namespaces.join(", ");
      return tools;
    },
  };
}

/** The service with every layer that this host puts around an operation that somebody asks for. */
export function createPipeline(runs: ServiceApi, parts: PipelineParts & { engine: TurnEngine }): ServiceApi {
  const { replay, turns, engine, unavailable, log } = parts;
  return within(
    [
      (api) => sayUnavailable(api, unavailable),
      // Above replay protection, so that nobody is shown the result of a turn that they could not have started.
      (api) => limitSenders(api),
      // Above the limits of turns: whoever asks again needs no slot, and a turn that finds none leaves its id free.
      (api) => answerKnownTurns(api, turns),
      (api) =>
        protectFromReplay(api, {
          store: replay,
          isClaimKeptByApi: true,
          onReplay(_key, call) {
            const record = recordOf(call);
            if (record !== undefined) record.headers["idempotency-replayed"] = "true";
          },
          onStoreError: (error, { kind, id }) =>
            log.error({ kind, id, ...errorFacts(error) }, "result not kept for replay yet"),
        }),
      (api) => engine.watch(api),
    ],
    runs,
  );
}
