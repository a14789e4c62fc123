import {
  accept,
  check,
  MessageEnvelopeSchema,
  MessageResultSchema,
  principalId,
  samePrincipal,
  type AccessContext,
  type AuthorizationRequest,
  type ErrorCode,
  type MessageEnvelope,
  type MessageResult,
} from "../contracts/index.ts";
import { record } from "./audit.ts";
import { acceptContext, acceptRequest, authorizeEffect, type Gate } from "./authorize.ts";
import { reportPortError, type Ports } from "./call-port.ts";
import { errorObject } from "./kernel-error.ts";

/** The operation `sendMessage`. Being allowed to send says nothing about what the receiver may do. */
export async function sendMessage(
  gate: Gate,
  context: AccessContext,
  envelope: MessageEnvelope,
  signal: AbortSignal,
): Promise<MessageResult> {
  signal.throwIfAborted();
  const trusted = acceptContext(context);
  if (trusted === undefined) return denied(envelope, context, "invalid_context");
  const accepted = accept(MessageEnvelopeSchema, envelope);
  if (!accepted.ok) {
    await record(gate.ports, trusted, () => ({ type: "message.sent", outcome: "denied", reason: "invalid_request" }));
    return denied(envelope, trusted, "invalid_request");
  }
  const result = await carryOut(gate, trusted, accepted.value, signal);
  const { id: messageId, receiver } = accepted.value;
  await record(gate.ports, trusted, () => ({
    type: "message.sent",
    outcome: "error" in result ? result.status : "succeeded",
    messageId,
    receiver,
    ...("error" in result && { reason: result.error.code }),
  }));
  return result;
}

async function carryOut(
  gate: Gate,
  context: AccessContext,
  envelope: MessageEnvelope,
  signal: AbortSignal,
): Promise<MessageResult> {
  const { id: messageId, receiver } = envelope;
  if (!isFromContext(envelope, context)) return denied(envelope, context, "message_context_mismatch");
  const request = acceptRequest(context, capabilityToSend(envelope));
  const decision = await authorizeEffect(gate, context, request, { messageId, receiver }, signal);
  if (decision.kind === "deny") {
    const refuse = decision.reason === "audit_unavailable" ? failed : denied;
    return refuse(envelope, context, decision.reason);
  }
  return deliver(gate.ports, context, envelope, signal);
}

function isFromContext({ sender, purpose, traceId }: MessageEnvelope, context: AccessContext): boolean {
  return samePrincipal(sender, context.actor) && purpose === context.purpose && traceId === context.traceId;
}

function capabilityToSend({ receiver }: MessageEnvelope): AuthorizationRequest {
  return { action: "send", resource: { namespace: "service.messaging", path: [receiver.kind, principalId(receiver)] } };
}

async function deliver(
  ports: Ports,
  context: AccessContext,
  envelope: MessageEnvelope,
  signal: AbortSignal,
): Promise<MessageResult> {
  if (ports.messages === undefined) return failed(envelope, context, "message_transport_not_configured");
  signal.throwIfAborted();
  let returned: unknown;
  try {
    returned = await ports.messages.deliver(context, envelope, signal);
  } catch (error) {
    reportPortError(ports, error, { port: "messages" });
    return failed(envelope, context, "message_delivery_failed");
  }
  const accepted = check(MessageResultSchema, returned);
  if (accepted.ok && accepted.value.messageId === envelope.id) return accepted.value;
  const problem = accepted.ok ? "it names another message" : accepted.message;
  reportPortError(ports, new TypeError(`The transport's receipt cannot be used: ${problem}.`), { port: "messages" });
  return failed(envelope, context, "invalid_message_receipt");
}

function denied({ id: messageId }: MessageEnvelope, context: AccessContext, code: ErrorCode): MessageResult {
  return { status: "denied", messageId, timestamp: context.now, error: errorObject(code) };
}

function failed({ id: messageId }: MessageEnvelope, context: AccessContext, code: ErrorCode): MessageResult {
  return { status: "failed", messageId, timestamp: context.now, error: errorObject(code) };
}
