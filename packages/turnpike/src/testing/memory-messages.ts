import type { MessageEnvelope } from "../contracts/index.ts";
import type { MessageTransport } from "../kernel/index.ts";

/** A message transport in memory. */
export interface MemoryMessages extends MessageTransport {
  readonly delivered: readonly MessageEnvelope[];
}

/** Keeps every message that was delivered, in order. */
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
