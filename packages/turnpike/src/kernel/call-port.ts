import { orAbort, quietly } from "../internal/index.ts";
import type { KernelOptions, PortFailure } from "./ports.ts";

/** The host's ports as the operations use them. */
export type Ports = Omit<KernelOptions, "tools" | "toolProviders" | "resources">;

/** What a port answered; its error has gone to the operator and is not here. */
export type Answer<T> = { ok: true; value: T } | { ok: false };

const failed: { ok: false } = { ok: false };

/** For how long the outcome of what has begun is waited for once its caller has gone. */
export const graceMs = 1_000;

/**
 * Calls foreign code and reads what it says, which throws when it cannot be used. An error goes to `onPortError` and
 * becomes a value; a caller's abort, which may be the very cause of that error, is thrown instead, and is waited for by
 * nobody: what the port says later is ignored.
 */
export async function callPort<Said, T>(
  ports: Ports,
  failure: PortFailure,
  signal: AbortSignal,
  call: () => Promise<Said>,
  read: (said: Said) => T,
): Promise<Answer<T>> {
  try {
    const said = await orAbort(call(), signal);
    signal.throwIfAborted();
    return { ok: true, value: read(said) };
  } catch (error) {
    signal.throwIfAborted();
    reportPortError(ports, error, failure);
    return failed;
  }
}

/** Tells the operator; an observer that throws changes nothing. */
export function reportPortError(ports: Ports, error: unknown, failure: PortFailure): void {
  quietly(() => ports.onPortError?.(error, failure));
}
