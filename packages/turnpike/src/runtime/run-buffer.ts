import type { TurnEvent } from "../contracts/index.ts";
import type { WriteScope } from "../kernel/index.ts";
import type { JournalEntry, RunWriter, TurnProgress } from "./journal.ts";

/** Collects the entries of a run until its writer stores them. */
export interface RunBuffer {
  steps: number;
  toolCalls: number;
  /** Whether entries and scopes are stored in the order in which they were added, and nothing is stored after a failed write. */
  readonly isOrdered: boolean;
  /** Adds entries, which are soon written, after everything that was added before. */
  add(...entries: readonly JournalEntry[]): void;
  /** Resolves when everything that was added is durable. Rejects when a write failed. */
  flush(): Promise<void>;
  /** A scope that writes the entry together with the first decision in it; undefined when the writer has no scopes. */
  openScope(entry?: JournalEntry): WriteScope | undefined;
  /** Closes a scope. What it has not written yet is written with the next entry. */
  closeScope(scope: WriteScope | undefined): void;
  /** The failed write, after which nothing is written any more. */
  readonly failure: WriteFailure | undefined;
}

/** The first write that failed. */
interface WriteFailure {
  error: unknown;
  /** The entries that it should have written. */
  entries: readonly JournalEntry[];
}

/** What a buffer is made of. */
export interface RunBufferOptions {
  clock: () => string;
  /** Called with each event once it is durable. */
  show(event: TurnEvent): void;
  /** Called once, after the first write that failed. */
  onFailure(): void;
}

const nextMacrotask = (): Promise<void> => new Promise((resolve) => setTimeout(resolve));

/**
 * Opens the buffer of a run. While the writer writes, entries are collected for the next write. An ordered writer gets them
 * as soon as a caller flushes or opens a scope with an entry.
 */
export function openRunBuffer(writer: RunWriter, { clock, show, onFailure }: RunBufferOptions): RunBuffer {
  const began = performance.now();
  // Read once: a writer may update its progress with each write, which would then be counted twice.
  const before = writer.progress;
  const isOrdered = writer.isOrdered === true;
  let added: JournalEntry[] = [];
  let closed: WriteScope[] = [];
  /** Resolves when everything that the writer was given is durable. */
  let written: Promise<void> = Promise.resolve();
  /** Resolves when the entries in `added` are durable too. */
  let next: Promise<void> | undefined;
  let failure: WriteFailure | undefined;

  const progress = (): TurnProgress => ({
    at: clock(),
    // A resumed turn counts its steps and calls from 0 again while it replays. Its progress must not go back.
    steps: Math.max(before.steps, buffer.steps),
    toolCalls: Math.max(before.toolCalls, buffer.toolCalls),
    ranMs: Math.round(before.ranMs + performance.now() - began),
  });
  /** INVARIANT: entries are stored in the order in which they were added, and after a failed write nothing is stored. */
  const write = async (entries: readonly JournalEntry[], scopes: readonly WriteScope[]): Promise<void> => {
    if (failure !== undefined) throw failure.error;
    const earlier = written;
    try {
      const writing = writer.write(entries, progress(), scopes);
      // Earlier writes are awaited first, so that `failure` is the first write that failed.
      writing.catch(() => {});
      await earlier;
      await writing;
    } catch (error) {
      if (failure === undefined) {
        failure = { error, entries };
        onFailure();
      }
      throw error;
    }
    for (const entry of entries) if (entry.kind === "event") show(entry.event);
  };
  const writeAdded = (): void => {
    if (added.length === 0) return;
    const [entries, scopes] = [added, closed];
    added = [];
    closed = [];
    written = write(entries, scopes);
    // `flush` hands a rejection to its caller.
    written.catch(() => {});
  };
  const schedule = (): void => {
    if (next !== undefined) return;
    const send = (): Promise<void> => {
      next = undefined;
      writeAdded();
      return written;
    };
    // An ordered write starts a macrotask later, so that it includes what the runtime adds next. `flush` does not wait for that.
    const ready = isOrdered ? written.then(nextMacrotask, nextMacrotask) : written;
    next = ready.then(send, send);
    next.catch(() => {});
  };

  const buffer: RunBuffer = {
    steps: 0,
    toolCalls: 0,
    isOrdered,
    add(...entries) {
      added.push(...entries);
      schedule();
    },
    flush() {
      if (!isOrdered) return next ?? written;
      writeAdded();
      return written;
    },
    openScope(entry) {
      // INVARIANT: the entry of a scope is written after everything that was added before. A scope without an entry is written with
      // the buffer's next write.
      if (isOrdered && entry !== undefined) writeAdded();
      return writer.openScope?.(entry, progress());
    },
    closeScope(scope) {
      if (scope !== undefined) closed.push(scope);
    },
    get failure() {
      return failure;
    },
  };
  return buffer;
}
