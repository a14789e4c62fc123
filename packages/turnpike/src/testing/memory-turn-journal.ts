import {
  principalKey,
  saysNothingRan,
  type ToolResult,
  type TurnEvent,
  type TurnResult,
  type TurnState,
} from "../contracts/index.ts";
import { ServiceHttpError } from "../http/index.ts";
import { canonicalJson } from "../internal/index.ts";
import {
  TurnPause,
  type JournalEntry,
  type TurnJournal,
  type TurnKey,
  type RunWriter,
  type TurnProgress,
  type TurnToBegin,
} from "../runtime/index.ts";

/** A journal of turns in memory, with the methods that resume a turn. */
export interface MemoryTurnJournal extends TurnJournal {
  /** The turns without an end that a run may take: those that wait for an answer are not among them. */
  unfinished(): readonly TurnKey[];
  /** Takes a turn for a new run of it: the run before it stops, and cannot write any more. Throws when there is none. */
  take(key: TurnKey): RunWriter;
  /**
   * Answers one of the escalations that a turn waits for, or is about to. An approval has no result: the call is made again.
   * Throws when the turn does not wait for this answer.
   */
  answer(key: TurnKey, callId: string, result?: ToolResult): void;
}

type WaitingEntry = Extract<JournalEntry, { kind: "waiting" }>;

/** One stored turn. */
interface StoredTurn {
  readonly key: TurnKey;
  readonly turn: TurnToBegin;
  /** Counts the turns that were begun. */
  readonly position: number;
  readonly entries: JournalEntry[];
  progress: TurnProgress;
  /** The run that may write. */
  run: AbortController;
  isCancelled: boolean;
  /** What it waits for: any of these. */
  waiting: readonly WaitingEntry[];
  /** Answers that came before the turn waited for them. */
  readonly early: Map<string, ToolResult | undefined>;
  readonly watchers: Set<() => void>;
}

/**
 * Stores turns in memory, for as long as the journal lives.
 *
 * @example
 * import { memoryTurnJournal } from "turnpike/testing";
 *
 * const journal = memoryTurnJournal();
 * console.log(journal.unfinished()); // []
 */
export function memoryTurnJournal(): MemoryTurnJournal {
  const turns = new Map<string, StoredTurn>();
  const find = (key: TurnKey): StoredTurn | undefined => turns.get(keyText(key));
  const existing = (key: TurnKey): StoredTurn => {
    const row = find(key);
    if (row === undefined) throw new Error(`There is no turn ${key.executionId}.`);
    return row;
  };
  let positions = 0;

  return {
    begin(turn) {
      const { namespaceId, actor } = turn.context;
      const key = { namespaceId, actor, executionId: turn.request.executionId };
      const known = find(key);
      if (known !== undefined && !wasRefused(known)) {
        const isSame = fingerprintOf(known.turn) === fingerprintOf(turn);
        return Promise.resolve({ kind: "known", state: stateOf(known), isAsync: known.turn.isAsync, isSame });
      }
      const row: StoredTurn = {
        key,
        turn,
        position: (positions += 1),
        entries: [],
        progress: { at: turn.startedAt, steps: 0, toolCalls: 0, ranMs: 0 },
        run: new AbortController(),
        isCancelled: false,
        waiting: [],
        early: new Map(),
        watchers: new Set(),
      };
      turns.set(keyText(key), row);
      return Promise.resolve({ kind: "begun", writer: writerOf(row) });
    },
    find(key) {
      const row = find(key);
      return Promise.resolve(row && stateOf(row));
    },
    async list(owner, { statuses, limit, before }) {
      const isOwn = ({ key }: StoredTurn): boolean => ownerText(key) === ownerText(owner);
      const last = before === undefined ? Infinity : positionOf(before);
      const found = [...turns.values()]
        .filter((row) => isOwn(row) && row.position < last)
        .filter((row) => statuses === undefined || statuses.includes(stateOf(row).status))
        .toSorted((one, other) => other.position - one.position);
      const page = found.slice(0, limit);
      const next = found.length > limit ? page.at(-1)?.position : undefined;
      return { turns: page.map(stateOf), ...(next !== undefined && { next: String(next) }) };
    },
    events(key, after) {
      const row = find(key);
      return Promise.resolve(row === undefined ? [] : eventsOf(row).filter(({ sequence }) => sequence > after));
    },
    follow: (key, after, signal) => follow(find(key), after, signal),
    cancel(key) {
      const row = find(key);
      if (row === undefined) return Promise.resolve(undefined);
      if (endOf(row) === undefined) {
        row.isCancelled = true;
        row.waiting = [];
        row.run.abort(cancelled());
      }
      return Promise.resolve(stateOf(row));
    },
    unfinished() {
      const open = [...turns.values()].filter((row) => endOf(row) === undefined);
      return open.filter(({ waiting }) => waiting.length === 0).map(({ key }) => key);
    },
    take(key) {
      const row = existing(key);
      if (endOf(row) !== undefined) throw new Error(`The turn ${key.executionId} has ended.`);
      row.run.abort(takenOver());
      row.run = new AbortController();
      row.waiting = [];
      if (row.isCancelled) row.run.abort(cancelled());
      return writerOf(row);
    },
    answer(key, callId, result) {
      const row = existing(key);
      const waiting = row.waiting.find((one) => one.callId === callId);
      if (waiting !== undefined) resumeWith(row, waiting, result);
      else if (isAskedAbout(row, callId)) row.early.set(callId, result);
      else throw new Error(`The turn ${key.executionId} does not wait for ${callId}.`);
    },
  };
}

/** The writer of the run that has the turn now. */
function writerOf(row: StoredTurn): RunWriter {
  const { turn, run, progress } = row;
  return {
    turn,
    stored: [...row.entries],
    progress,
    stop: run.signal,
    async write(entries, reached) {
      // INVARIANT: a run that lost its turn to another one writes nothing, and no run writes after the end.
      if (row.run !== run || endOf(row) !== undefined) throw takenOver();
      append(row, entries, reached);
      const waiting = entries.filter((entry) => entry.kind === "waiting");
      if (waiting.length === 0 || endOf(row) !== undefined) return;
      // One that was cancelled does not wait: the run that takes it ends it.
      if (!row.isCancelled) row.waiting = waiting;
      const answered = row.waiting.find(({ callId }) => row.early.has(callId));
      if (answered !== undefined) resumeWith(row, answered, row.early.get(answered.callId));
    },
  };
}

/** Whether the last entry of a call is that a person was asked about it. */
function isAskedAbout({ entries }: StoredTurn, callId: string): boolean {
  const last = entries.findLast((entry) => "callId" in entry && entry.callId === callId);
  return last?.kind === "asked";
}

/** Resumes the turn. A denial is the result of the call that waited for approval. */
function resumeWith(row: StoredTurn, { callId, approval }: WaitingEntry, result: ToolResult | undefined): void {
  const isAnswer = approval === undefined;
  if (isAnswer && result === undefined) throw new TypeError(`The answer to ${callId} has to be its result.`);
  row.waiting = [];
  row.early.delete(callId);
  const entries: JournalEntry[] =
    result === undefined ? [] : [{ kind: isAnswer ? "answered" : "result", callId, result }];
  append(row, entries, { ...row.progress, ...(result && { at: result.completedAt }) });
}

function append(row: StoredTurn, entries: readonly JournalEntry[], progress: TurnProgress): void {
  row.entries.push(...entries);
  row.progress = progress;
  for (const wake of row.watchers) wake();
}

async function* follow(
  row: StoredTurn | undefined,
  after: number,
  signal: AbortSignal,
): AsyncGenerator<TurnEvent, void> {
  signal.throwIfAborted();
  if (row === undefined) return;
  for (let next = 0; ; next += 1) {
    while (next >= row.entries.length) await change(row, signal);
    const entry = row.entries[next];
    if (entry?.kind === "ended") return;
    if (entry?.kind !== "event" || entry.event.sequence <= after) continue;
    yield entry.event;
    signal.throwIfAborted();
  }
}

/** Resolves when something more was stored. Rejects with the reason of the signal. */
async function change({ watchers }: StoredTurn, signal: AbortSignal): Promise<void> {
  let wake = (): void => {};
  const woken = new Promise<void>((resolve) => {
    wake = resolve;
  });
  watchers.add(wake);
  signal.addEventListener("abort", wake);
  try {
    await woken;
  } finally {
    watchers.delete(wake);
    signal.removeEventListener("abort", wake);
  }
  signal.throwIfAborted();
}

function stateOf(row: StoredTurn): TurnState {
  const { request, context, startedAt } = row.turn;
  const { at, steps, toolCalls } = row.progress;
  const result = resultOf(row);
  const escalation = result === undefined ? row.waiting[0]?.escalation : undefined;
  return {
    version: request.version,
    executionId: request.executionId,
    traceId: context.traceId,
    agent: request.agent,
    status: result?.status ?? (escalation === undefined ? "running" : "waiting"),
    startedAt,
    updatedAt: at,
    ...(result && { completedAt: result.completedAt }),
    steps,
    toolCalls,
    ...(escalation && { escalation }),
    ...(result && { result }),
  };
}

/** The result with its events, which are stored apart, in the order of keys in which an executor writes it. */
function resultOf(row: StoredTurn): TurnResult | undefined {
  const ended = endOf(row);
  if (ended === undefined) return undefined;
  const { version, executionId, traceId, startedAt, completedAt, ...ending } = ended;
  const events = eventsOf(row);
  return { version, executionId, traceId, startedAt, completedAt, events, ...ending } as TurnResult;
}

function eventsOf({ entries }: StoredTurn): TurnEvent[] {
  return entries.flatMap((entry) => (entry.kind === "event" ? [entry.event] : []));
}

function endOf({ entries }: StoredTurn): Omit<TurnResult, "events"> | undefined {
  const last = entries.at(-1);
  return last?.kind === "ended" ? last.result : undefined;
}

/** Whether the turn was denied before it was admitted, which leaves its id free. */
function wasRefused(row: StoredTurn): boolean {
  const ended = endOf(row) as Partial<Extract<TurnResult, { status: "denied" }>> | undefined;
  if (ended?.status !== "denied" || ended.error === undefined) return false;
  return saysNothingRan(ended.error.code) && !row.entries.some(({ kind }) => kind === "admitted");
}

/** Equal for two requests of the same turn; when its message was written does not matter. */
function fingerprintOf({ request, context }: TurnToBegin): string {
  const { createdAt: _observed, ...message } = request.message;
  const { actor, authority, owner, purpose } = context;
  return canonicalJson([actor, authority, owner, purpose, { ...request, message }]);
}

function positionOf(before: string): number {
  if (/^[1-9]\d{0,14}$/.test(before)) return Number(before);
  throw new ServiceHttpError(400, "invalid_request", "before: expected the `next` of a page of turns.");
}

function ownerText({ namespaceId, actor }: Pick<TurnKey, "namespaceId" | "actor">): string {
  return JSON.stringify([namespaceId, principalKey(actor)]);
}

function keyText(key: TurnKey): string {
  return JSON.stringify([ownerText(key), key.executionId]);
}

function takenOver(): TurnPause {
  return new TurnPause("Another run has this turn now, or it has ended.");
}

function cancelled(): Error {
  return new Error("The turn was cancelled.");
}
