import type { Step, StepResult } from "../steps.ts";

/** What the main thread wants of the one that has the database: steps in order, or to close it. */
export type ThreadRequest = { id: number; steps: readonly Step[] } | { id: number; close: true };

/** The answer to a request. */
export type ThreadReply =
  | { id: number; results: StepResult[] }
  | { id: number; error: { name: string; message: string; code?: string } };

/** What a thread is started with. */
export interface ThreadOptions {
  path: string;
  /** A thread that only reads cannot be made to write. */
  isReader: boolean;
}
