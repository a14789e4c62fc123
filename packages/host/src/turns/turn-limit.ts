import { principalKey, type AccessContext } from "turnpike/contracts";
import { ServiceHttpError, type ServiceApi, type ServiceApiCallOptions } from "turnpike/http";
import type { Database } from "../storage/index.ts";
import { sharedTurnSlots } from "./turn-slot-store.ts";
import { localTurnSlots, type Admission, type TurnLimits, type TurnSlots } from "./turn-slots.ts";

const words: Record<keyof TurnLimits, string> = {
  all: "The host runs as many turns as it can.",
  tenant: "This tenant runs as many turns as it may.",
  credential: "This credential runs as many turns as it may.",
};

/**
 * The places for turns of a database: one that no other process uses needs no table for them. `now` is a clock in
 * milliseconds that never goes back.
 */
export function openTurnSlots(
  database: Database,
  limits: TurnLimits,
  onError: (error: unknown) => void,
  now: () => number = () => performance.now(),
): Promise<TurnSlots> {
  return database.isShared ? sharedTurnSlots(database, limits, onError, now) : Promise.resolve(localTurnSlots(limits));
}

/** What turns are limited by. */
export interface TurnLimitOptions {
  slots: TurnSlots;
  /** The credential of the request behind a call; where there is none the actor counts. */
  credentialOf(call: ServiceApiCallOptions | undefined): string | undefined;
  /** Gets the error of places that could not be counted. */
  onError(error: unknown): void;
}

/** Runs turns while there are places for them; the rest are told to come back. */
export function limitTurns(api: ServiceApi, options: TurnLimitOptions): ServiceApi {
  const admit = async (
    { namespaceId, actor }: AccessContext,
    call: ServiceApiCallOptions | undefined,
  ): Promise<Admission> => {
    try {
      const credentialId = options.credentialOf(call) ?? principalKey(actor);
      return await options.slots.admit({ namespaceId, credentialId });
    } catch (error) {
      options.onError(error);
      throw overloaded("Whether another turn may run cannot be known right now.", error);
    }
  };
  return {
    ...api,
    async executeTurn(context, request, callOptions) {
      const admission = await admit(context, callOptions);
      if (admission.kind === "refused") throw overloaded(words[admission.by]);
      try {
        return await api.executeTurn(context, request, callOptions);
      } finally {
        await admission.release();
      }
    },
  };
}

function overloaded(message: string, cause?: unknown): ServiceHttpError {
  return new ServiceHttpError(503, "overloaded", message, { headers: { "retry-after": "1" }, cause });
}
