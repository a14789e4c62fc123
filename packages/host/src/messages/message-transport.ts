import type { ErrorObject } from "turnpike/contracts";
import { errorObject, type MessageTransport } from "turnpike/kernel";
import type { Delivery, MessageStore } from "./message-store.ts";

/** Delivers into the receiver's inbox. A message is accepted once it is stored. */
export function messageTransport(store: MessageStore): MessageTransport {
  return {
    async deliver({ namespaceId, now: timestamp }, envelope) {
      const { id: messageId } = envelope;
      const delivery = await store.deliver(envelope, namespaceId, timestamp);
      if (delivery === "stored") return { status: "accepted", messageId, timestamp };
      return { status: "failed", messageId, timestamp, error: refusals[delivery] };
    },
  };
}

/** The errors for messages that were not stored. */
export const refusals: Record<Exclude<Delivery, "stored">, ErrorObject> = {
  full: errorObject("quota_exceeded", "The receiver's inbox is full."),
  crowded: errorObject(
    "quota_exceeded",
    "The receiver's inbox has as many of your messages as one sender may leave there: wait until some are acknowledged.",
  ),
  conflict: errorObject("invalid_request", "This id was used for another message."),
};
