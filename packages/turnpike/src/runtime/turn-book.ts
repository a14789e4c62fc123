import type { TurnEvent } from "../contracts/index.ts";
import type { JournalEntry, TurnPen, TurnProgress } from "./journal.ts";

/** What one run of a turn writes down. */
export interface TurnBook {
  steps: number;
  toolCalls: number;
  /** Whether what is kept under a claim, or added, is kept behind all that was added before, or not at all. */
  readonly isOrdered: boolean;
  /** Adds what is kept soon, behind everything that was added before. */
  add(...entries: readonly JournalEntry[]): void;
  /** Resolves when all that was added is durable. Rejects when it is not. */
  keep(): Promise<void>;
  /** Has what is left of a claim kept with what is added next. */
  join(claim: unknown): void;
  /** A claim that keeps the entry together with what a call of the kernel keeps first; undefined where that cannot be. */
  claimFor(entry?: JournalEntry): unknown;
  /** Why nothing is written any more. */
  readonly failure: BookFailure | undefined;
}

/** The first write that failed. */
interface BookFailure {
  error: unknown;
  unkept: readonly JournalEntry[];
}

/** How a book tells what it does. */
export interface TurnBookOptions {
  clock: () => string;
  /** Shown each event once it is durable. */
  show(event: TurnEvent): void;
  /** Told when something could not be kept. */
  onFailure(): void;
}

const nextMacrotask = (): Promise<void> => new Promise((resolve) => setTimeout(resolve));

/**
 * Opens the book of a run. While one write is on its way, what is added gathers for the next. A pen that keeps writes in
 * their order gets it as soon as somebody waits for it, or claims something behind it.
 */
export function openTurnBook(pen: TurnPen, { clock, show, onFailure }: TurnBookOptions): TurnBook {
  const began = performance.now();
  // As it was then: a pen may say how far its turn has come by now, which would be counted again with each write.
  const before = pen.progress;
  const isOrdered = pen.isOrdered === true;
  let added: JournalEntry[] = [];
  let claims: unknown[] = [];
  /** Resolves when all that the pen was given is durable. */
  let written: Promise<void> = Promise.resolve();
  /** The same, with what is added now. */
  let next: Promise<void> | undefined;
  let failure: BookFailure | undefined;

  const progress = (): TurnProgress => ({
    at: clock(),
    // A turn that goes on counts from the beginning, and has come as far as it had.
    steps: Math.max(before.steps, book.steps),
    toolCalls: Math.max(before.toolCalls, book.toolCalls),
    ranMs: Math.round(before.ranMs + performance.now() - began),
  });
  /** INVARIANT: what is durable is a beginning of what was added; behind a failed write nothing is written. */
  const write = async (entries: readonly JournalEntry[], joined: readonly unknown[]): Promise<void> => {
    if (failure !== undefined) throw failure.error;
    const earlier = written;
    try {
      const writing = pen.write(entries, progress(), joined);
      // It is waited for once all before it is durable: the first to fail is the first that was written.
      writing.catch(() => {});
      await earlier;
      await writing;
    } catch (error) {
      if (failure === undefined) {
        failure = { error, unkept: entries };
        onFailure();
      }
      throw error;
    }
    for (const entry of entries) if (entry.kind === "event") show(entry.event);
  };
  const handOver = (): void => {
    if (added.length === 0) return;
    const [entries, joined] = [added, claims];
    added = [];
    claims = [];
    written = write(entries, joined);
    // Whoever has to know waits for it.
    written.catch(() => {});
  };
  const schedule = (): void => {
    if (next !== undefined) return;
    const send = (): Promise<void> => {
      next = undefined;
      handOver();
      return written;
    };
    // Whoever waits has it sent at once. Otherwise there is time for what a runtime that goes on now adds next.
    const ready = isOrdered ? written.then(nextMacrotask, nextMacrotask) : written;
    next = ready.then(send, send);
    next.catch(() => {});
  };

  const book: TurnBook = {
    steps: 0,
    toolCalls: 0,
    isOrdered,
    add(...entries) {
      added.push(...entries);
      schedule();
    },
    keep() {
      if (!isOrdered) return next ?? written;
      handOver();
      return written;
    },
    join(claim) {
      if (claim !== undefined) claims.push(claim);
    },
    claimFor(entry) {
      // INVARIANT: an entry is kept behind all that was added before it. What a claim without one keeps is written by the book.
      if (isOrdered && entry !== undefined) handOver();
      return pen.claimFor?.(entry, progress());
    },
    get failure() {
      return failure;
    },
  };
  return book;
}
