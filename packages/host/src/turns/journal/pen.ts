import { saysNothingRan, type JsonObject } from "turnpike/contracts";
import { ownSignal } from "turnpike/http";
import { TurnPause, type JournalEntry, type TurnPen, type TurnProgress, type TurnToBegin } from "turnpike/runtime";
import type { Alternative, AuditEntry, Ledger, RunLine, TurnStopColumns, TurnWrite } from "../../ledger/index.ts";
import { TurnCallCompanion } from "./call-companion.ts";
import { bytesOf, entryRows, questionRows, type TurnId } from "./turn-rows.ts";

/** Made once, because an error with its stack costs as much as keeping an entry, and frozen, because all runs share it. */
const runIsOver = Object.freeze(new TurnPause("This run of the turn is over."));

/** Where a run of a turn begins. */
export interface RunStart {
  id: TurnId;
  /** Its number. */
  run: number;
  turn: TurnToBegin;
  credential: JsonObject | undefined;
  kept: readonly JournalEntry[];
  progress: TurnProgress;
  /** The position of the next entry. */
  entries: number;
  events: number;
  /** How much is kept of the turn. */
  bytes: number;
  /** Fires when the host is about to stop. */
  pauses: AbortSignal;
}

/** Told by a pen. */
export interface PenListener {
  /** Something was kept that others may want to read. */
  onKept(id: TurnId): void;
  /** Nothing is written with the pen any more. */
  onOver(pen: JournalPen): void;
  /** The end of a turn could not be kept, and its caller learns it nevertheless. Writing it twice is as good as once. */
  onUnkept(pen: JournalPen, write: () => Promise<unknown>): void;
}

/**
 * The pen of one run of a turn, by which everything goes through the ledger, in the order in which it is asked for.
 * INVARIANT: after a write that failed, none is made.
 */
export class JournalPen implements TurnPen {
  readonly isOrdered = true;
  readonly id: TurnId;
  readonly run: number;
  readonly turn: TurnToBegin;
  readonly credential: JsonObject | undefined;
  readonly kept: readonly JournalEntry[];
  readonly #ledger: Ledger;
  readonly #listener: PenListener;
  readonly #stop = ownSignal();
  readonly pauses: AbortSignal;
  readonly #line: RunLine = {};
  /** Calls whose end is not written yet. */
  readonly #calls = new Set<TurnCallCompanion>();
  #progress: TurnProgress;
  #position: number;
  #events: number;
  #bytes: number;
  #isAdmitted: boolean;
  /** Why nothing is written any more. */
  #over: Error | undefined;

  constructor(ledger: Ledger, start: RunStart, listener: PenListener) {
    this.#ledger = ledger;
    this.#listener = listener;
    this.pauses = start.pauses;
    this.id = start.id;
    this.run = start.run;
    this.turn = start.turn;
    this.credential = start.credential;
    this.kept = start.kept;
    this.#progress = start.progress;
    this.#position = start.entries;
    this.#events = start.events;
    this.#bytes = start.bytes;
    this.#isAdmitted = start.kept.some(({ kind }) => kind === "admitted");
  }

  get progress(): TurnProgress {
    return this.#progress;
  }

  get stop(): AbortSignal {
    return this.#stop.signal;
  }

  /** Stops the run: it goes on later if the reason is a `TurnPause`, and ends otherwise. */
  halt(reason: Error): void {
    this.#stop.abort(reason);
  }

  async write(entries: readonly JournalEntry[], progress: TurnProgress, claims?: unknown): Promise<void> {
    const calls = [claims].flat().filter((claim) => claim instanceof TurnCallCompanion);
    const begun = calls.flatMap((call) => call.end());
    const events = calls.flatMap((call) => call.takeWaiting());
    for (const call of calls) this.#calls.delete(call);
    try {
      await this.submit([...begun, ...entries], progress, events.length === 0 ? [] : [{ entries: events }]);
    } catch (error) {
      const isEnd = entries.some(({ kind }) => kind === "ended");
      if (error instanceof TurnPause && !isEnd) this.#record(events);
      throw error;
    }
  }

  claimFor(entries: readonly JournalEntry[] | JournalEntry | undefined, progress: TurnProgress): TurnCallCompanion {
    const begun = [entries ?? []].flat() as JournalEntry[];
    const call = new TurnCallCompanion(this, this.#ledger, begun, progress);
    this.#calls.add(call);
    return call;
  }

  /** Nothing is written with this pen any more; what its calls wait to record is recorded nevertheless. */
  close(reason: Error): void {
    if (this.#over === undefined) this.#end(reason);
    this.#record(this.#takeWaiting());
  }

  /** It happened, whoever runs the turn by now. An outage that loses it has lost the turn's own writes too. */
  #record(events: readonly AuditEntry[]): void {
    if (events.length > 0) this.#ledger.submit({ alternatives: [{ entries: events }] }).catch(() => {});
  }

  /**
   * Keeps entries together with the first alternative that can be taken, and says which. Rejects with a `TurnPause` when
   * nothing of it was written, and for an end that is not tried again.
   */
  async submit(
    entries: readonly JournalEntry[],
    progress: TurnProgress | undefined,
    alternatives: readonly Alternative[],
  ): Promise<number> {
    if (this.#over !== undefined) throw this.#over;
    const stop = this.#stopOf(entries);
    const last = stop === undefined ? [] : this.#takeWaiting();
    if (stop !== undefined) this.#over = runIsOver;
    if (progress !== undefined) this.#progress = progress;
    const rows = this.#rowsOf(entries);
    const questions = stop?.status === "waiting" ? this.#questionsOf(entries) : undefined;
    const { id, run } = this;
    const turn: TurnWrite = { id, run, line: this.#line, entries: rows, progress: this.#columns(), questions };
    if (stop !== undefined) turn.stop = { ...stop, bytes: this.#bytes };
    const submission = { turn, alternatives: withEntries(alternatives, last) };
    try {
      const kept = await this.#ledger.submit(submission);
      if (kept.kind !== "kept") throw turnTaken();
      if (stop !== undefined) this.#listener.onOver(this);
      if (entries.length > 0) this.#listener.onKept(this.id);
      return kept.alternative;
    } catch (error) {
      const isEnd = stop !== undefined && stop.result !== null;
      const isAlone = this.#line.failed?.write === turn;
      if (isEnd && isAlone && !this.turn.isAsync) {
        // INVARIANT: the turn stays this run's meanwhile, so that nobody ends it in another way.
        this.#listener.onUnkept(this, () => this.#ledger.submit({ ...submission, turn: { ...turn, line: {} } }));
        throw error;
      }
      const pause = this.#fail(error);
      if (error instanceof TurnPause) this.#record(last);
      throw isEnd ? pause : error;
    }
  }

  #fail(error: unknown): TurnPause {
    const pause =
      error instanceof TurnPause ? error : new TurnPause("The journal could not be written.", { cause: error });
    this.#over = pause;
    this.halt(pause);
    this.close(pause);
    this.#listener.onOver(this);
    return pause;
  }

  #end(reason: Error): void {
    this.#over = reason;
    this.#listener.onOver(this);
  }

  #takeWaiting(): AuditEntry[] {
    const events = [...this.#calls].flatMap((call) => call.takeWaiting());
    this.#calls.clear();
    return events;
  }

  #rowsOf(entries: readonly JournalEntry[]) {
    for (const { kind } of entries) {
      if (kind === "event") this.#events += 1;
      if (kind === "admitted") this.#isAdmitted = true;
    }
    const rows = entryRows(this.id, this.#position, entries);
    this.#position += entries.length;
    this.#bytes += bytesOf(rows.map(({ content }) => content));
    return rows;
  }

  #questionsOf(entries: readonly JournalEntry[]) {
    const asked = entries.filter((entry) => entry.kind === "waiting");
    return questionRows(this.id, this.turn.context.namespaceId, asked);
  }

  #columns() {
    const { at, steps, toolCalls, ranMs } = this.#progress;
    const counts = { entries: this.#position, events: this.#events };
    return { updated_at: at, steps, tool_calls: toolCalls, ran_ms: Math.round(ranMs), ...counts };
  }

  /** What becomes of the turn by these entries, if it does not go on. */
  #stopOf(entries: readonly JournalEntry[]): Omit<TurnStopColumns, "bytes"> | undefined {
    const nothing = { waiting: null, result: null, completed_at: null };
    const last = entries.findLast(({ kind }) => kind === "ended");
    if (last?.kind !== "ended") {
      const first = entries.find(({ kind }) => kind === "waiting");
      if (first?.kind !== "waiting") return undefined;
      const waiting = JSON.stringify({ escalation: first.escalation });
      return { ...nothing, status: "waiting", waiting, is_refused: 0 };
    }
    const { result } = last;
    const isAdmitted = this.#isAdmitted || entries.some(({ kind }) => kind === "admitted");
    const isRefused = result.status === "denied" && saysNothingRan(codeOf(result)) && !isAdmitted;
    const ended = { result: JSON.stringify(result), completed_at: result.completedAt };
    return { ...nothing, ...ended, status: result.status, is_refused: isRefused ? 1 : 0 };
  }
}

/** For a run that can write nothing more. It has a cause, or a caller who waits would be told that the turn was cancelled. */
export function turnTaken(): TurnPause {
  return new TurnPause("Another run has this turn by now.", { cause: new Error("The journal is another run's.") });
}

function codeOf(result: object): string {
  return (result as { error?: { code: string } }).error?.code ?? "";
}

/** Events that are kept whichever alternative is taken. */
function withEntries(alternatives: readonly Alternative[], events: readonly AuditEntry[]): readonly Alternative[] {
  if (events.length === 0) return alternatives;
  if (alternatives.length === 0) return [{ entries: events }];
  return alternatives.map((each) => ({ ...each, entries: [...each.entries, ...events] }));
}
