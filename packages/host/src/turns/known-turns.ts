import type { ServiceApi } from "turnpike/http";
import { KnownTurnError } from "turnpike/runtime";
import type { TurnJournalStore } from "./journal/journal-store.ts";

/**
 * The same api, which begins no turn whose id is taken. It belongs above the limits of turns: whoever asks again needs no
 * slot. Two that ask at once both get past it, and the journal itself lets one of them begin.
 */
export function answerKnownTurns(api: ServiceApi, journal: Pick<TurnJournalStore, "known">): ServiceApi {
  return {
    ...api,
    async executeTurn(context, request, call) {
      const known = await journal.known(context, request);
      if (known !== undefined) throw new KnownTurnError(known);
      return api.executeTurn(context, request, call);
    },
  };
}
