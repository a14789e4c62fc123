import { saysNothingRan, type AuditEvent, type JsonObject } from "turnpike/contracts";
import { ownSignal } from "turnpike/http";
import { OutdatedReadsError } from "turnpike/kernel";
import { TurnPause, type JournalEntry, type RunWriter, type TurnProgress, type TurnToBegin } from "turnpike/runtime";
import {
  entryOf,
  type Alternative,
  type Ledger,
  type Outcome,
  type RunLine,
  type TurnStopColumns,
  type TurnWrite,
} from "../../ledger/index.ts";
import type { ReadBasis } from "../../storage/index.ts";
import { RunCallScope } from "./run-call-scope.ts";
import { askerOf, bytesOf, entryRows, waitRows, type TurnId } from "./turn-rows.ts";

/** Made once, because an error with its stack costs as much as writing an entry, and frozen, because all runs share it. */
const runIsOver = Object.freeze(new TurnPause("This run of the turn is over."));

/** Where a run of a turn begins. */
export interface RunStart {
  id: TurnId;
  /** Its number. */
  run: number;
  turn: TurnToBegin;
  credential: JsonObject | undefined;
  stored: readonly JournalEntry[];
  /** Whether a part of the stored journal is lost. */
  isIncomplete?: boolean;
  progress: TurnProgress;
  /** The position of the next entry. */
  entries: number;
  events: number;
  /** How many bytes are stored of the turn. */
  bytes: number;
  /** Fires when the host is about to stop. */
  pauses: AbortSignal;
}

/** Is told what happens to a writer. */
export interface RunWriterListener {
  /** Something was written that followers may want to read. */
  onWritten(id: TurnId): void;
  /** Nothing is written with the writer any more. */
  onOver(writer: LedgerRunWriter): void;
  /** The end of a turn could not be written, but its caller may get it nevertheless. `write` is idempotent. */
  onWriteFailed(writer: LedgerRunWriter, write: () => Promise<Outcome>): void;
}

/**
 * Writes what one run of a turn does to the ledger, in the order of the calls. Every write names the number of the run: once
 * another run has the turn, the writes of this one are refused.
 * INVARIANT: after a failed write there is no later one. Only the end of a turn may be written again.
 */
export class LedgerRunWriter implements RunWriter {
  readonly isOrdered = true;
  readonly id: TurnId;
  readonly run: number;
  readonly turn: TurnToBegin;
  readonly credential: JsonObject | undefined;
  readonly stored: readonly JournalEntry[];
  readonly isIncomplete: boolean;
  readonly #ledger: Ledger;
  readonly #listener: RunWriterListener;
  readonly #stop = ownSignal();
  readonly pauses: AbortSignal;
  readonly #line: RunLine = {};
  /** The scopes of calls whose results are not written yet. */
  readonly #scopes = new Set<RunCallScope>();
  #progress: TurnProgress;
  #position: number;
  #events: number;
  #bytes: number;
  #isAdmitted: boolean;
  /** Why nothing is written any more; undefined while the run may write. */
  #over: Error | undefined;

  constructor(ledger: Ledger, start: RunStart, listener: RunWriterListener) {
    this.#ledger = ledger;
    this.#listener = listener;
    this.pauses = start.pauses;
    this.id = start.id;
    this.run = start.run;
    this.turn = start.turn;
    this.credential = start.credential;
    this.stored = start.stored;
    this.isIncomplete = start.isIncomplete === true;
    this.#progress = start.progress;
    this.#position = start.entries;
    this.#events = start.events;
    this.#bytes = start.bytes;
    this.#isAdmitted = start.stored.some(({ kind }) => kind === "admitted");
  }

  get progress(): TurnProgress {
    return this.#progress;
  }

  get stop(): AbortSignal {
    return this.#stop.signal;
  }

  /** Stops the run. The turn is resumed later if the reason is a `TurnPause`, and ends otherwise. */
  halt(reason: Error): void {
    this.#stop.abort(reason);
  }

  async write(
    entries: readonly JournalEntry[],
    progress: TurnProgress,
    closed: readonly RunCallScope[] = [],
  ): Promise<void> {
    const begun = closed.flatMap((scope) => scope.end());
    const events = closed.flatMap((scope) => scope.takePendingEvents());
    for (const scope of closed) this.#scopes.delete(scope);
    try {
      await this.submit(
        [...begun, ...entries],
        progress,
        events.length === 0 ? [] : [{ entries: events.map(entryOf) }],
      );
    } catch (error) {
      const isEnd = entries.some(({ kind }) => kind === "ended");
      if (error instanceof TurnPause && !isEnd) this.#record(events);
      throw error;
    }
  }

  openScope(entry: JournalEntry | undefined, progress: TurnProgress): RunCallScope {
    const scope = new RunCallScope(this, this.#ledger, entry === undefined ? [] : [entry], progress);
    this.#scopes.add(scope);
    return scope;
  }

  /** Ends the writer. Events that its calls have not written yet are recorded without it, because they happened. */
  close(reason: Error): void {
    if (this.#over === undefined) this.#end(reason);
    this.#record(this.#takePendingEvents());
  }

  /** Records events that happened, even if another host runs the turn by now. An outage that loses them has lost the turn's own writes too. */
  #record(events: readonly AuditEvent[]): void {
    if (events.length > 0) this.#ledger.submit({ alternatives: [{ entries: events.map(entryOf) }] }).catch(() => {});
  }

  /**
   * Writes entries together with the first alternative that can be taken, and returns which. Rejects with a `TurnPause` when the
   * run is over, when another run has the turn, and when the end of a turn fails and is not retried; otherwise with the error of
   * the ledger. A write that fails ends the run, unless it was decided on outdated reads: then nothing was written.
   */
  async submit(
    entries: readonly JournalEntry[],
    progress: TurnProgress | undefined,
    alternatives: readonly Alternative[],
    basis?: ReadBasis | undefined,
  ): Promise<number> {
    if (this.#over !== undefined) throw this.#over;
    const stop = this.#stopOf(entries);
    const last = stop === undefined ? [] : this.#takePendingEvents();
    if (stop !== undefined) this.#over = runIsOver;
    if (progress !== undefined) this.#progress = progress;
    const rows = this.#rowsOf(entries);
    const waits = stop?.status === "waiting" ? this.#waitsOf(entries) : undefined;
    const { id, run } = this;
    const turn: TurnWrite = { id, run, line: this.#line, entries: rows, progress: this.#columns(), waits };
    if (stop !== undefined) turn.stop = { ...stop, bytes: this.#bytes };
    // The turn has ended, so its open escalations are closed. Those of a synchronous turn stay: its caller may start it again.
    if (this.turn.isAsync && typeof stop?.completed_at === "string") turn.asker = askerOf(this.turn, stop.completed_at);
    const submission = { turn, alternatives: withEvents(alternatives, last), basis };
    try {
      const outcome = await this.#ledger.submit(submission);
      if (outcome.kind === "outdated") throw new OutdatedReadsError();
      if (outcome.kind !== "written") throw turnTaken();
      if (stop !== undefined) this.#listener.onOver(this);
      if (entries.length > 0) this.#listener.onWritten(this.id);
      return outcome.alternative;
    } catch (error) {
      // The run goes on: it decides again.
      if (error instanceof OutdatedReadsError) throw error;
      const isEnd = stop !== undefined && stop.result !== null;
      const isAlone = this.#line.failed?.write === turn;
      if (isEnd && isAlone && !this.turn.isAsync) {
        // INVARIANT: the turn belongs to this run meanwhile, so that no other run ends it in another way.
        this.#listener.onWriteFailed(this, () => this.#ledger.submit({ ...submission, turn: { ...turn, line: {} } }));
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

  #takePendingEvents(): AuditEvent[] {
    const events = [...this.#scopes].flatMap((scope) => scope.takePendingEvents());
    this.#scopes.clear();
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

  #waitsOf(entries: readonly JournalEntry[]) {
    const asked = entries.filter((entry) => entry.kind === "waiting");
    return waitRows(this.id, this.turn.context.namespaceId, asked);
  }

  #columns() {
    const { at, steps, toolCalls, ranMs } = this.#progress;
    const counts = { entries: this.#position, events: this.#events };
    return { updated_at: at, steps, tool_calls: toolCalls, ran_ms: Math.round(ranMs), ...counts };
  }

  /** How these entries stop the turn; undefined when it runs on. */
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

/** The error of a run that lost its turn. It has a cause; without one, a waiting caller would be told that the turn was cancelled. */
export function turnTaken(): TurnPause {
  return new TurnPause("Another run has this turn by now.", { cause: new Error("The journal is another run's.") });
}

function codeOf(result: object): string {
  return (result as { error?: { code: string } }).error?.code ?? "";
}

/** Adds events that are written whichever alternative is taken. */
function withEvents(alternatives: readonly Alternative[], events: readonly AuditEvent[]): readonly Alternative[] {
  if (events.length === 0) return alternatives;
  const entries = events.map(entryOf);
  if (alternatives.length === 0) return [{ entries }];
  return alternatives.map((each) => ({ ...each, entries: [...each.entries, ...entries] }));
}
