import { ServiceHttpError, type ServiceApi } from "turnpike/http";
import { isCausedBy } from "../shared/index.ts";
import { DatabaseWentBackError } from "../storage/index.ts";
import type { LossStore } from "./loss-store.ts";

/**
 * The same api, refusing every id and every turn on a database that lost rows: it no longer knows what was done in the lost time,
 * and would do it again.
 */
export function refuseOnLoss(
  api: ServiceApi,
  losses: Pick<LossStore, "requireWhole">,
  names: readonly (keyof ServiceApi)[],
): ServiceApi {
  const whole = async <T>(run: () => Promise<T>): Promise<T> => {
    try {
      await losses.requireWhole();
      return await run();
    } catch (error) {
      // It may be noticed only when the id is to be taken.
      throw isCausedBy(error, DatabaseWentBackError) ? refusal(error) : error;
    }
  };
  const wrapped = names.map((name) => {
    const operation = api[name] as (...given: unknown[]) => Promise<unknown>;
    return [name, (...given: unknown[]) => whole(() => operation(...given))];
  });
  return { ...api, ...(Object.fromEntries(wrapped) as Partial<ServiceApi>) };
}

function refusal(cause: unknown): ServiceHttpError {
  const message =
    "The database lost rows that were acknowledged. Nothing ran, and nothing runs until an operator accepts that.";
  return new ServiceHttpError(503, "database_went_back", message, { cause, headers: { "retry-after": "30" } });
}
