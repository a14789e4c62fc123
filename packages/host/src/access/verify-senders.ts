import type { TurnExecutionPort } from "turnpike/runtime";
import type { MessageStore } from "../messages/index.ts";

/** Who runs turns whose sender is the caller's word, and who runs those whose sender was verified. */
export interface TurnsBySender {
  claimed: TurnExecutionPort;
  verified: TurnExecutionPort;
  /** Told when the inbox could not be read: the sender then is the caller's word. */
  onError(error: unknown): void;
}

/**
 * A sender is verified when the very message of the turn lies in the agent's inbox: nobody can put one there in somebody
 * else's name. Nothing in the request can say so itself.
 */
export function verifySenders(
  messages: Pick<MessageStore, "holds">,
  { claimed, verified, onError }: TurnsBySender,
): TurnExecutionPort {
  return {
    async execute(turn, options) {
      const isVerified = await messages.holds(turn.context.namespaceId, turn.message).catch((error: unknown) => {
        onError(error);
        return false;
      });
      return (isVerified ? verified : claimed).execute(turn, options);
    },
  };
}
