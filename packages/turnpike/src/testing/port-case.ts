import { canonicalJson } from "../internal/index.ts";

/** One check of a port's contract: rejects when the port breaks it. Hand each to the test runner of your choice. */
export interface PortCase {
  name: string;
  run(): Promise<void>;
}

/** Throws unless the two are the same JSON; stores may give keys back in another order. */
export function expectSame(actual: unknown, expected: unknown, what: string): void {
  const [got, wanted] = [canonicalJson(actual), canonicalJson(expected)];
  if (got !== wanted) throw new Error(`${what}: expected ${wanted}, got ${got}.`);
}
