import type { MessageEnvelope } from "../contracts/index.ts";
import type { MessageTransport } from "../kernel/index.ts";

/** A message transport in memory. */
export interface MemoryMessages extends MessageTransport {
  readonly delivered: readonly MessageEnvelope[];
}

/**
 * Stores every message that was delivered, in order.
 *
 * @example
 * import { memoryMessages } from "turnpike/testing";
 *
 * console.log(memoryMessages().delivered); // []
 */
export function memoryMessages(): MemoryMessages {
  const delivered: MessageEnvelope[] = [];
  return {
    delivered,
    deliver(context, envelope) {
      delivered.push(envelope);
      return Promise.resolve({ status: "delivered", messageId: envelope.id, timestamp: context.now });
    },
  };
}
