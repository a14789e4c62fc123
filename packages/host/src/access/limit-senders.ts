import { samePrincipal } from "turnpike/contracts";
import { ServiceHttpError, type ServiceApi, type ServiceApiCallOptions } from "turnpike/http";
import { recordOf } from "./request-record.ts";
import type { Caller } from "./authenticate.ts";

/**
 * The same api, which starts a turn only if the caller's credential may name the sender of its message. It belongs above
 * every layer that replays turns, so that no caller is shown the result of a turn that they could not have started.
 */
export function limitSenders(
  api: ServiceApi,
  callerOf: (options?: ServiceApiCallOptions) => Caller | undefined = (options) => recordOf(options)?.caller,
): ServiceApi {
  return {
    ...api,
    async executeTurn(context, request, options) {
      const { sender } = request.message;
      if (!mayName(callerOf(options), sender)) throw new ServiceHttpError(403, "sender_not_allowed", refusal);
      return api.executeTurn(context, request, options);
    },
  };
}

const refusal =
  "This credential may not start turns with a message from that sender. Name one it allows, or ask an operator for another.";

/** An unknown caller may name no sender. */
function mayName(caller: Caller | undefined, sender: Parameters<typeof samePrincipal>[0]): boolean {
  if (caller === undefined) return false;
  const { senders } = caller.credential.access;
  return senders === undefined || senders.some((one) => samePrincipal(one, sender));
}
