import type { TurnEvent } from "../contracts/index.ts";
import type { JournalEntry, TurnPen, TurnProgress } from "./journal.ts";

/** What one run of a turn writes down. */
export interface TurnBook {
  steps: number;
  toolCalls: number;
  /** Adds what is kept soon, behind everything that was added before. */
  add(...entries: readonly JournalEntry[]): void;
  /** Resolves when all that was added is durable. Rejects when it is not. */
  keep(): Promise<void>;
  /** Has what is left of a claim kept with what is added next. */
  join(claim: unknown): void;
  /** A claim that keeps the entry together with what a call of the kernel keeps first; undefined where that cannot be. */
  claimFor(entry?: JournalEntry): unknown;
  /** Why nothing is written any more. */
  readonly failure: { error: unknown } | undefined;
}

/** How a book tells what it does. */
export interface TurnBookOptions {
  clock: () => string;
  /** Shown each event once it is durable. */
  show(event: TurnEvent): void;
  /** Told when something could not be kept. */
  onFailure(): void;
}

/** Opens the book of a run. While one write is on its way, what is added gathers for the next. */
export function openTurnBook(pen: TurnPen, { clock, show, onFailure }: TurnBookOptions): TurnBook {
  const began = performance.now();
  // As it was then: a pen may say how far its turn has come by now, which would be counted again with each write.
  const before = pen.progress;
  let added: JournalEntry[] = [];
  let claims: unknown[] = [];
  let writing: Promise<void> = Promise.resolve();
  /** The write that takes what is added now. */
  let next: Promise<void> | undefined;
  let failure: { error: unknown } | undefined;

  const progress = (): TurnProgress => ({
    at: clock(),
    // A turn that goes on counts from the beginning, and has come as far as it had.
    steps: Math.max(before.steps, book.steps),
    toolCalls: Math.max(before.toolCalls, book.toolCalls),
    ranMs: Math.round(before.ranMs + performance.now() - began),
  });
  /** INVARIANT: what is durable is a beginning of what was added; behind a failed write nothing is written. */
  const write = async (): Promise<void> => {
    next = undefined;
    const entries = added;
    const joined = claims;
    added = [];
    claims = [];
    if (failure !== undefined) throw failure.error;
    try {
      await pen.write(entries, progress(), joined);
    } catch (error) {
      failure ??= { error };
      onFailure();
      throw error;
    }
    for (const entry of entries) if (entry.kind === "event") show(entry.event);
  };
  const schedule = (): Promise<void> => {
    if (next === undefined) {
      next = writing.then(write, write);
      writing = next;
      // Whoever has to know waits for it.
      next.catch(() => {});
    }
    return next;
  };

  const book: TurnBook = {
    steps: 0,
    toolCalls: 0,
    add(...entries) {
      added.push(...entries);
      void schedule();
    },
    keep: () => next ?? writing,
    join(claim) {
      if (claim !== undefined) claims.push(claim);
    },
    claimFor: (entry) => pen.claimFor?.(entry, progress()),
    get failure() {
      return failure;
    },
  };
  return book;
}
