import { pino } from "pino";
import type { PortFailure } from "turnpike/kernel";
import { z } from "zod";

export const LogSettingsSchema = z.strictObject({
  level: z.enum(["debug", "info", "warn", "error", "silent"]).default("info"),
});

/** What is logged. */
export type LogSettings = z.infer<typeof LogSettingsSchema>;

/** Where the host writes what happens: JSON lines, and never a token, an argument or a payload. */
export interface Log {
  info(facts: object, message: string): void;
  warn(facts: object, message: string): void;
  error(facts: object, message: string): void;
}

/** Logs to standard error, so that standard output stays the command's. */
export function createLog({ level }: LogSettings): Log {
  return pino({ level, base: null }, pino.destination({ fd: 2, sync: true }));
}

/** What the log says of an error: what it is, not what it was carrying. */
export function errorFacts(error: unknown): { error: string; cause?: string } {
  const { cause } = error instanceof Error ? error : {};
  return { error: inWords(error), ...(cause !== undefined && { cause: inWords(cause) }) };
}

/** What the log says of a bug: where it is, too. */
export function bugFacts(error: unknown): { error: string; cause?: string; stack?: string } {
  const { stack } = error instanceof Error ? error : {};
  return { ...errorFacts(error), ...(stack !== undefined && { stack }) };
}

function inWords(error: unknown): string {
  return error instanceof Error ? `${error.name}: ${error.message}` : typeof error;
}

/** An error of a tool or a runtime may quote what it was working on: only its kind is said. */
export function foreignErrorFacts(error: unknown): { error: string } {
  return { error: error instanceof Error ? error.name : typeof error };
}

/** What the log says of a port that failed: stores in their own words, foreign code by its kind alone. */
export function portErrorFacts(error: unknown, { port }: PortFailure): { error: string } {
  const isForeign = port === "tools" || port === "resources" || port === "messages";
  return isForeign ? foreignErrorFacts(error) : errorFacts(error);
}
