import {
  DiscoveryContextSchema,
  TurnOptionsSchema,
  TurnRequestSchema,
  type AccessContext,
  type JsonObject,
  type ToolDescriptor,
  type TurnEvent,
  type TurnOptions,
  type TurnRequest,
  type TurnResult,
  type TurnState,
} from "../contracts/index.ts";
import { accept, check, currentTimestamp, markAccepted, originOf, quietly } from "../internal/index.ts";
import type { Kernel, WriteScope } from "../kernel/index.ts";
import { KnownTurnError, TurnPause, type TurnJournal, type RunWriter } from "./journal.ts";
import type { RuntimePlugin } from "./plugin.ts";
import { breakOff, runToEnd, throwIfAsync, type RunEnd } from "./run-turn.ts";
import { terminalEvents, type Ending } from "./settle.ts";
import { limitsOf, openRun, type Executor, type Run } from "./turn-run.ts";

/** A turn request with the trusted context it runs in and the tools it may be offered. */
export type TurnToExecute = TurnRequest & { context: AccessContext; tools?: readonly ToolDescriptor[] };

/** The last argument of `execute`. */
export interface TurnExecutionOptions {
  signal?: AbortSignal | undefined;
  /** Called with each event as it happens. Errors that it throws are ignored. */
  onEvent?: ((event: TurnEvent) => unknown) | undefined;
  /** Whether the turn continues without its caller. `execute` then resolves when this run has ended. Needs a journal. */
  isAsync?: boolean | undefined;
  /** Called when a turn has begun and its id is taken, before anything happens in it. Only with a journal. */
  onBegun?: ((state: TurnState) => void) | undefined;
  /** Resumes a turn that was begun before, and does not begin a new one. */
  writer?: RunWriter | undefined;
  /** Passed to the journal unchanged. */
  host?: unknown;
  writes?: WriteScope | undefined;
}

/**
 * Runs one bounded turn. It never rejects for anything that happens in the turn, because the result says how the turn ended. With a
 * journal it rejects with a `KnownTurnError` when the id is taken, and with a `TurnPause` when an asynchronous turn has to stop and
 * is resumed later. An `escalated` result of an asynchronous turn whose runtime can be resumed means that the turn waits.
 */
export interface TurnExecutionPort {
  execute(turn: TurnToExecute, options?: TurnExecutionOptions): Promise<TurnResult>;
}

/** What a turn executor is made of. */
export interface TurnExecutorOptions {
  kernel: Kernel;
  /** The runtime of all turns. No field of a request can choose another one. */
  runtime: RuntimePlugin;
  /** Limits for requests that leave them open. `maxToolCalls` is the turn's `maxSteps` unless it is given. */
  defaults?: TurnOptions;
  /** The time as RFC 3339. */
  clock?: () => string;
  createId?: () => string;
  /** Stores what turns do. Without a journal, turns end with their caller and their process. */
  journal?: TurnJournal;
  /** Gets the real error of a plugin that threw; callers only ever see a code. */
  onTurnError?(error: unknown, executionId: string): void;
}

/**
 * Makes the port that admits, offers, runs and settles turns. Throws when the defaults do not fit the contract.
 *
 * @example
 * import { createKernel } from "turnpike/kernel";
 * import { createTurnExecutor, standardRuntime } from "turnpike/runtime";
 * import { memoryGrants, scriptedDriver } from "turnpike/testing";
 *
 * const kernel = createKernel({ grants: memoryGrants([grant]), audit: "none" });
 * const turns = createTurnExecutor({ kernel, runtime: standardRuntime(scriptedDriver([])) });
 * console.log(typeof turns.execute); // function
 */
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
    journal: options.journal,
    reportError: (error, executionId) => quietly(() => options.onTurnError?.(error, executionId)),
  };
  return { execute: (turn, execution) => execute(executor, turn, execution) };
}

async function execute(
  executor: Executor,
  turn: TurnToExecute,
  options: TurnExecutionOptions = {},
): Promise<TurnResult> {
  const { context: given, tools: offered } = turn;
  const accepted = accept(TurnRequestSchema, originOf(turn) ?? requestOf(turn));
  if (!accepted.ok) throw new TypeError(`This is no turn request: ${accepted.message}`);
  const request = accepted.value;
  const trusted = accept(DiscoveryContextSchema, given);
  if (!trusted.ok) throw new TypeError("A turn needs a valid access context.");
  // Both parts were accepted, so the context made of them needs no further check.
  const { executionId } = request;
  const context = markAccepted(DiscoveryContextSchema, { ...trusted.value, executionId }) as AccessContext;

  const { journal } = executor;
  if (journal === undefined && options.isAsync === true)
    throw new TypeError("A turn that continues without its caller needs a journal.");
  const writer = options.writer ?? (journal && (await begin(executor, journal, request, context, options)));
  const run = openRun(executor, { request, context, offered, writer, resumes: options.writer !== undefined }, options);
  const end = await runToEnd(executor, run);
  if (end.kind === "ended") return conclude(executor, run, end);
  return resultOf(executor, run, { status: "escalated", escalation: end.escalation });
}

function requestOf({ context: _context, tools: _tools, ...request }: TurnToExecute): TurnRequest {
  return request;
}

/** Takes the id of a new turn. Throws a `KnownTurnError` when it is taken. */
async function begin(
  { manifest, defaults, tools }: Executor,
  journal: TurnJournal,
  request: TurnRequest,
  context: AccessContext,
  { isAsync = false, onBegun, ...call }: TurnExecutionOptions,
): Promise<RunWriter> {
  const startedAt = tools.clock();
  const limits = limitsOf(request.options, defaults);
  const begun = await journal.begin({ request, context, isAsync, runtime: manifest, limits, startedAt }, call);
  if (begun.kind === "known") throw new KnownTurnError(begun);
  const { version, executionId, agent } = request;
  const { traceId } = context;
  const common = { version, executionId, traceId, agent, startedAt, updatedAt: startedAt };
  quietly(() => onBegun?.({ ...common, status: "running", steps: 0, toolCalls: 0 }));
  return begun.writer;
}

/** Stores the end of a turn, then tells the caller. */
async function conclude(executor: Executor, run: Run, end: RunEnd & { kind: "ended" }): Promise<TurnResult> {
  const { ending, scope } = end;
  const { events, journal, context } = run;
  const { kernel, tools } = executor;
  const code = "error" in ending ? ending.error.code : undefined;
  const facts = { outcome: ending.status, reason: code };
  const writes = journal?.buffer.openScope();
  await (scope === undefined
    ? kernel.recordTurnEnd(context, facts, { writes })
    : scope.end(facts, tools.clock(), writes));
  journal?.buffer.closeScope(writes);
  events.close(terminalEvents[ending.status], code === undefined ? {} : { code });
  const result = resultOf(executor, run, ending);
  const { events: _events, ...said } = result;
  journal?.buffer.add({ kind: "ended", result: said });
  try {
    await journal?.buffer.flush();
  } catch (error) {
    throwIfAsync(run, "its end is not stored", error);
    executor.reportError(error, run.request.executionId);
    // The journal retries to store an end. If something before the end is lost, another run has the turn, or will resume it.
    const isLost = journal?.buffer.failure?.entries.at(-1)?.kind !== "ended";
    if (isLost || error instanceof TurnPause) return lostResult(executor, run);
  }
  return result;
}

/** The result for a caller whose turn another run ends. It is not the end of this run, which is not stored. */
function lostResult(executor: Executor, run: Run): TurnResult {
  const lost = resultOf(executor, run, breakOff(run, "audit_unavailable"));
  const end = { ...lost.events.at(-1), type: "turn.failed", data: { code: "audit_unavailable" } } as TurnEvent;
  return { ...lost, events: [...lost.events.slice(0, -1), end] };
}

function resultOf({ manifest, tools }: Executor, run: Run, ending: Ending): TurnResult {
  const { request, context, startedAt, events } = run;
  const { version, executionId } = request;
  const metadata: JsonObject = { ...ending.metadata, runtime: manifest };
  return {
    version,
    executionId,
    traceId: context.traceId,
    startedAt,
    completedAt: tools.clock(),
    events: [...events.all],
    ...ending,
    metadata,
  };
}
