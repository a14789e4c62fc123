import { pino } from "pino";
import type { PortFailure } from "turnpike/kernel";
import { z } from "zod";
import { createLineWriter, openStandardError } from "./line-writer.ts";

export const LogSettingsSchema = z.strictObject({
  level: z.enum(["debug", "info", "warn", "error", "silent"]).default("info"),
});

/** The settings of the log. */
export type LogSettings = z.infer<typeof LogSettingsSchema>;

/** The host's log: JSON lines, which never hold a token, an argument or a payload. */
export interface Log {
  info(facts: object, message: string): void;
  warn(facts: object, message: string): void;
  error(facts: object, message: string): void;
  /** How many lines could not be written. Absent where that is not known. */
  countDropped?(): number;
}

/**
 * Logs to standard error, because standard output belongs to the command. INVARIANT: no caller waits for the log, and no failure of it
 * reaches a caller: lines that cannot be written are dropped and counted.
 */
export function createLog({ level }: LogSettings): Log {
  const writer = createLineWriter(openStandardError, (lines) =>
    log.warn({ lines }, "log lines were dropped, because they could not be written"),
  );
  process.once("exit", writer.flush);
  const log: Log = Object.assign(pino({ level, base: null }, writer), { countDropped: () => writer.dropped });
  return log;
}

/** The facts of an error for the log: its name and message, and those of its cause. */
export function errorFacts(error: unknown): { error: string; cause?: string } {
  const { cause } = error instanceof Error ? error : {};
  return { error: describeError(error), ...(cause !== undefined && { cause: describeError(cause) }) };
}

/** The facts of a bug for the log: those of an error, and where it happened. */
export function bugFacts(error: unknown): { error: string; cause?: string; stack?: string } {
  const { stack } = error instanceof Error ? error : {};
  return { ...errorFacts(error), ...(stack !== undefined && { stack }) };
}

function describeError(error: unknown): string {
  return error instanceof Error ? `${error.name}: ${error.message}` : typeof error;
}

/** The facts of an error of a tool or a runtime: only its name, because its message may quote what it was working on. */
export function foreignErrorFacts(error: unknown): { error: string } {
  return { error: error instanceof Error ? error.name : typeof error };
}

/** The facts of a port that failed: the whole error of a store, only the name of an error of foreign code. */
export function portErrorFacts(error: unknown, { port }: PortFailure): { error: string } {
  const isForeign = port === "tools" || port === "resources" || port === "messages";
  return isForeign ? foreignErrorFacts(error) : errorFacts(error);
}
