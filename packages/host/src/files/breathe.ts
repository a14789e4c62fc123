import { setImmediate } from "node:timers/promises";

/** Lets everybody else run, which an SQLite in this process does not by itself, and stops what nobody waits for. */
export async function breathe(signal?: AbortSignal): Promise<void> {
  await setImmediate();
  signal?.throwIfAborted();
}
