import { orAbort, quietly } from "../internal/index.ts";
import type { KernelOptions, PortFailure } from "./ports.ts";

/** The host's ports as the operations use them. */
export type Ports = Omit<KernelOptions, "tools" | "toolProviders" | "resources">;

/** The answer of a port. An error is not part of it, because it was reported to the operator. */
export type Answer<T> = { ok: true; value: T } | { ok: false };

const failed: { ok: false } = { ok: false };

/** How long the kernel waits for the outcome of a running operation after its caller has gone. */
export const graceMs = 1_000;

/**
 * Calls foreign code and reads its answer; `read` throws when the answer cannot be used. An error is reported to `onPortError`
 * and becomes a value. When the caller aborts, its reason is thrown at once, also if the port failed because of that, and a later
 * answer of the port is ignored.
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
