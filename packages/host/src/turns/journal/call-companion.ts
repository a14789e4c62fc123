import type { JournalEntry, TurnProgress } from "turnpike/runtime";
import { CallCompanion, type Alternative, type AuditEntry, type Ledger } from "../../ledger/index.ts";

/** Keeps something of a run together with alternatives of a call. */
interface Submitter {
  submit(
    entries: readonly JournalEntry[],
    progress: TurnProgress | undefined,
    alternatives: readonly Alternative[],
  ): Promise<number>;
}

/**
 * The entry of a tool call that a turn is about to make. It is kept together with the decision that lets the call happen.
 * What the call records afterwards, or when it is refused, waits for its result, to be kept with that.
 */
export class TurnCallCompanion extends CallCompanion {
  readonly #pen: Submitter;
  readonly #ledger: Ledger;
  readonly #entries: readonly JournalEntry[];
  readonly #progress: TurnProgress;
  #first: Promise<number> | undefined;
  /** The decision was a refusal, with which no entry is kept. */
  #isRefused = false;
  #waiting: AuditEntry[] = [];
  #isOver = false;

  constructor(pen: Submitter, ledger: Ledger, entries: readonly JournalEntry[], progress: TurnProgress) {
    super();
    this.#pen = pen;
    this.#ledger = ledger;
    this.#entries = entries;
    this.#progress = progress;
  }

  override async keep(alternatives: readonly Alternative[]): Promise<number> {
    const [first] = alternatives;
    if (first?.isRefusal === true && !this.#isOver) {
      // Nothing happens because of it, and it takes nothing.
      this.#waiting.push(...first.entries);
      return 0;
    }
    if (this.#first !== undefined) return this.#pen.submit([], undefined, alternatives);
    return (this.#first = this.#keepFirst(alternatives));
  }

  async #keepFirst(alternatives: readonly Alternative[]): Promise<number> {
    const place = await this.#pen.submit(this.#entries, this.#progress, alternatives);
    this.#isRefused = alternatives[place]?.isRefusal === true;
    return place;
  }

  override async record(entry: AuditEntry): Promise<void> {
    // The turn went on without this call: nothing of it is written with the turn any more.
    if (this.#isOver) await this.#ledger.submit({ alternatives: [{ entries: [entry] }] });
    else this.#waiting.push(entry);
  }

  /** The entries that nothing was kept with, and none that are being kept with a decision. */
  end(): readonly JournalEntry[] {
    const isKept = this.#first !== undefined;
    this.#first ??= Promise.resolve(-1);
    return isKept && !this.#isRefused ? [] : this.#entries;
  }

  /** What was recorded and is not kept yet; whatever comes later is kept by itself. */
  takeWaiting(): AuditEntry[] {
    this.#isOver = true;
    return this.#waiting.splice(0);
  }
}
