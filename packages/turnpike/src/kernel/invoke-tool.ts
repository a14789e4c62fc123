import {
  saysNothingRan,
  ToolCallSchema,
  ToolResultSchema,
  type AccessContext,
  type Act,
  type ErrorCode,
  type ErrorObject,
  type JsonObject,
  type ToolCall,
  type ToolDescriptor,
  type ToolResult,
} from "../contracts/index.ts";
import { accept, quietly, type LazySignal } from "../internal/index.ts";
import { recordOutcome, type AuditFacts } from "./audit.ts";
import { authorizeEffect, type Gate } from "./authorize.ts";
import { authorizeEvery } from "./authorize-every.ts";
import { acceptContext } from "./context.ts";
import { reportPortError, type Ports } from "./call-port.ts";
import { instantOf } from "./candidates.ts";
import { withBasis } from "./covers.ts";
import { deny } from "./decide.ts";
import { denialMetadata } from "./diagnose.ts";
import { carryOutEffect, readResult, type EffectEnd, type EffectOptions } from "./effect.ts";
import { denialError, errorObject } from "./kernel-error.ts";
import { hiddenBecause } from "./list-tools.ts";
import type { Spent } from "./budget-store.ts";
import type { ToolProgress } from "./ports.ts";
import { prepareCall } from "./prepare-call.ts";
import { nothingOf, release, settle, spendsOnce, spentIn } from "./spending.ts";
import type { Reserved } from "./budget-store.ts";
import { InvalidToolOutputError, invokeHandler, ToolError } from "./tool.ts";
import { isUnavailable, type Tool, type ToolCatalog } from "./tool-catalog.ts";

/** A gate with the tools that can be called through it. */
export interface ToolGate extends Gate {
  /** A catalog that has the tool of this name, if the tool is registered. */
  catalog(name: string, context: AccessContext, signal: AbortSignal): ToolCatalog | Promise<ToolCatalog>;
  /** Called when a tool is about to be called. Returns a code when it must not be called any more. */
  begin?(tool: ToolDescriptor): ErrorCode | undefined;
  /** Called when a tool was not called because the decision could not be recorded. */
  onAuditOutage?(): void;
}

/** A result, with details for the audit log. */
interface Outcome {
  result: ToolResult;
  metadata?: JsonObject;
}

/** How many characters of a tool's progress message are passed to the caller. */
const maxProgressText = 4096;

/** The denial for a tool that no grant makes visible. Nothing was decided, but the audit log says what each grant lacks. */
const unseen = deny("no_matching_grant");

/** The operation `invokeTool`. */
export async function invokeTool(
  gate: ToolGate,
  context: AccessContext,
  call: ToolCall,
  options: EffectOptions,
): Promise<ToolResult> {
  const { signal } = options;
  signal.throwIfAborted();
  const trusted = acceptContext(context);
  if (trusted === undefined) return denied(call, context, "invalid_context");
  const accepted = accept(ToolCallSchema, call);
  if (!accepted.ok) {
    const refusal: AuditFacts = { type: "tool.invoked", outcome: "denied", reason: "invalid_request" };
    await recordOutcome(gate.ports, trusted, () => refusal, signal, options);
    return denied(call, trusted, "invalid_request");
  }
  const outcome = await carryOut(gate, trusted, accepted.value, options);
  await recordToolOutcome(gate.ports, trusted, accepted.value, outcome, options);
  return outcome.result;
}

/** Records the outcome of a call; also of calls that a layer before the kernel refused. */
export function recordToolOutcome(
  ports: Ports,
  context: AccessContext,
  call: ToolCall,
  { result, metadata }: Outcome,
  options: EffectOptions,
): undefined | Promise<unknown> {
  const facts = (): AuditFacts => {
    const all: AuditFacts = { type: "tool.invoked", outcome: result.status, tool: call.tool, operationId: call.id };
    if (result.status !== "succeeded") all.reason = result.error.code;
    if (metadata !== undefined) all.metadata = metadata;
    return all;
  };
  return recordOutcome(ports, context, facts, options.signal, options);
}

async function carryOut(
  gate: ToolGate,
  context: AccessContext,
  call: ToolCall,
  options: EffectOptions,
): Promise<Outcome> {
  const { signal } = options;
  if (call.traceId !== context.traceId) return { result: denied(call, context, "trace_mismatch") };

  const { ports } = gate;
  const catalog = await gate.catalog(call.tool, context, signal);
  const tool = catalog.tools.get(call.tool);
  if (isUnavailable(catalog, call.tool)) {
    return { result: failed(call, context, "tool_catalog_unavailable") };
  }
  const loading = gate.view(context, signal);
  const view = loading instanceof Promise ? await loading : loading;
  if (view === undefined) return { result: denied(call, context, "authority_unavailable") };
  const hidden = hiddenBecause(tool, context, view, instantOf(context));
  if (hidden !== undefined || tool === undefined) {
    const grants = hidden === "not-granted" && tool ? denialMetadata(view, context, tool.ceiling, unseen) : {};
    const metadata = { hidden: hidden ?? "not-registered", ...grants };
    return { result: denied(call, context, "tool_unavailable"), metadata };
  }

  const prepared = prepareCall(ports, tool, context, call);
  if (prepared.kind === "failed") return { result: failed(call, context, prepared.code, prepared.message) };
  if (prepared.kind === "denied") return { result: refusedBy(call, context, prepared.error) };
  const facts = { tool: call.tool, operationId: call.id };
  const { handler } = tool;
  const failure = { port: "tools", id: call.tool } as const;
  const spends = handler.spends && spendsOnce(ports, failure, () => handler.spends?.(context, prepared.args));
  const act = (): Act => {
    const amounts = spends?.();
    return { kind: "tool", tool: call.tool, arguments: prepared.args, ...(amounts && { spends: [...amounts] }) };
  };
  const { requirement: request, several } = prepared;
  const decision =
    several === undefined
      ? await authorizeEffect(ports, { context, request, view, facts, act, spends }, options)
      : await authorizeEvery(ports, { context, requests: several, view, facts, act, spends }, options);
  if (decision.kind === "deny") {
    if (decision.reason !== "audit_unavailable") return { result: refusedBy(call, context, denialError(decision)) };
    gate.onAuditOutage?.();
    return { result: failed(call, context, decision.reason) };
  }
  const { reserved } = decision;
  const tooLate = signal.aborted ? "request_aborted" : gate.begin?.(tool.descriptor);
  if (tooLate !== undefined) {
    if (reserved !== undefined) await release(ports, reserved);
    signal.throwIfAborted();
    return { result: denied(call, context, tooLate) };
  }
  const basis = { ports, context, grant: decision.grant, view: decision.view, permit: decision.permit };
  const { id, tool: name, requestedAt, traceId } = call;
  const allowed = withBasis({ id, tool: name, arguments: prepared.args, requestedAt, traceId }, basis);
  const { result, isUnknown } = await run(ports, tool, context, allowed, options);
  // Of an effect that may have happened nothing is known, so what it may have cost stays reserved.
  if (reserved !== undefined && !isUnknown) await settle(ports, reserved, spentBy(ports, tool, call, result, reserved));
  return { result };
}

/** What a call cost: what its tool says of its output, else all that was reserved, and nothing when nothing ran. */
function spentBy(ports: Ports, { handler }: Tool, call: ToolCall, result: ToolResult, reserved: Reserved): Spent {
  if (result.status !== "succeeded") return saysNothingRan(result.error.code) ? nothingOf(reserved) : new Map();
  const failure = { port: "tools", id: call.tool } as const;
  return handler.spent ? spentIn(ports, failure, reserved, () => handler.spent?.(result.output)) : new Map();
}

/** INVARIANT: nothing is thrown once the handler was called, because its effect may have happened. */
async function run(
  ports: Ports,
  tool: Tool,
  context: AccessContext,
  call: ToolCall,
  options: EffectOptions,
): Promise<{ result: ToolResult; isUnknown: boolean }> {
  const progress = options.onProgress && openProgress(options.onProgress);
  const invoke = (limited: LazySignal): Promise<unknown> =>
    invokeHandler(tool.handler, context, call, limited, progress?.report);
  const end = await carryOutEffect(ports, options, invoke, tool.descriptor.readWrite);
  progress?.close();
  const result =
    end.kind === "returned" ? checkResult(ports, call, context, end.value) : resultOfError(ports, call, context, end);
  const isCutOff = end.kind === "threw" && (end.isLate || options.signal.aborted);
  const isInterrupted = result.status === "failed" && result.error.code === "tool_interrupted";
  return { result, isUnknown: isCutOff || isInterrupted };
}

function resultOfError(
  ports: Ports,
  call: ToolCall,
  context: AccessContext,
  { error, message }: EffectEnd & { kind: "threw" },
): ToolResult {
  try {
    if (error instanceof ToolError) return checkResult(ports, call, context, error.toResult(call));
    reportPortError(ports, error, { port: "tools", id: call.tool });
    if (error instanceof InvalidToolOutputError) return failed(call, context, "invalid_tool_result");
  } catch (unreadable) {
    reportPortError(ports, unreadable, { port: "tools", id: call.tool });
  }
  return failed(call, context, "tool_execution_failed", message);
}

/** Passes on the progress that a tool reports, until the tool has ended. */
function openProgress(onProgress: EffectOptions["onProgress"] & {}): { report: typeof onProgress; close(): void } {
  let isOpen = true;
  return {
    report(said) {
      quietly(() => (isOpen ? onProgress(readProgress(said)) : undefined));
    },
    close: () => void (isOpen = false),
  };
}

/** Throws when a tool reported something else than progress. */
function readProgress({ progress, total, message }: ToolProgress): ToolProgress {
  if (!Number.isFinite(progress) || !(total === undefined || Number.isFinite(total)))
    throw new TypeError("No progress.");
  const words = typeof message === "string" ? { message: message.slice(0, maxProgressText) } : {};
  return { progress, ...(total !== undefined && { total }), ...words };
}

/** Reads a tool's result, which has to be a result of this call. */
function checkResult(ports: Ports, call: ToolCall, context: AccessContext, returned: unknown): ToolResult {
  const isOfThisCall = ({ callId, tool }: ToolResult): boolean => callId === call.id && tool === call.tool;
  const read = readResult(ports, { port: "tools", id: call.tool }, ToolResultSchema, returned, isOfThisCall);
  return read.ok ? read.result : failed(call, context, "invalid_tool_result", read.message);
}

/** A result for a call that was refused. */
export function denied(call: ToolCall, context: AccessContext, code: ErrorCode): ToolResult {
  return refusedBy(call, context, errorObject(code));
}

function refusedBy(call: ToolCall, context: AccessContext, error: ErrorObject): ToolResult {
  return { status: "denied", callId: call.id, tool: call.tool, completedAt: context.now, error };
}

/** A result for a call that failed, or whose outcome is unknown. */
export function failed(call: ToolCall, context: AccessContext, code: ErrorCode, message?: string): ToolResult {
  const isSayable = message !== undefined && message.length >= 1 && message.length <= 4096;
  const error = isSayable ? errorObject(code, message) : errorObject(code);
  return { status: "failed", callId: call.id, tool: call.tool, completedAt: context.now, error };
}
