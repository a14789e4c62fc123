import { ServiceHttpError, type ServiceApi } from "turnpike/http";

/** Runs so many turns at once and no more; the rest are told to come back. */
export function limitTurns(api: ServiceApi, concurrentTurns: number): ServiceApi {
  let running = 0;
  return {
    ...api,
    async executeTurn(context, request, options) {
      if (running >= concurrentTurns) {
        const headers = { "retry-after": "1" };
        throw new ServiceHttpError(503, "overloaded", "The host runs as many turns as it can.", { headers });
      }
      running += 1;
      try {
        return await api.executeTurn(context, request, options);
      } finally {
        running -= 1;
      }
    },
  };
}
