import type { JsonObject, JsonValue } from "../contracts/index.ts";
import {
  accept,
  fitsInBytes,
  quietly,
  TimeLimitError,
  withinTime,
  type Accepted,
  type LazySignal,
} from "../internal/index.ts";
import { graceMs, reportPortError, type Ports } from "./call-port.ts";
import type { CallOptions, PortFailure } from "./ports.ts";

const defaultTimeoutMs = 120_000;
const defaultOutputBytes = 1_048_576;
/** A timer with a longer time overflows and fires at once. */
const longestTimeoutMs = 2_147_483_647;

/** Throws when a limit could not be enforced. */
export function checkLimits({ toolTimeoutMs = 1, maxToolOutputBytes = 1 }: Ports): void {
  checkTimeout("toolTimeoutMs", toolTimeoutMs);
  if (!Number.isSafeInteger(maxToolOutputBytes) || maxToolOutputBytes < 1)
    throw new RangeError("`maxToolOutputBytes` has to be a whole number from 1 on.");
}

/** Throws when no timer could enforce this limit. */
export function checkTimeout(name: string, timeoutMs: number): void {
  if (!Number.isInteger(timeoutMs) || timeoutMs < 1 || timeoutMs > longestTimeoutMs)
    throw new RangeError(`\`${name}\` has to be a whole number from 1 to ${longestTimeoutMs}.`);
}

/** The signal of the caller that waits for an effect, and the observer of its beginning. */
export interface EffectOptions extends CallOptions {
  signal: AbortSignal;
}

/**
 * How foreign code ended; `message` is what its caller may know of the error. The effect may have happened also after a failure.
 * Of code that is late it is unknown.
 */
export type EffectEnd =
  | { kind: "returned"; value: unknown }
  | { kind: "threw"; error: unknown; isLate: boolean; message?: string };

const lateMessage = "It did not end in time; the effect may have happened.";

/**
 * Calls foreign code that may have an effect. It throws nothing: every error is the outcome of the act. The call's signal fires
 * when its time is up and when the caller goes; after that the code gets a short time to say how it ended.
 */
export async function carryOutEffect(
  { toolTimeoutMs: timeoutMs = defaultTimeoutMs }: Ports,
  { signal, onEffect }: EffectOptions,
  call: (signal: LazySignal) => Promise<unknown>,
  effect: "read" | "write" = "write",
): Promise<EffectEnd> {
  quietly(() => onEffect?.(effect));
  try {
    const late = `No answer within ${timeoutMs} ms.`;
    return { kind: "returned", value: await withinTime({ timeoutMs, graceMs, late }, signal, call) };
  } catch (error) {
    const isLate = isTimeLimit(error);
    return { kind: "threw", error, isLate, ...(isLate && { message: lateMessage }) };
  }
}

/** Returns false for an error that throws when it is read. */
function isTimeLimit(error: unknown): boolean {
  try {
    return error instanceof TimeLimitError;
  } catch {
    return false;
  }
}

/** The parts of a result whose size the tool or provider determines. */
interface SizedResult {
  output?: JsonValue;
  metadata?: JsonObject | undefined;
  error?: { details?: JsonObject | undefined };
}

/** A result that can be used, or what its caller may know about why it cannot. */
export type ResultReading<T> = { ok: true; result: T } | { ok: false; message?: string };

/** Reads a result that foreign code returned. It has to fit the contract, belong to this act and not be too large. */
export function readResult<T extends SizedResult>(
  ports: Ports,
  failure: PortFailure,
  schema: Parameters<typeof accept<T>>[0],
  returned: unknown,
  isOfThisAct: (result: T) => boolean,
): ResultReading<T> {
  const unusable = (problem: string, options?: ErrorOptions): void =>
    reportPortError(ports, new TypeError(`The result cannot be used: ${problem}.`, options), failure);
  const read: Accepted<T> = accept(schema, returned);
  if (!read.ok) {
    unusable(read.message, "cause" in read ? { cause: read.cause } : undefined);
    return { ok: false };
  }
  if (!isOfThisAct(read.value)) {
    unusable("it is of another act");
    return { ok: false };
  }
  const { maxToolOutputBytes: maxBytes = defaultOutputBytes } = ports;
  const { output, metadata, error } = read.value;
  const isWithin = [output, metadata, error?.details].every(
    (part) => part === undefined || fitsInBytes(part, maxBytes),
  );
  if (isWithin) return { ok: true, result: read.value };
  const message = `The output is larger than ${maxBytes} bytes; it may have had an effect.`;
  unusable(`it is larger than ${maxBytes} bytes`);
  return { ok: false, message };
}
