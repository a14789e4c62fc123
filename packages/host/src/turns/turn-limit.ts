import { principalKey, type AccessContext } from "turnpike/contracts";
import { ServiceHttpError, type ServiceApi } from "turnpike/http";
import type { Database } from "../storage/database.ts";
import { requestScope } from "../front/request-scope.ts";
import { sharedTurnSlots } from "./turn-slot-store.ts";
import { localTurnSlots, type Admission, type TurnLimits, type TurnSlots } from "./turn-slots.ts";

const words: Record<keyof TurnLimits, string> = {
  all: "The host runs as many turns as it can.",
  tenant: "This tenant runs as many turns as it may.",
  credential: "This credential runs as many turns as it may.",
};

/** The places for turns of a database: one that no other process uses needs no table for them. */
export function openTurnSlots(
  database: Database,
  limits: TurnLimits,
  onError: (error: unknown) => void,
): Promise<TurnSlots> {
  return database.isShared ? sharedTurnSlots(database, limits, onError) : Promise.resolve(localTurnSlots(limits));
}

/** Runs turns while there are places for them; the rest are told to come back. */
export function limitTurns(api: ServiceApi, slots: TurnSlots, onError: (error: unknown) => void): ServiceApi {
  const admit = async (context: AccessContext): Promise<Admission> => {
    try {
      return await slots.admit(ownerOf(context));
    } catch (error) {
      onError(error);
      throw overloaded("Whether another turn may run cannot be known right now.", error);
    }
  };
  return {
    ...api,
    async executeTurn(context, request, options) {
      const admission = await admit(context);
      if (admission.kind === "refused") throw overloaded(words[admission.by]);
      try {
        return await api.executeTurn(context, request, options);
      } finally {
        await admission.release();
      }
    },
  };
}

function ownerOf({ namespaceId, actor }: AccessContext): { namespaceId: string; credentialId: string } {
  return { namespaceId, credentialId: requestScope()?.facts.credentialId ?? principalKey(actor) };
}

function overloaded(message: string, cause?: unknown): ServiceHttpError {
  return new ServiceHttpError(503, "overloaded", message, { headers: { "retry-after": "1" }, cause });
}
