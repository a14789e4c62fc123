import {
  AuthorizationRequestSchema,
  JsonObjectSchema,
  ToolCallSchema,
  ToolResultSchema,
  type AccessContext,
  type AuthorizationRequest,
  type ErrorCode,
  type JsonObject,
  type ToolCall,
  type ToolDescriptor,
  type ToolResult,
} from "../contracts/index.ts";
import { accept, check, quietly } from "../internal/index.ts";
import { recordOutcome, type AuditFacts } from "./audit.ts";
import { authorizeEffect, type Gate } from "./authorize.ts";
import { acceptContext } from "./context.ts";
import { reportPortError, type Ports } from "./call-port.ts";
import { momentOf } from "./candidates.ts";
import { rememberBasis } from "./covers.ts";
import { deny } from "./decide.ts";
import { denialMetadata } from "./diagnose.ts";
import { carryOutEffect, readResult, type EffectOptions } from "./effect.ts";
import { errorObject } from "./kernel-error.ts";
import { hiddenBecause } from "./list-tools.ts";
import { isWithinCeiling } from "./match.ts";
import { InvalidToolOutputError, ToolError } from "./tool.ts";
import { isUnavailable, type Tool, type ToolCatalog } from "./tool-catalog.ts";

/** Where tools are called: the gate, and the tools there are. */
export interface ToolGate extends Gate {
  /** A catalog in which the tool of this name is, if it is registered at all. */
  catalog(name: string, context: AccessContext, signal: AbortSignal): Promise<ToolCatalog>;
  /** Asked when a tool is about to be carried out: a code when it must not be any more. */
  begin?(tool: ToolDescriptor): ErrorCode | undefined;
  /** Told when a call was not carried out because its decision could not be recorded. */
  onAuditOutage?(): void;
}

/** A result, and what the operator may know about it. */
interface Outcome {
  result: ToolResult;
  metadata?: JsonObject;
}

/** For a tool that no grant makes visible: nothing was decided, but the operator learns what each grant lacks. */
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
    await recordOutcome(gate.ports, trusted, () => refusal, signal);
    return denied(call, trusted, "invalid_request");
  }
  const outcome = await carryOut(gate, trusted, accepted.value, options);
  await recordToolOutcome(gate.ports, trusted, accepted.value, outcome, signal);
  return outcome.result;
}

/** Puts the outcome of a call on the trail; also for calls that something before the kernel refused. */
export async function recordToolOutcome(
  ports: Ports,
  context: AccessContext,
  call: ToolCall,
  { result, metadata }: Outcome,
  signal: AbortSignal,
): Promise<void> {
  const facts = (): AuditFacts => ({
    type: "tool.invoked",
    outcome: result.status,
    tool: call.tool,
    operationId: call.id,
    ...(result.status !== "succeeded" && { reason: result.error.code }),
    ...(metadata && { metadata }),
  });
  await recordOutcome(ports, context, facts, signal);
}

async function carryOut(
  gate: ToolGate,
  context: AccessContext,
  call: ToolCall,
  options: EffectOptions,
): Promise<Outcome> {
  const { signal } = options;
  if (call.traceId !== context.traceId) return { result: denied(call, context, "trace_mismatch") };

  const catalog = await gate.catalog(call.tool, context, signal);
  const tool = catalog.tools.get(call.tool);
  if (isUnavailable(catalog, call.tool)) {
    return { result: failed(call, context, "tool_catalog_unavailable") };
  }
  const view = await gate.view(context, signal);
  if (view === undefined) return { result: denied(call, context, "authority_unavailable") };
  const hidden = hiddenBecause(tool, context, view, momentOf(context));
  if (hidden !== undefined || tool === undefined) {
    const grants = hidden === "not-granted" && tool ? denialMetadata(view, context, tool.ceiling, unseen) : {};
    const metadata = { hidden: hidden ?? "not-registered", ...grants };
    return { result: denied(call, context, "tool_unavailable"), metadata };
  }

  const prepared = prepare(gate.ports, tool, context, call);
  if (!prepared.ok) return { result: failed(call, context, prepared.code, prepared.message) };
  const seenOnce: Gate = { ports: gate.ports, view: () => Promise.resolve(view) };
  const decision = await authorizeEffect(
    seenOnce,
    context,
    prepared.requirement,
    { tool: call.tool, operationId: call.id },
    signal,
  );
  if (decision.kind === "deny") {
    if (decision.reason === "audit_unavailable") gate.onAuditOutage?.();
    const refuse = decision.reason === "audit_unavailable" ? failed : denied;
    return { result: refuse(call, context, decision.reason) };
  }
  signal.throwIfAborted();
  const tooLate = gate.begin?.(tool.descriptor);
  if (tooLate !== undefined) return { result: denied(call, context, tooLate) };
  rememberBasis(prepared.call, { ports: gate.ports, context, grant: decision.grant, view: decision.view });
  return { result: await run(gate.ports, tool, context, prepared.call, options) };
}

type Prepared =
  | { ok: true; call: ToolCall; requirement: AuthorizationRequest }
  | { ok: false; code: ErrorCode; message?: string };

/** The call with its arguments as the tool parsed them, and exactly what it needs. */
function prepare(ports: Ports, tool: Tool, context: AccessContext, call: ToolCall): Prepared {
  const { descriptor, ceiling, handler } = tool;
  const misbehaved = (code: ErrorCode, error: unknown, returned?: unknown): Prepared => {
    quietly(() => returned);
    reportPortError(ports, error, { port: "tools", id: descriptor.name });
    return { ok: false, code };
  };
  let args: unknown;
  try {
    args = handler.parse(call.arguments);
  } catch (error) {
    const message = refusalOf(error);
    if (message === undefined) return misbehaved("invalid_tool_arguments", error);
    return { ok: false, code: "invalid_tool_arguments", message };
  }
  const checked = check(JsonObjectSchema, args);
  if (!checked.ok)
    return misbehaved("invalid_tool_arguments", new TypeError(`No JSON was parsed: ${checked.message}`), args);
  const parsed = Object.freeze({ ...call, arguments: checked.value });

  let required: unknown;
  try {
    if (handler.requirement === undefined) return { ok: true, call: parsed, requirement: ceiling };
    required = handler.requirement(context, parsed.arguments);
  } catch (error) {
    return misbehaved("tool_requirement_resolution_failed", error);
  }
  const requirement = check(AuthorizationRequestSchema, required);
  if (!requirement.ok) return misbehaved("invalid_tool_requirement", new TypeError(requirement.message), required);
  if (!isWithinCeiling(requirement.value, ceiling, context.owner)) {
    return misbehaved("invalid_tool_requirement", new RangeError("The requirement exceeds the declared capability."));
  }
  return { ok: true, call: parsed, requirement: requirement.value };
}

/** The words of a `ToolError`; undefined for any other error, and for one that throws when it is looked at. */
function refusalOf(error: unknown): string | undefined {
  try {
    return error instanceof ToolError ? error.message : undefined;
  } catch {
    return undefined;
  }
}

/** INVARIANT: nothing is thrown once the handler was called, because its effect may have happened. */
async function run(
  ports: Ports,
  tool: Tool,
  context: AccessContext,
  call: ToolCall,
  options: EffectOptions,
): Promise<ToolResult> {
  const invoke = (limited: AbortSignal): Promise<unknown> => tool.handler.invoke(context, call, limited);
  const end = await carryOutEffect(ports, options, invoke, tool.descriptor.readWrite);
  if (end.kind === "returned") return checkResult(ports, call, context, end.value);
  const { error, message } = end;
  try {
    if (error instanceof ToolError) return checkResult(ports, call, context, error.toResult(call));
    reportPortError(ports, error, { port: "tools", id: call.tool });
    if (error instanceof InvalidToolOutputError) return failed(call, context, "invalid_tool_result");
  } catch (unreadable) {
    reportPortError(ports, unreadable, { port: "tools", id: call.tool });
  }
  return failed(call, context, "tool_execution_failed", message);
}

/** A tool's result if it is one, and of this very call. */
function checkResult(ports: Ports, call: ToolCall, context: AccessContext, returned: unknown): ToolResult {
  const isOfThisCall = ({ callId, tool }: ToolResult): boolean => callId === call.id && tool === call.tool;
  const read = readResult(ports, { port: "tools", id: call.tool }, ToolResultSchema, returned, isOfThisCall);
  return read.ok ? read.result : failed(call, context, "invalid_tool_result", read.message);
}

/** A result for a call that was refused. */
export function denied(call: ToolCall, context: AccessContext, code: ErrorCode): ToolResult {
  return { status: "denied", callId: call.id, tool: call.tool, completedAt: context.now, error: errorObject(code) };
}

function failed(call: ToolCall, context: AccessContext, code: ErrorCode, message?: string): ToolResult {
  const isSayable = message !== undefined && message.length >= 1 && message.length <= 4096;
  const error = isSayable ? errorObject(code, message) : errorObject(code);
  return { status: "failed", callId: call.id, tool: call.tool, completedAt: context.now, error };
}
