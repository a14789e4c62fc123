import { MessageResultSchema, type AccessContext, type MessageEnvelope } from "../contracts/index.ts";
import type { MessageTransport } from "../kernel/index.ts";
import { expectSame, type PortCase } from "./port-case.ts";

/** A transport, and a way to read what it delivered or stored for delivery in one tenant, in order. */
export interface MessageTransportUnderTest {
  transport: MessageTransport;
  delivered(namespaceId: string): Promise<readonly MessageEnvelope[]>;
}

const context: AccessContext = {
  actor: { kind: "agent", agentId: "assistant" },
  authority: { kind: "human", userId: "alice" },
  enabledToolNamespaces: [],
  namespaceId: "tenant-1",
  now: "2026-01-01T12:00:00Z",
  owner: { kind: "human", userId: "alice" },
  purpose: "support",
  traceId: "trace-1",
};

function envelope(id: string): MessageEnvelope {
  return {
    version: 1,
    id,
    createdAt: "2026-01-01T12:00:00Z",
    traceId: "trace-1",
    purpose: "support",
    sender: context.actor,
    receiver: { kind: "human", userId: "bob" },
    payload: { text: "hello", nested: [1, null, { deep: true }] },
    replyTo: "message-0",
    provenance: { source: "suite", parentIds: ["message-0"], metadata: { step: 1 } },
  };
}

/**
 * Whether a transport takes what it accepts, whole, and answers with a receipt for it.
 *
 * @example
 * import { memoryMessages, messageTransportSuite } from "turnpike/testing";
 *
 * const transport = memoryMessages();
 * const [first] = messageTransportSuite(async () => ({ transport, delivered: async () => transport.delivered }));
 * await first?.run();
 * console.log(first?.name); // answers with a receipt for this very message
 */
export function messageTransportSuite(open: () => Promise<MessageTransportUnderTest>): PortCase[] {
  const { signal } = new AbortController();
  return [
    {
      name: "answers with a receipt for this very message",
      async run() {
        const { transport } = await open();
        const receipt = MessageResultSchema.parse(await transport.deliver(context, envelope("message-1"), signal));
        expectSame(receipt.messageId, "message-1", "the receipt's message");
        expectSame(
          ["accepted", "delivered"].includes(receipt.status),
          true,
          "a receipt that says accepted or delivered",
        );
      },
    },
    {
      name: "stores every field of the envelope",
      async run() {
        const { transport, delivered } = await open();
        await transport.deliver(context, envelope("message-1"), signal);
        expectSame(await delivered("tenant-1"), [envelope("message-1")], "what was delivered");
      },
    },
    {
      name: "stores messages in the order in which they were acknowledged, and separates tenants",
      async run() {
        const { transport, delivered } = await open();
        for (const id of ["message-1", "message-2", "message-3"])
          await transport.deliver(context, envelope(id), signal);
        await transport.deliver({ ...context, namespaceId: "tenant-2" }, envelope("message-4"), signal);
        expectSame(
          (await delivered("tenant-1")).map(({ id }) => id),
          ["message-1", "message-2", "message-3"],
          "the order",
        );
        expectSame(
          (await delivered("tenant-2")).map(({ id }) => id),
          ["message-4"],
          "another tenant's",
        );
      },
    },
    {
      name: "fifty messages at once are all there, each once",
      async run() {
        const { transport, delivered } = await open();
        const ids = Array.from({ length: 50 }, (_, place) => `message-${String(place).padStart(2, "0")}`);
        await Promise.all(ids.map((id) => transport.deliver(context, envelope(id), signal)));
        expectSame((await delivered("tenant-1")).map(({ id }) => id).toSorted(), ids, "all fifty");
      },
    },
  ];
}
