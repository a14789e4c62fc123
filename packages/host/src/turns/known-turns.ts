import { principalKey, type TurnResult, type TurnState } from "turnpike/contracts";
import type { ServiceApi } from "turnpike/http";
import { KnownTurnError } from "turnpike/runtime";
import { fencedMessage, interruptedReplay, pendingReplay } from "../ledger/index.ts";
import { createKeyedSemaphore } from "../shared/index.ts";
import type { TurnJournalStore } from "./journal/journal-store.ts";
import { isOverloaded } from "./turn-limit.ts";

/** With another id it could happen twice: the turn goes on. */
const unreadMessage =
  "The journal of the turn did not answer, so it is not known how the turn ends. Ask again with the same id.";

/**
 * The same api, which begins no turn whose id is taken. It belongs above the limits of turns: a repeated request needs no slot.
 * Requests for one id run one after the other: each takes the id, or leaves it free, before the next one reads it. When two
 * hosts start one id at once, the journal lets one of them begin.
 */
export function answerKnownTurns(api: ServiceApi, journal: Pick<TurnJournalStore, "known" | "mayTell">): ServiceApi {
  const starts = createKeyedSemaphore(1);

  const start = async (...[context, request, call]: Parameters<ServiceApi["executeTurn"]>): Promise<Started> => {
    const throwIfKnown = async (): Promise<void> => {
      const known = await journal.known(context, request);
      if (known !== undefined) throw new KnownTurnError(known);
    };
    await throwIfKnown();
    return new Promise((resolve) => {
      const onBegun = (state: TurnState): void => {
        resolve({ result });
        call?.onBegun?.(state);
      };
      const running = Promise.resolve().then(() => api.executeTurn(context, request, { ...call, onBegun }));
      const result = running.catch(async (error: unknown) => {
        // Another host may have begun it meanwhile, with the slot that was missing here.
        if (isOverloaded(error)) await throwIfKnown();
        throw error;
      });
      const onEnded = (): void => resolve({ result });
      result.then(onEnded, onEnded);
    });
  };

  return {
    ...api,
    async executeTurn(context, request, call) {
      const { namespaceId, actor } = context;
      const key = JSON.stringify([namespaceId, principalKey(actor), request.executionId]);
      const { result } = await starts.run(key, () => start(context, request, call), call?.signal);
      const ended = await result;
      if (call?.isAsync === true) return ended;
      // INVARIANT: no caller is told a result that is not the one that is replayed.
      switch (await journal.mayTell(context, request, ended)) {
        case "result":
          return ended;
        case "interrupted":
          throw interruptedReplay(fencedMessage);
        case "pending":
          throw pendingReplay(unreadMessage);
      }
    },
  };
}

/** Whether a turn has begun, or will not. */
interface Started {
  result: Promise<TurnResult>;
}
