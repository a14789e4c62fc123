import type { TurnExecutionPort } from "turnpike/runtime";
import type { MessageStore } from "../messages/index.ts";

/** The executors of turns with a claimed sender and of turns with a verified sender. */
export interface TurnsBySender {
  claimed: TurnExecutionPort;
  verified: TurnExecutionPort;
  /** Called when the inbox could not be read. The sender then counts as claimed. */
  onError(error: unknown): void;
}

/**
 * A sender is verified when the message of the turn is in the agent's inbox, because no principal can send a message there in
 * another one's name. Nothing in the request itself can claim that. The inbox is not read where it makes no difference.
 */
export function verifySenders(
  messages: Pick<MessageStore, "holds">,
  { claimed, verified, onError }: TurnsBySender,
): TurnExecutionPort {
  if (claimed === verified) return claimed;
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
