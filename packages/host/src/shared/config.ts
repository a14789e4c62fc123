import { z } from "zod";

/** A mistake in a flag, an argument or the configuration. Its message is for the person who made it. */
export class ConfigError extends Error {
  override readonly name = "ConfigError";
  /** For scripts: whether the command line is wrong, or the configuration of the host. */
  readonly code: "invalid_usage" | "invalid_config";

  constructor(
    message: string,
    { code = "invalid_usage", ...options }: ErrorOptions & Partial<Pick<ConfigError, "code">> = {},
  ) {
    super(message, options);
    this.code = code;
  }
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

/** The name of a file. What should be in the file, such as a key that was pasted, would be shown in messages and made a name. */
export const FileNameSchema = z
  .string()
  .min(1)
  .refine((name) => !/[\r\n]|-----BEGIN /.test(name), { error: "expected the name of a file, and not what is in it" });
