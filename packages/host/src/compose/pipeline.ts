import type { ServiceApi } from "turnpike/http";
import { limitSenders } from "../access/limit-senders.ts";
import type { HostAccessGuard } from "../access/access-guard.ts";
import { requestScope } from "../access/request-scope.ts";
import { protectFromReplay } from "../ledger/replay-api.ts";
import type { ReplayStore } from "../ledger/replay-store.ts";
import { errorFacts, type Log } from "../observe/log.ts";
import { measureTurns } from "../observe/measure-turns.ts";
import type { Metrics } from "../observe/metrics.ts";
import { hideNamespaces } from "../tool-namespaces/hide-namespaces.ts";
import { limitTurns } from "../turns/turn-limit.ts";
import type { TurnSlots } from "../turns/turn-slots.ts";

/** What the layers around the service are made of. */
export interface PipelineParts {
  access: HostAccessGuard;
  slots: TurnSlots;
  replay: ReplayStore;
  isHidden: Parameters<typeof hideNamespaces>[1];
  metrics: Metrics;
  log: Log;
  onSlotError(error: unknown): void;
}

/** The service with everything that this host does around an operation. */
export function createPipeline(service: ServiceApi, parts: PipelineParts): ServiceApi {
  const { access, slots, replay, isHidden, metrics, log, onSlotError } = parts;
  /** Outermost first: each sees a call before those below it. */
  const layers: readonly ((api: ServiceApi) => ServiceApi)[] = [
    // Above replay, so that nobody is shown the result of a turn that they could not have started.
    (api) => limitSenders(api),
    (api) =>
      protectFromReplay(api, {
        store: replay,
        onReplay: () => requestScope()?.headers.set("idempotency-replayed", "true"),
        onStoreError: (error, { kind, id }) =>
          log.error({ kind, id, ...errorFacts(error) }, "result not kept for replay yet"),
      }),
    // Below replay: a turn that finds no place leaves its id free, and one that is replayed needs no place.
    (api) =>
      limitTurns(api, {
        slots,
        credentialNow: () => requestScope()?.facts.credentialId,
        onError: onSlotError,
      }),
    access.watchTurns,
    (api) => measureTurns(api, metrics),
    (api) => hideNamespaces(api, isHidden),
  ];
  return layers.reduceRight((api, layer) => layer(api), service);
}
