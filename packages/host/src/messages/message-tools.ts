import { createHash } from "node:crypto";
import {
  type AccessContext,
  type AuthorizationRequest,
  IdentifierSchema,
  JsonValueSchema,
  type MessageEnvelope,
  MessageEnvelopeSchema,
  parsePrincipal,
  PathSegmentSchema,
  principalId,
  principalKey,
  type PrincipalRef,
  TimestampSchema,
  type ToolCall,
} from "turnpike/contracts";
import { defineTool, ToolError, type ToolHandler } from "turnpike/kernel";
import { z } from "zod";
import { readCursor, writeCursor } from "./inbox-cursor.ts";
import type { Inbox, MessageStore, ReceivedMessage } from "./message-store.ts";
import { refusals } from "./message-transport.ts";

/** The tools that send messages and read the caller's own inbox. */
export function messageTools(store: MessageStore): ToolHandler[] {
  return [sendTool(store), inboxTool(store)];
}

const ReceiverSchema = z
  .string()
  .describe("the receiver as kind:id, such as human:alice")
  .transform((text, { addIssue }) => {
    const receiver = parsePrincipal(text);
    // An id that is not a valid path segment cannot be granted, so no caller could send to it.
    if (receiver !== undefined && PathSegmentSchema.safeParse(principalId(receiver)).success) return receiver;
    addIssue("expected kind:id, the id without slash, backslash or control character");
    return z.NEVER;
  });

const SendInput = z.strictObject({
  to: ReceiverSchema,
  payload: JsonValueSchema.describe("what the message says, as any JSON"),
  replyTo: IdentifierSchema.optional().describe("the id of the message that this one answers"),
});

function sendTool(store: MessageStore): ToolHandler {
  return defineTool({
    name: "messages.send",
    description: "Sends a message to another principal's inbox.",
    namespace: "messages",
    readWrite: "write",
    input: SendInput,
    output: z.strictObject({ messageId: IdentifierSchema, status: z.literal("accepted") }),
    requires: { ceiling: messaging("send"), of: ({ to }) => messaging("send", to) },
    async run({ to, payload, replyTo }, { context, call }) {
      if (replyTo !== undefined && !(await store.knows(inboxOf(context), replyTo))) {
        throw new ToolError("not_found", "You neither received nor sent a message of this id.");
      }
      const messageId = messageIdOf(context, call);
      const envelope: MessageEnvelope = {
        version: 1,
        id: messageId,
        createdAt: context.now,
        traceId: context.traceId,
        purpose: context.purpose,
        sender: context.actor,
        receiver: to,
        payload,
        ...(replyTo !== undefined && { replyTo }),
      };
      const delivery = await store.deliver(envelope, context.namespaceId, context.now);
      if (delivery === "stored") return { messageId, status: "accepted" as const };
      const { code, message, retryable = false } = refusals[delivery];
      throw new ToolError(code, message, { retryable });
    },
  });
}

const InboxInput = z.strictObject({
  after: z.string().optional().describe("the cursor of the page before; without it, from the beginning"),
  limit: z.int().min(1).max(100).default(20),
  acknowledge: z.array(IdentifierSchema).max(100).default([]).describe("ids of messages that are dealt with"),
  includeAcknowledged: z.boolean().default(false),
});

const InboxMessageSchema = MessageEnvelopeSchema.omit({ version: true, receiver: true }).extend({
  receivedAt: TimestampSchema,
  acknowledged: z.boolean(),
});

const InboxOutput = z.strictObject({
  messages: z.array(InboxMessageSchema),
  cursor: z.string().describe("pass it as `after` for what comes next"),
  unknown: z.array(IdentifierSchema).describe("ids to acknowledge that this inbox does not have"),
});

function inboxTool(store: MessageStore): ToolHandler {
  return defineTool({
    name: "messages.inbox",
    description: "Acknowledges messages of your own inbox, then reads it: the oldest first, a page at a time.",
    namespace: "messages",
    readWrite: "write",
    annotations: { idempotent: true },
    input: InboxInput,
    output: InboxOutput,
    requires: { ceiling: messaging("receive"), of: (_args, { actor }) => messaging("receive", actor) },
    async run({ after, limit, acknowledge, includeAcknowledged }, { context }) {
      const inbox = inboxOf(context);
      const start = after === undefined ? 0 : readCursor(inbox, after);
      if (start === undefined) throw new ToolError("invalid_cursor", "The cursor is not one of this inbox.");
      const unknown = await store.acknowledge(inbox, acknowledge, context.now);
      const page = await store.inbox(inbox, { after: start, limit, includeAcknowledged });
      const cursor = writeCursor(inbox, page.at(-1)?.sequence ?? start);
      return { messages: page.map(show), cursor, unknown };
    },
  });
}

/** The authority for sending to a principal or reading their inbox. Without a principal, it is the ceiling of the tool. */
function messaging(action: "send" | "receive", whose?: PrincipalRef): AuthorizationRequest {
  const path = whose === undefined ? [] : [whose.kind, principalId(whose)];
  return { action, resource: { namespace: "service.messaging", path } };
}

function inboxOf({ namespaceId, actor }: AccessContext): Inbox {
  return { namespaceId, receiver: actor };
}

/** The message id follows from the call, so that a repeated call sends one message. */
function messageIdOf({ actor, executionId, traceId }: AccessContext, { id }: ToolCall): string {
  const scope = executionId === undefined ? ["trace", traceId] : ["execution", executionId];
  return createHash("sha256")
    .update(JSON.stringify([principalKey(actor), ...scope, id]))
    .digest("hex");
}

function show({ envelope, receivedAt, isAcknowledged }: ReceivedMessage): z.input<typeof InboxMessageSchema> {
  const { version: _version, receiver: _reader, ...shown } = envelope;
  return { ...shown, receivedAt, acknowledged: isAcknowledged };
}
