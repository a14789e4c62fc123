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
  type TurnPen,
  type TurnProgress,
  type TurnToBegin,
} from "../runtime/index.ts";

/** A journal of turns in memory, and what it takes to go on with a turn. */
export interface MemoryTurnJournal extends TurnJournal {
  /** The turns without an end that somebody may take: those that wait for an answer are not among them. */
  unfinished(): readonly TurnKey[];
  /** Takes a turn for a new run of it: the run before it stops, and cannot write any more. Throws when there is none. */
  take(key: TurnKey): TurnPen;
  /**
   * Answers one of the questions that a turn waits for, or is about to. A yes to a call has no result: it is made again.
   * Throws when the turn does not wait for this answer.
   */
  answer(key: TurnKey, callId: string, result?: ToolResult): void;
}

type WaitingEntry = Extract<JournalEntry, { kind: "waiting" }>;

/** What is kept of one turn. */
interface KeptTurn {
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

/** Keeps turns in memory, for as long as the journal lives. */
export function memoryTurnJournal(): MemoryTurnJournal {
  const turns = new Map<string, KeptTurn>();
  const find = (key: TurnKey): KeptTurn | undefined => turns.get(keyText(key));
  const existing = (key: TurnKey): KeptTurn => {
    const kept = find(key);
    if (kept === undefined) throw new Error(`There is no turn ${key.executionId}.`);
    return kept;
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
      const kept: KeptTurn = {
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
      turns.set(keyText(key), kept);
      return Promise.resolve({ kind: "begun", pen: penOf(kept) });
    },
    find(key) {
      const kept = find(key);
      return Promise.resolve(kept && stateOf(kept));
    },
    async list(owner, { statuses, limit, before }) {
      const isOwn = ({ key }: KeptTurn): boolean => ownerText(key) === ownerText(owner);
      const last = before === undefined ? Infinity : positionOf(before);
      const found = [...turns.values()]
        .filter((kept) => isOwn(kept) && kept.position < last)
        .filter((kept) => statuses === undefined || statuses.includes(stateOf(kept).status))
        .toSorted((one, other) => other.position - one.position);
      const page = found.slice(0, limit);
      const next = found.length > limit ? page.at(-1)?.position : undefined;
      return { turns: page.map(stateOf), ...(next !== undefined && { next: String(next) }) };
    },
    events(key, after) {
      const kept = find(key);
      return Promise.resolve(kept === undefined ? [] : eventsOf(kept).filter(({ sequence }) => sequence > after));
    },
    follow: (key, after, signal) => follow(find(key), after, signal),
    cancel(key) {
      const kept = find(key);
      if (kept === undefined) return Promise.resolve(undefined);
      if (endOf(kept) === undefined) {
        kept.isCancelled = true;
        kept.waiting = [];
        kept.run.abort(cancelled());
      }
      return Promise.resolve(stateOf(kept));
    },
    unfinished() {
      const open = [...turns.values()].filter((kept) => endOf(kept) === undefined);
      return open.filter(({ waiting }) => waiting.length === 0).map(({ key }) => key);
    },
    take(key) {
      const kept = existing(key);
      if (endOf(kept) !== undefined) throw new Error(`The turn ${key.executionId} has ended.`);
      kept.run.abort(takenOver());
      kept.run = new AbortController();
      kept.waiting = [];
      if (kept.isCancelled) kept.run.abort(cancelled());
      return penOf(kept);
    },
    answer(key, callId, result) {
      const kept = existing(key);
      const waiting = kept.waiting.find((one) => one.callId === callId);
      if (waiting !== undefined) goOnWith(kept, waiting, result);
      else if (isAskedAbout(kept, callId)) kept.early.set(callId, result);
      else throw new Error(`The turn ${key.executionId} does not wait for ${callId}.`);
    },
  };
}

/** The pen of the run that has the turn now. */
function penOf(kept: KeptTurn): TurnPen {
  const { turn, run, progress } = kept;
  return {
    turn,
    kept: [...kept.entries],
    progress,
    stop: run.signal,
    async write(entries, reached) {
      // INVARIANT: a run that lost its turn to another one writes nothing, and nor does anybody after the end.
      if (kept.run !== run || endOf(kept) !== undefined) throw takenOver();
      keep(kept, entries, reached);
      const waiting = entries.filter((entry) => entry.kind === "waiting");
      if (waiting.length === 0 || endOf(kept) !== undefined) return;
      // One that was cancelled does not wait: whoever takes it ends it.
      if (!kept.isCancelled) kept.waiting = waiting;
      const answered = kept.waiting.find(({ callId }) => kept.early.has(callId));
      if (answered !== undefined) goOnWith(kept, answered, kept.early.get(answered.callId));
    },
  };
}

/** Whether the last that is kept of a call is that a person was asked about it. */
function isAskedAbout({ entries }: KeptTurn, callId: string): boolean {
  const last = entries.findLast((entry) => "callId" in entry && entry.callId === callId);
  return last?.kind === "asked";
}

/** The turn goes on. A no is the result of the call that waited for a yes. */
function goOnWith(kept: KeptTurn, { callId, approval }: WaitingEntry, result: ToolResult | undefined): void {
  const isAnswer = approval === undefined;
  if (isAnswer && result === undefined) throw new TypeError(`The answer to ${callId} has to be its result.`);
  kept.waiting = [];
  kept.early.delete(callId);
  const entries: JournalEntry[] =
    result === undefined ? [] : [{ kind: isAnswer ? "answered" : "result", callId, result }];
  keep(kept, entries, { ...kept.progress, ...(result && { at: result.completedAt }) });
}

function keep(kept: KeptTurn, entries: readonly JournalEntry[], progress: TurnProgress): void {
  kept.entries.push(...entries);
  kept.progress = progress;
  for (const wake of kept.watchers) wake();
}

async function* follow(
  kept: KeptTurn | undefined,
  after: number,
  signal: AbortSignal,
): AsyncGenerator<TurnEvent, void> {
  signal.throwIfAborted();
  if (kept === undefined) return;
  for (let next = 0; ; next += 1) {
    while (next >= kept.entries.length) await change(kept, signal);
    const entry = kept.entries[next];
    if (entry?.kind === "ended") return;
    if (entry?.kind !== "event" || entry.event.sequence <= after) continue;
    yield entry.event;
    signal.throwIfAborted();
  }
}

/** Resolves when something more was kept. Rejects with the reason of the signal. */
async function change({ watchers }: KeptTurn, signal: AbortSignal): Promise<void> {
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

function stateOf(kept: KeptTurn): TurnState {
  const { request, context, startedAt } = kept.turn;
  const { at, steps, toolCalls } = kept.progress;
  const result = resultOf(kept);
  const escalation = result === undefined ? kept.waiting[0]?.escalation : undefined;
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

/** The result with the events that are kept elsewhere, in the order of keys in which an executor writes it. */
function resultOf(kept: KeptTurn): TurnResult | undefined {
  const ended = endOf(kept);
  if (ended === undefined) return undefined;
  const { version, executionId, traceId, startedAt, completedAt, ...ending } = ended;
  const events = eventsOf(kept);
  return { version, executionId, traceId, startedAt, completedAt, events, ...ending } as TurnResult;
}

function eventsOf({ entries }: KeptTurn): TurnEvent[] {
  return entries.flatMap((entry) => (entry.kind === "event" ? [entry.event] : []));
}

function endOf({ entries }: KeptTurn): Omit<TurnResult, "events"> | undefined {
  const last = entries.at(-1);
  return last?.kind === "ended" ? last.result : undefined;
}

/** Whether the turn was denied before it was admitted, which leaves its id free. */
function wasRefused(kept: KeptTurn): boolean {
  const ended = endOf(kept) as Partial<Extract<TurnResult, { status: "denied" }>> | undefined;
  if (ended?.status !== "denied" || ended.error === undefined) return false;
  return saysNothingRan(ended.error.code) && !kept.entries.some(({ kind }) => kind === "admitted");
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
