import { z } from "zod";

/** A mistake in the configuration. Its message is for the person who made it. */
export class ConfigError extends Error {
  override readonly name = "ConfigError";
}

/** The schema of a whole number that is at least 1. */
export const positive = z.int().min(1);

/**
 * The name of an environment variable that holds a secret. A secret that is pasted here by mistake is refused as a name, and
 * is never shown.
 */
export const EnvironmentNameSchema = z
  .string()
  .regex(/^[A-Z][A-Z0-9_]*$/, "expected the name of an environment variable, in capitals")
  .refine(
    (name) => !name.startsWith("TURNPIKE_"),
    "expected a name that does not begin with TURNPIKE_, as settings do",
  );

/** Whether a host name can only mean this machine. */
export function isLoopback(host: string): boolean {
  return /^(127\.\d+\.\d+\.\d+|\[?::1\]?|localhost)$/.test(host);
}
