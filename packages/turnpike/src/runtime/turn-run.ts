import type { AccessContext, ToolDescriptor, TurnEvent, TurnOptions, TurnRequest } from "../contracts/index.ts";
import { openDeadline, quietly, type Deadline } from "../internal/index.ts";
import type { Kernel } from "../kernel/index.ts";
import type { TurnJournal, TurnPen } from "./journal.ts";
import type { RuntimePlugin, TurnLimits } from "./plugin.ts";
import { openTurnBook, type TurnBook } from "./turn-book.ts";
import { openTurnEvents, type TurnEvents, type TurnTools } from "./turn-events.ts";
import { readReplay, type TurnReplay } from "./turn-replay.ts";

/** What every turn of an executor shares. */
export interface Executor {
  kernel: Kernel;
  runtime: RuntimePlugin;
  manifest: { id: string; version: string };
  defaults: TurnOptions;
  tools: TurnTools;
  journal: TurnJournal | undefined;
  reportError(error: unknown, executionId: string): void;
}

/** One turn on its way. */
export interface Run {
  request: TurnRequest;
  context: AccessContext;
  offered: readonly ToolDescriptor[] | undefined;
  limits: TurnLimits;
  events: TurnEvents;
  deadline: Deadline;
  journal: { pen: TurnPen; book: TurnBook; replay: TurnReplay } | undefined;
  /** An earlier run of the turn was interrupted, or waited. */
  goesOn: boolean;
  startedAt: string;
  /** The turn is over at once: nothing can be kept of it any more. */
  breaking: Promise<void>;
  onBreak(): void;
}

/** Opens a run of a turn: its clock starts. */
export function openRun(
  { tools, defaults }: Executor,
  turn: Pick<Run, "request" | "context" | "offered" | "goesOn"> & { pen: TurnPen | undefined },
  { signal, onEvent }: { signal?: AbortSignal | undefined; onEvent?: ((event: TurnEvent) => unknown) | undefined },
): Run {
  const { request, context, offered, goesOn, pen } = turn;
  let onBreak = (): void => {};
  const breaking = new Promise<void>((resolve) => {
    onBreak = resolve;
  });
  // An observer that throws or rejects changes nothing.
  const show = (event: TurnEvent): void => quietly(() => onEvent?.(event));
  const journal = pen && {
    pen,
    book: openTurnBook(pen, { clock: tools.clock, show, onFailure: onBreak }),
    replay: readReplay(pen.kept),
  };
  const observe = journal ? (event: TurnEvent) => journal.book.add({ kind: "event", event }) : show;
  const limits = pen?.turn.limits ?? limitsOf(request.options, defaults);
  const late = `The turn did not end within ${limits.timeoutMs} ms.`;
  const left = Math.max(1, limits.timeoutMs - (pen?.progress.ranMs ?? 0));
  const callers = [...(signal ? [signal] : []), ...(pen ? [pen.stop] : [])];
  return {
    request,
    context,
    offered,
    goesOn,
    limits,
    journal,
    breaking,
    onBreak,
    startedAt: pen?.turn.startedAt ?? tools.clock(),
    events: openTurnEvents(request, context.traceId, tools, observe, journal?.replay.events),
    deadline: openDeadline(left, callers, late),
  };
}

/** The limits of a turn, of which those that were not asked for are the defaults. */
export function limitsOf(asked: TurnOptions = {}, defaults: TurnOptions): TurnLimits {
  const maxSteps = asked.maxSteps ?? defaults.maxSteps ?? 16;
  return Object.freeze({
    maxSteps,
    maxToolCalls: asked.maxToolCalls ?? defaults.maxToolCalls ?? maxSteps,
    timeoutMs: asked.timeoutMs ?? defaults.timeoutMs ?? 120_000,
  });
}
