import { principalKey, type AccessContext } from "turnpike/contracts";
import { ServiceHttpError, type ServiceApi, type ServiceApiCallOptions } from "turnpike/http";
import type { Database } from "../storage/index.ts";
import { sharedTurnSlots } from "./turn-slot-store.ts";
import { localTurnSlots, type Admission, type TurnLimits, type TurnSlots } from "./turn-slots.ts";

const messages: Record<keyof TurnLimits, string> = {
  all: "The host runs as many turns as it can.",
  tenant: "This tenant runs as many turns as it may.",
  credential: "This credential runs as many turns as it may.",
};

/** Opens the slots for turns of a database. They are counted in a table only when several hosts share the database. */
export function openTurnSlots(
  database: Database,
  limits: TurnLimits,
  onError: (error: unknown) => void,
): Promise<TurnSlots> {
  return database.isShared ? sharedTurnSlots(database, limits, onError) : Promise.resolve(localTurnSlots(limits));
}

/** The options of the limit. */
export interface TurnLimitOptions {
  slots: TurnSlots;
  /** The credential of the request behind a call. Without one, the actor is counted instead. */
  credentialOf(call: ServiceApiCallOptions | undefined): string | undefined;
  /** Called with the error when slots could not be counted. */
  onError(error: unknown): void;
}

/** The same api, which runs a turn only while there is a slot for it. Other turns are refused as `overloaded`. */
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
      if (admission.kind === "refused") throw overloaded(messages[admission.by]);
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

/** Whether a turn found no slot. */
export function isOverloaded(error: unknown): boolean {
  return error instanceof ServiceHttpError && error.code === "overloaded";
}
