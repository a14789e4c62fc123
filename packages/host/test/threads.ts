import { subscribe, unsubscribe } from "node:diagnostics_channel";
import type { Worker } from "node:worker_threads";
import { onTestFinished } from "vitest";

/** The threads that were started since, of those that still run. */
export interface WatchedThreads {
  readonly size: number;
  /** Ends all of them, as a crash does, and waits until they are gone. */
  kill(): Promise<void>;
}

/** Sees every thread that is started in the rest of the test. */
export function watchThreads(): WatchedThreads {
  const threads = new Set<Worker>();
  const add = (message: unknown): void => {
    const { worker } = message as { worker: Worker };
    threads.add(worker);
    worker.once("exit", () => threads.delete(worker));
  };
  subscribe("worker_threads", add);
  onTestFinished(() => void unsubscribe("worker_threads", add));
  return {
    get size() {
      return threads.size;
    },
    async kill() {
      await Promise.all(Array.from(threads, (thread) => thread.terminate()));
    },
  };
}
