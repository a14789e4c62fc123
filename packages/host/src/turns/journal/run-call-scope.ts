import type { AuditEvent } from "turnpike/contracts";
import { OutdatedReadsError, type DecisionChoice, type WriteScope } from "turnpike/kernel";
import type { JournalEntry, TurnProgress } from "turnpike/runtime";
import { alternativesOf, recordEvent, type Alternative, type Ledger } from "../../ledger/index.ts";
import { currentBasis, type ReadBasis } from "../../storage/index.ts";

/** Writes something of a run together with alternatives of a call. */
interface Submitter {
  submit(
    entries: readonly JournalEntry[],
    progress: TurnProgress | undefined,
    alternatives: readonly Alternative[],
    basis?: ReadBasis | undefined,
  ): Promise<number>;
}

/** An event that is written later, if what it rests on is not found outdated by then. */
interface PendingEvent {
  event: AuditEvent;
  basis: ReadBasis | undefined;
}

/**
 * The writes of a tool call that a turn is about to make. Its entry is written together with the decision that lets the call
 * happen. What the call records afterwards, or when it is refused, is pending until its result is written.
 */
export class RunCallScope implements WriteScope {
  readonly #writer: Submitter;
  readonly #ledger: Ledger;
  readonly #entries: readonly JournalEntry[];
  readonly #progress: TurnProgress;
  #first: Promise<number> | undefined;
  /** The decision was a refusal, with which no entry is written. */
  #isRefused = false;
  #pending: PendingEvent[] = [];
  #isOver = false;

  constructor(writer: Submitter, ledger: Ledger, entries: readonly JournalEntry[], progress: TurnProgress) {
    this.#writer = writer;
    this.#ledger = ledger;
    this.#entries = entries;
    this.#progress = progress;
  }

  get pendingEvents(): readonly AuditEvent[] {
    return eventsOf(this.#pending);
  }

  async decide(choices: readonly DecisionChoice[]): Promise<number> {
    const [first] = choices;
    if (first?.event.outcome === "denied" && !this.#isOver) {
      // It takes nothing, and is written later. A person may be asked because of it, which happens at once.
      await this.#ledger.confirm();
      this.#pending.push({ event: first.event, basis: currentBasis() });
      return 0;
    }
    const alternatives = alternativesOf(choices);
    if (this.#first !== undefined) return this.#writer.submit([], undefined, alternatives, currentBasis());
    const deciding = this.#submitFirst(alternatives);
    this.#first = deciding;
    return deciding.catch((error: unknown) => {
      // Nothing was written: the entry comes with the decision when the call is tried again, or with its result.
      if (error instanceof OutdatedReadsError && this.#first === deciding) this.#first = undefined;
      throw error;
    });
  }

  async #submitFirst(alternatives: readonly Alternative[]): Promise<number> {
    const place = await this.#writer.submit(this.#entries, this.#progress, alternatives, currentBasis());
    this.#isRefused = alternatives[place]?.isRefusal === true;
    return place;
  }

  async record(event: AuditEvent): Promise<void> {
    // The turn continued without this call, so its events are no longer written with the turn.
    if (this.#isOver) await recordEvent(this.#ledger, event);
    else this.#pending.push({ event, basis: currentBasis() });
  }

  /** The entries; none when a decision was written with them, or is being written. */
  end(): readonly JournalEntry[] {
    const isWritten = this.#first !== undefined;
    this.#first ??= Promise.resolve(-1);
    return isWritten && !this.#isRefused ? [] : this.#entries;
  }

  /** Empties `pendingEvents`; whatever is recorded later is written by itself. */
  takePendingEvents(): AuditEvent[] {
    this.#isOver = true;
    return eventsOf(this.#pending.splice(0));
  }
}

/** What a call came to on outdated reads did not happen: it was tried again. */
function eventsOf(pending: readonly PendingEvent[]): AuditEvent[] {
  return pending.flatMap(({ event, basis }) => (basis?.isOutdated === true ? [] : event));
}
