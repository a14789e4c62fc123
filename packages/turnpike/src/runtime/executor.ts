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
import type { Kernel } from "../kernel/index.ts";
import { KnownTurnError, TurnPause, type TurnJournal, type TurnPen } from "./journal.ts";
import type { RuntimePlugin } from "./plugin.ts";
import { breakOff, runToEnd, throwIfAsync, type RunEnd } from "./run-turn.ts";
import { terminalEvents, type Ending } from "./settle.ts";
import { limitsOf, openRun, type Executor, type Run } from "./turn-run.ts";

/** A turn request with the trusted context it runs in and the tools it may be offered. */
export type TurnToExecute = TurnRequest & { context: AccessContext; tools?: readonly ToolDescriptor[] };

/** The last argument of `execute`. */
export interface TurnExecutionOptions {
  signal?: AbortSignal | undefined;
  /** Sees each event as it happens. What it throws is ignored. */
  onEvent?: ((event: TurnEvent) => unknown) | undefined;
  /** The turn goes on without its caller: what `execute` resolves with is how this run of it ended. Needs a journal. */
  isAsync?: boolean | undefined;
  /** Told when a turn has begun and its id is taken, before anything happens in it. Only with a journal. */
  onBegun?: ((state: TurnState) => void) | undefined;
  /** Goes on with a turn that was begun before, instead of beginning one. */
  pen?: TurnPen | undefined;
  /** Handed to the journal as they are. */
  host?: unknown;
  claim?: unknown;
}

/**
 * Runs one bounded turn. Never rejects for anything that happens in the turn: a result says how it ended. With a journal it
 * rejects with a `KnownTurnError` when the id is taken, and with a `TurnPause` when an asynchronous turn has to stop here and
 * goes on later; an `escalated` result of an asynchronous turn whose runtime can go on says that it waits.
 */
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
  /** Keeps what turns do. Without one they end with their caller and their process. */
  journal?: TurnJournal;
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
  // Both parts were accepted, and so is the context of the turn.
  const { executionId } = request;
  const context = markAccepted(DiscoveryContextSchema, { ...trusted.value, executionId }) as AccessContext;

  const { journal } = executor;
  if (journal === undefined && options.isAsync === true)
    throw new TypeError("A turn that goes on without its caller needs a journal.");
  const pen = options.pen ?? (journal && (await begin(executor, journal, request, context, options)));
  const run = openRun(executor, { request, context, offered, pen, goesOn: options.pen !== undefined }, options);
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
): Promise<TurnPen> {
  const startedAt = tools.clock();
  const limits = limitsOf(request.options, defaults);
  const begun = await journal.begin({ request, context, isAsync, runtime: manifest, limits, startedAt }, call);
  if (begun.kind === "known") throw new KnownTurnError(begun);
  const { version, executionId, agent } = request;
  const { traceId } = context;
  const common = { version, executionId, traceId, agent, startedAt, updatedAt: startedAt };
  quietly(() => onBegun?.({ ...common, status: "running", steps: 0, toolCalls: 0 }));
  return begun.pen;
}

/** Ends a turn, of which its end is kept before anybody learns of it. */
async function conclude(executor: Executor, run: Run, end: RunEnd & { kind: "ended" }): Promise<TurnResult> {
  const { ending, scope } = end;
  const { events, journal, context } = run;
  const { kernel, tools } = executor;
  const code = "error" in ending ? ending.error.code : undefined;
  const facts = { outcome: ending.status, reason: code };
  const claim = journal?.book.claimFor();
  await (scope === undefined
    ? kernel.recordTurnEnd(context, facts, { claim })
    : scope.end(facts, tools.clock(), claim));
  journal?.book.join(claim);
  events.close(terminalEvents[ending.status], code === undefined ? {} : { code });
  const result = resultOf(executor, run, ending);
  const { events: _kept, ...said } = result;
  journal?.book.add({ kind: "ended", result: said });
  try {
    await journal?.book.keep();
  } catch (error) {
    throwIfAsync(run, "its end is not kept", error);
    executor.reportError(error, run.request.executionId);
    // An end the journal goes on trying to keep, unless something before it is lost; this turn is another run's then, or will be.
    const isLost = journal?.book.failure?.unkept.at(-1)?.kind !== "ended";
    if (isLost || error instanceof TurnPause) return lostResult(executor, run);
  }
  return result;
}

/** What a caller is told whose turn another run ends: not the end of this one, which nobody will find. */
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
