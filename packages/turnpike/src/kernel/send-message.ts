import {
  MessageEnvelopeSchema,
  MessageResultSchema,
  principalId,
  samePrincipal,
  type AccessContext,
  type Act,
  type AuthorizationRequest,
  type ErrorCode,
  type MessageEnvelope,
  type MessageResult,
} from "../contracts/index.ts";
import { accept } from "../internal/index.ts";
import { recordOutcome, type AuditFacts } from "./audit.ts";
import { acceptRequest, authorizeEffect, type Gate } from "./authorize.ts";
import { acceptContext } from "./context.ts";
import { reportPortError, type Ports } from "./call-port.ts";
import { carryOutEffect, readResult, type EffectOptions } from "./effect.ts";
import { denialError, errorObject } from "./kernel-error.ts";

/** The operation `sendMessage`. Being allowed to send says nothing about what the receiver may do. */
export async function sendMessage(
  gate: Gate,
  context: AccessContext,
  envelope: MessageEnvelope,
  options: EffectOptions,
): Promise<MessageResult> {
  const { signal } = options;
  signal.throwIfAborted();
  const trusted = acceptContext(context);
  if (trusted === undefined) return denied(envelope, context, "invalid_context");
  const accepted = accept(MessageEnvelopeSchema, envelope);
  if (!accepted.ok) {
    const refusal: AuditFacts = { type: "message.sent", outcome: "denied", reason: "invalid_request" };
    await recordOutcome(gate.ports, trusted, () => refusal, signal, options);
    return denied(envelope, trusted, "invalid_request");
  }
  const result = await carryOut(gate, trusted, accepted.value, options);
  const { id: messageId, receiver } = accepted.value;
  const facts = (): AuditFacts => ({
    type: "message.sent",
    outcome: "error" in result ? result.status : "succeeded",
    messageId,
    receiver,
    ...("error" in result && { reason: result.error.code }),
  });
  await recordOutcome(gate.ports, trusted, facts, signal, options);
  return result;
}

async function carryOut(
  gate: Gate,
  context: AccessContext,
  envelope: MessageEnvelope,
  options: EffectOptions,
): Promise<MessageResult> {
  const { id: messageId, receiver, payload, replyTo, provenance } = envelope;
  if (!isFromContext(envelope, context)) return denied(envelope, context, "message_context_mismatch");
  const request = acceptRequest(context, capabilityToSend(envelope));
  const view = request && (await gate.view(context, options.signal));
  const act = (): Act => ({ kind: "message", receiver, payload, replyTo, provenance });
  const subject = { context, request, view, facts: { messageId, receiver }, act };
  const decision = await authorizeEffect(gate.ports, subject, options);
  if (decision.kind === "deny") {
    const { reason } = decision;
    if (reason === "audit_unavailable") return failed(envelope, context, reason);
    return { status: "denied", messageId, timestamp: context.now, error: denialError(decision) };
  }
  return deliver(gate.ports, context, envelope, options);
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
  options: EffectOptions,
): Promise<MessageResult> {
  const { messages: transport } = ports;
  if (transport === undefined) return failed(envelope, context, "message_transport_not_configured");
  options.signal.throwIfAborted();
  const end = await carryOutEffect(ports, options, (limited) => transport.deliver(context, envelope, limited.get()));
  if (end.kind === "threw") {
    reportPortError(ports, end.error, { port: "messages" });
    return failed(envelope, context, "message_delivery_failed", end.message);
  }
  const isOfThisMessage = ({ messageId }: MessageResult): boolean => messageId === envelope.id;
  const read = readResult(ports, { port: "messages" }, MessageResultSchema, end.value, isOfThisMessage);
  return read.ok ? read.result : failed(envelope, context, "invalid_message_receipt", read.message);
}

function denied({ id: messageId }: MessageEnvelope, context: AccessContext, code: ErrorCode): MessageResult {
  return { status: "denied", messageId, timestamp: context.now, error: errorObject(code) };
}

function failed(
  { id: messageId }: MessageEnvelope,
  context: AccessContext,
  code: ErrorCode,
  message?: string,
): MessageResult {
  return { status: "failed", messageId, timestamp: context.now, error: errorObject(code, message) };
}
