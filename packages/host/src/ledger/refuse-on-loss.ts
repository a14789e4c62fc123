import { ServiceHttpError, type ServiceApi } from "turnpike/http";
import { DatabaseWentBackError } from "../storage/index.ts";
import type { LossStore } from "./loss-store.ts";

/**
 * The same api, which takes no id and runs no turn on a database that lost rows: what was done in the lost time is not known, and
 * would be done again.
 */
export function refuseOnLoss(api: ServiceApi, losses: Pick<LossStore, "requireWhole">): ServiceApi {
  const whole = async <T>(run: () => Promise<T>): Promise<T> => {
    try {
      await losses.requireWhole();
      return await run();
    } catch (error) {
      throw isOfLoss(error) ? refusal(error) : error;
    }
  };
  return {
    ...api,
    invokeTool: (...given) => whole(() => api.invokeTool(...given)),
    invokeResource: (...given) => whole(() => api.invokeResource(...given)),
    sendMessage: (...given) => whole(() => api.sendMessage(...given)),
    executeTurn: (...given) => whole(() => api.executeTurn(...given)),
  };
}

/** Whether an error was caused by a loss that was noticed when the id was to be taken. */
function isOfLoss(error: unknown): boolean {
  for (let at = error; at instanceof Error; at = at.cause) if (at instanceof DatabaseWentBackError) return true;
  return false;
}

function refusal(cause: unknown): ServiceHttpError {
  const message =
    "The database lost rows that were acknowledged. Nothing ran, and nothing runs until an operator accepts that.";
  return new ServiceHttpError(503, "database_went_back", message, { cause, headers: { "retry-after": "30" } });
}
