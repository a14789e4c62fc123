import { readFileSync } from "node:fs";
import { parseInstant, parsePrincipal, readJsonText, type PrincipalRef } from "turnpike/contracts";
import { ConfigError } from "../shared/index.ts";
import { parseResourceText, principalText } from "../display/index.ts";

/** Reads the principal in a flag. */
export function readPrincipal(flag: string, text: string): PrincipalRef {
  const parsed = parsePrincipal(text);
  if (parsed !== undefined) return parsed;
  throw new ConfigError(`${flag} ${text}: expected kind:id, such as human:alice or agent:assistant.`);
}

/** Checks that a flag is a principal; its text goes to the host unchanged. */
export function checkedPrincipal(flag: string): (text: string) => string {
  return (text) => principalText(readPrincipal(flag, text));
}

/** Reads `files/notes` as the path `notes` in the namespace `files`. */
export function readResource(text: string): { namespace: string; path: string[] } {
  const resource = parseResourceText(text);
  if (resource !== undefined) return resource;
  throw new ConfigError(`--resource ${text}: a step of the path is empty. A slash inside of a step is written %2F.`);
}

const unitMs: Record<string, number> = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** Reads `30m`, `1h`, `7d` or an RFC 3339 time as the instant at which something ends. */
export function readExpiry(flag: string, text: string, now = new Date()): string {
  const [, count, unit = ""] = /^([1-9]\d{0,5})([smhd])$/.exec(text) ?? [];
  const span = unitMs[unit];
  if (count !== undefined && span !== undefined) return new Date(now.getTime() + Number(count) * span).toISOString();
  if (parseInstant(text) !== undefined) return text;
  throw new ConfigError(
    `${flag} ${text}: expected a span such as 30m, 1h or 7d, or a time such as 2026-01-31T12:00:00Z.`,
  );
}

/** Reads a whole number that is at least `least`. */
export function readCount(flag: string, text: string, least = 1): number {
  if (/^(0|[1-9]\d{0,8})$/.test(text) && Number(text) >= least) return Number(text);
  throw new ConfigError(`${flag} ${text}: expected a whole number from ${least}.`);
}

/** Reads the JSON in a flag. */
export function readJsonFlag(flag: string, text: string): unknown {
  const reading = readJsonText(text);
  if (reading.ok) return reading.value;
  if (reading.kind !== "syntax") throw new ConfigError(`${flag}: ${reading.message}.`);
  throw new ConfigError(`${flag}: expected JSON, such as '{"path":"notes/todo.md"}'.`);
}

/** A word that a flag does not take, with those that it takes. */
export class ChoiceError extends ConfigError {
  readonly choices: readonly string[];

  constructor(flag: string, text: string, choices: readonly string[]) {
    super(`${flag} ${text}: expected ${choices.join(", ").replace(/, (?=[^,]*$)/, " or ")}.`);
    this.choices = choices;
  }
}

/** Reads one of several allowed words. */
export function readChoice(flag: string, text: string, choices: readonly string[]): string {
  if (choices.includes(text)) return text;
  throw new ChoiceError(flag, text, choices);
}

/** Reads an instant. */
export function readInstant(flag: string, text: string): string {
  if (parseInstant(text) !== undefined) return text;
  throw new ConfigError(`${flag} ${text}: expected a time such as 2026-01-31T12:00:00Z.`);
}

/** Reads the URL of a host. */
export function readUrl(flag: string, text: string): string {
  if (URL.canParse(text) && /^https?:/.test(text)) return text;
  throw new ConfigError(`${flag} ${text}: expected an address such as http://127.0.0.1:8787.`);
}

/** Checks that a text can be a token. Errors never repeat it, because it may hold a secret. */
export function readToken(where: string, text: string): string {
  if (/^[\x21-\x7e]+$/.test(text)) return text;
  throw new ConfigError(`${where}: expected a token alone, such as tp_..., without white space.`);
}

/** Reads the token in the file that `--token-file` names. */
export function readTokenFile(file: string): string {
  try {
    return readToken(`--token-file ${file}`, readFileSync(file, "utf8").trim());
  } catch (cause) {
    if (cause instanceof ConfigError) throw cause;
    throw new ConfigError(`--token-file ${file}: the file cannot be read.`, { cause });
  }
}
