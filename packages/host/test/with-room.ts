import { runInNewContext } from "node:vm";

/** Runs something that must not take long, and stops it when it takes so long that it would never end. */
export function withRoom<T>(run: () => T): T {
  return runInNewContext("run()", { run }, { timeout: 20_000 }) as T;
}
