import type { Step, StepResult } from "../steps.ts";

/** A request to the thread that has the database: to run steps in order, to close it, or the id of the host that has it. */
export type ThreadRequest =
  | { id: number; steps: readonly Step[] }
  | { id: number; close: true }
  | { id: number; hostId: number };

/** The answer to a request. */
export type ThreadReply =
  | { id: number; results: StepResult[] }
  | { id: number; error: { name: string; message: string; code?: string } };

/** The options of a thread. */
export interface ThreadOptions {
  path: string;
  /** A reader's connection refuses every write. */
  isReader: boolean;
  /** Present for the first connection of a process to a file, which takes the file for the process. */
  isClaimed?: boolean;
  /** The host that has the file. */
  hostId?: number;
  /** The file that the process has taken: another one at the same path is refused. */
  identity?: { dev: number; ino: number } | undefined;
}
