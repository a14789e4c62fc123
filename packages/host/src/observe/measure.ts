import type { ServiceApi } from "turnpike/http";
import type { Metrics } from "./metrics.ts";

/** The same api; turns are timed while they run. It belongs below whatever refuses or replays turns. */
export function measureTurns(api: ServiceApi, metrics: Metrics): ServiceApi {
  return {
    ...api,
    async executeTurn(context, request, options) {
      const end = metrics.startTurn();
      try {
        const result = await api.executeTurn(context, request, options);
        end(result.status);
        return result;
      } catch (error) {
        end();
        throw error;
      }
    },
  };
}
