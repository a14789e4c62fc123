import {
  DiscoveryContextSchema,
  samePrincipal,
  TurnOptionsSchema,
  TurnRequestSchema,
  type AccessContext,
  type ErrorCode,
  type JsonObject,
  type ToolDescriptor,
  type TurnEvent,
  type TurnOptions,
  type TurnRequest,
  type TurnResult,
} from "../contracts/index.ts";
import {
  accept,
  check,
  currentTimestamp,
  markAccepted,
  neverAborted,
  openDeadline,
  orAbort,
  originOf,
  quietly,
  type Deadline,
} from "../internal/index.ts";
import type { Kernel, TurnBreak, TurnScope } from "../kernel/index.ts";
import { escalationToolName } from "./escalate.ts";
import type { RuntimePlugin, TurnLimits } from "./plugin.ts";
import { DriverError } from "./plugin.ts";
import { endWith, readOutcome, terminalEvents, withTruthfulRetry, type Ending } from "./settle.ts";
import { openTurnEvents, type TurnEvents, type TurnTools } from "./turn-events.ts";
import { createTurnHost } from "./turn-host.ts";

/** A turn request with the trusted context it runs in and the tools it may be offered. */
export type TurnToExecute = TurnRequest & { context: AccessContext; tools?: readonly ToolDescriptor[] };

/** The last argument of `execute`. */
export interface TurnExecutionOptions {
  signal?: AbortSignal | undefined;
  /** Sees each event as it happens. What it throws is ignored. */
  onEvent?: ((event: TurnEvent) => unknown) | undefined;
}

/** Runs one bounded turn. Never rejects for anything that happens in the turn: a result says how it ended. */
export interface TurnExecutionPort {
  execute(turn: TurnToExecute, options?: TurnExecutionOptions): Promise<TurnResult>;
}

/** What a turn executor is made of. */
export interface TurnExecutorOptions {
  kernel: Kernel;
  /** Fixed by the host: no field of a request can choose another. */
  runtime: RuntimePlugin;
  /** For requests that leave a limit open. `maxToolCalls` follows the turn's `maxSteps` unless it is given. */
  defaults?: TurnOptions;
  /** The time as RFC 3339. */
  clock?: () => string;
  createId?: () => string;
  /** Gets the real error of a plugin that threw; callers only ever see a code. */
  onTurnError?(error: unknown, executionId: string): void;
}

/** Makes the port that admits, offers, runs and settles turns. Throws when the defaults do not fit the contract. */
export function createTurnExecutor(options: TurnExecutorOptions): TurnExecutionPort {
  const defaults = check(TurnOptionsSchema, options.defaults ?? {});
  if (!defaults.ok) throw new TypeError(`The turn defaults do not fit the contract: ${defaults.message}`);
  const { kernel, runtime, clock = currentTimestamp, createId = () => crypto.randomUUID() } = options;
  const { id, version } = runtime.manifest;
  const executor: Executor = {
    kernel,
    runtime,
    manifest: Object.freeze({ id, version }),
    defaults: defaults.value,
    tools: { clock, createId },
    reportError: (error, executionId) => quietly(() => options.onTurnError?.(error, executionId)),
  };
  return { execute: (turn, execution) => execute(executor, turn, execution) };
}

interface Executor {
  kernel: Kernel;
  runtime: RuntimePlugin;
  manifest: { id: string; version: string };
  defaults: TurnOptions;
  tools: TurnTools;
  reportError(error: unknown, executionId: string): void;
}

/** One turn on its way. */
interface Run {
  request: TurnRequest;
  context: AccessContext;
  offered: readonly ToolDescriptor[] | undefined;
  limits: TurnLimits;
  events: TurnEvents;
  deadline: Deadline;
}

async function execute(
  executor: Executor,
  turn: TurnToExecute,
  options: TurnExecutionOptions = {},
): Promise<TurnResult> {
  const { context: given, tools: offered, ...rest } = turn;
  const accepted = accept(TurnRequestSchema, originOf(turn) ?? rest);
  if (!accepted.ok) throw new TypeError(`This is no turn request: ${accepted.message}`);
  const request = accepted.value;
  const trusted = accept(DiscoveryContextSchema, given);
  if (!trusted.ok) throw new TypeError("A turn needs a valid access context.");
  // Both parts were accepted, and so is the context of the turn.
  const { executionId } = request;
  const context = markAccepted(DiscoveryContextSchema, { ...trusted.value, executionId }) as AccessContext;

  const { clock } = executor.tools;
  const startedAt = clock();
  const events = openTurnEvents(request, context.traceId, executor.tools, options.onEvent);
  const limits = limitsOf(request.options, executor.defaults);
  const late = `The turn did not end within ${limits.timeoutMs} ms.`;
  const deadline = openDeadline(limits.timeoutMs, options.signal ?? neverAborted(), late);
  const ending = await runToEnd(executor, { request, context, offered, limits, events, deadline });

  const reason = "error" in ending ? ending.error.code : undefined;
  events.close(terminalEvents[ending.status], reason === undefined ? {} : { code: reason });
  const { version } = request;
  const metadata: JsonObject = { ...ending.metadata, runtime: executor.manifest };
  return {
    version,
    executionId,
    traceId: context.traceId,
    startedAt,
    completedAt: clock(),
    events: [...events.all],
    ...ending,
    metadata,
  };
}

function limitsOf(asked: TurnOptions = {}, defaults: TurnOptions): TurnLimits {
  const maxSteps = asked.maxSteps ?? defaults.maxSteps ?? 16;
  return Object.freeze({
    maxSteps,
    maxToolCalls: asked.maxToolCalls ?? defaults.maxToolCalls ?? maxSteps,
    timeoutMs: asked.timeoutMs ?? defaults.timeoutMs ?? 120_000,
  });
}

/** Admits and runs the turn; whatever happens, it is recorded as ended, and nothing of it goes on. */
async function runToEnd(executor: Executor, run: Run): Promise<Ending> {
  const { request, context, deadline } = run;
  const { kernel, tools } = executor;
  let scope: TurnScope | undefined;
  let ending: Ending;
  try {
    const mismatch = contextMismatch(request, context);
    const admission =
      mismatch === undefined
        ? await orAbort(
            kernel.admitTurn(context, { agent: request.agent, tools: run.offered }, deadline),
            deadline.signal,
          )
        : { kind: "refused" as const, reason: mismatch };
    if (admission.kind === "refused") {
      ending = endWith(admission.reason === "audit_unavailable" ? "failed" : "denied", admission.reason);
    } else {
      scope = admission.scope;
      ending = await runAdmitted(executor, run, scope);
    }
  } catch (error) {
    if (!deadline.signal.aborted) executor.reportError(error, request.executionId);
    ending = deadline.signal.aborted ? endWith("cancelled", "turn_cancelled") : endWith("failed", "runtime_failed");
  }

  deadline.close(new Error("The turn has ended."));
  ending = withTruthfulRetry(ending, scope?.mayHaveTakenEffect === true);
  const end = { outcome: ending.status, reason: "error" in ending ? ending.error.code : undefined };
  await (scope === undefined ? kernel.recordTurnEnd(context, end) : scope.end(end, tools.clock()));
  return ending;
}

function contextMismatch({ agent, message }: TurnRequest, context: AccessContext): ErrorCode | undefined {
  if (!samePrincipal(context.actor, agent)) return "actor_mismatch";
  if (!samePrincipal(message.receiver, agent)) return "receiver_mismatch";
  const isOfContext = message.traceId === context.traceId && message.purpose === context.purpose;
  return isOfContext ? undefined : "message_context_mismatch";
}

/** How a turn ends that has lost what it cannot go on without. */
function breakOff(lost: TurnBreak): Ending {
  return endWith(lost === "audit_unavailable" ? "failed" : "denied", lost);
}

/** Runs the plugin inside the envelope. Rejects when the deadline or the caller comes first. */
async function runAdmitted(executor: Executor, run: Run, scope: TurnScope): Promise<Ending> {
  const { runtime, manifest, tools } = executor;
  const { request, limits, events, deadline } = run;
  events.append("turn.started", { runtime: manifest, limits });
  const { clock } = tools;
  let onBreak = (): void => {};
  const breaking = new Promise<void>((resolve) => {
    onBreak = resolve;
  });
  const { signal } = deadline;
  const host = createTurnHost({ scope, limits, events, signal, clock, onBreak });
  const turn = Object.freeze({ ...request, tools: scope.tools, reach: scope.reach, limits });

  let outcome: unknown;
  try {
    const running = (async () => runtime.run(turn, host, signal))();
    outcome = await orAbort(Promise.race([running, breaking]), signal);
  } catch (error) {
    signal.throwIfAborted();
    if (scope.mustEnd !== undefined) return breakOff(scope.mustEnd);
    const isDriver = error instanceof DriverError;
    executor.reportError(isDriver ? error.cause : error, request.executionId);
    return endWith("failed", isDriver ? "driver_failed" : "runtime_failed");
  }
  if (scope.mustEnd !== undefined) return breakOff(scope.mustEnd);
  const read = readOutcome(outcome);
  if (read.kind === "ending") return read.ending;
  if (!scope.tools.some(({ name }) => name === escalationToolName)) return endWith("failed", "tool_unavailable");

  const { input, metadata } = read;
  // It follows the signal by itself until the escalation may be in the queue, whose outcome then counts.
  const escalated = await scope.escalate(input, clock(), signal);
  if (escalated.kind === "pending")
    return { status: "escalated", escalation: escalated.escalation, ...(metadata && { metadata }) };
  if (escalated.reason === "credential_revoked") return breakOff(escalated.reason);
  if (escalated.reason === "invalid_request") return endWith("failed", "invalid_runtime_outcome");
  const { reason } = escalated;
  const isOwn =
    reason === "audit_unavailable" || reason === "escalation_unavailable" || reason === "too_many_escalations";
  return endWith("failed", isOwn ? reason : "tool_unavailable");
}
