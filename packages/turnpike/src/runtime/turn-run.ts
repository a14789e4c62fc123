import type { AccessContext, ToolDescriptor, TurnEvent, TurnOptions, TurnRequest } from "../contracts/index.ts";
import { openDeadline, quietly, type Deadline } from "../internal/index.ts";
import type { Kernel } from "../kernel/index.ts";
import type { TurnJournal, RunWriter } from "./journal.ts";
import type { RuntimePlugin, TurnLimits } from "./plugin.ts";
import { openRunBuffer, type RunBuffer } from "./run-buffer.ts";
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

/** One run of a turn. */
export interface Run {
  request: TurnRequest;
  context: AccessContext;
  offered: readonly ToolDescriptor[] | undefined;
  limits: TurnLimits;
  events: TurnEvents;
  deadline: Deadline;
  journal: { writer: RunWriter; buffer: RunBuffer; replay: TurnReplay } | undefined;
  /** Whether an earlier run of the turn was interrupted or waited. */
  resumes: boolean;
  startedAt: string;
  /** Resolves when the turn must end at once. */
  breaking: Promise<void>;
  onBreak(): void;
}

/** Opens a run of a turn, and starts its deadline. */
export function openRun(
  { tools, defaults }: Executor,
  turn: Pick<Run, "request" | "context" | "offered" | "resumes"> & { writer: RunWriter | undefined },
  { signal, onEvent }: { signal?: AbortSignal | undefined; onEvent?: ((event: TurnEvent) => unknown) | undefined },
): Run {
  const { request, context, offered, resumes, writer } = turn;
  let onBreak = (): void => {};
  const breaking = new Promise<void>((resolve) => {
    onBreak = resolve;
  });
  // An observer that throws or rejects changes nothing.
  const show = (event: TurnEvent): void => quietly(() => onEvent?.(event));
  const journal = writer && {
    writer,
    buffer: openRunBuffer(writer, { clock: tools.clock, show, onFailure: onBreak }),
    replay: readReplay(writer.stored),
  };
  const observe = journal ? (event: TurnEvent) => journal.buffer.add({ kind: "event", event }) : show;
  const limits = writer?.turn.limits ?? limitsOf(request.options, defaults);
  const late = `The turn did not end within ${limits.timeoutMs} ms.`;
  const left = Math.max(1, limits.timeoutMs - (writer?.progress.ranMs ?? 0));
  const callers = [...(signal ? [signal] : []), ...(writer ? [writer.stop] : [])];
  return {
    request,
    context,
    offered,
    resumes,
    limits,
    journal,
    breaking,
    onBreak,
    startedAt: writer?.turn.startedAt ?? tools.clock(),
    events: openTurnEvents(request, context.traceId, tools, observe, journal?.replay.events),
    deadline: openDeadline(left, callers, late),
  };
}

/** The limits of a turn. Limits that the request leaves open are the defaults. */
export function limitsOf(asked: TurnOptions = {}, defaults: TurnOptions): TurnLimits {
  const maxSteps = asked.maxSteps ?? defaults.maxSteps ?? 16;
  return Object.freeze({
    maxSteps,
    maxToolCalls: asked.maxToolCalls ?? defaults.maxToolCalls ?? maxSteps,
    timeoutMs: asked.timeoutMs ?? defaults.timeoutMs ?? 120_000,
  });
}
