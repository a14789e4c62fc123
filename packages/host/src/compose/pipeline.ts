import type { ServiceApi } from "turnpike/http";
import { type HostAccessGuard, limitSenders, recordOf } from "../access/index.ts";
import { protectFromReplay, type ReplayStore } from "../ledger/index.ts";
import { errorFacts, type Log, measureTurns, type Metrics } from "../observe/index.ts";
import { hideNamespaces } from "../tool-namespaces/index.ts";
import { limitTurns, type TurnSlots } from "../turns/index.ts";

/** What the layers around the service use. */
export interface PipelineParts {
  access: HostAccessGuard;
  slots: TurnSlots;
  replay: ReplayStore;
  isHidden: Parameters<typeof hideNamespaces>[1];
  metrics: Metrics;
  log: Log;
  onSlotError(error: unknown): void;
}

/** The service with every layer that this host puts around an operation. */
export function createPipeline(service: ServiceApi, parts: PipelineParts): ServiceApi {
  const { access, slots, replay, isHidden, metrics, log, onSlotError } = parts;
  /** The outermost layer is first. Each layer sees a call before those below it. */
  const layers: readonly ((api: ServiceApi) => ServiceApi)[] = [
    // Above replay protection, so that nobody is shown the result of a turn that they could not have started.
    (api) => limitSenders(api),
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
    // Below replay protection: a turn that finds no slot leaves its id free, and a replayed turn needs no slot.
    (api) =>
      limitTurns(api, {
        slots,
        credentialOf: (call) => recordOf(call)?.facts.credentialId,
        onError: onSlotError,
      }),
    access.watchTurns,
    (api) => measureTurns(api, metrics),
    (api) => hideNamespaces(api, isHidden),
  ];
  return layers.reduceRight((api, layer) => layer(api), service);
}
