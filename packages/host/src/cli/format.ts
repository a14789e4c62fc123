import {
  type Capability,
  type Constraints,
  parseInstant,
  parsePrincipal,
  principalId,
  type PrincipalRef,
  type ResourceRef,
} from "turnpike/contracts";
import { ConfigError, unprintable } from "../base/index.ts";

/** A principal as people write it: `human:alice`. */
export function principalText(principal: PrincipalRef): string {
  return `${principal.kind}:${principalId(principal)}`;
}

/** Reads a principal off a flag. */
export function readPrincipal(flag: string, text: string): PrincipalRef {
  const parsed = parsePrincipal(text);
  if (parsed !== undefined) return parsed;
  throw new ConfigError(`${flag} ${text}: expected kind:id, such as human:alice or agent:assistant.`);
}

/** For flags whose text goes to the host as it is, once it is a principal. */
export function checkedPrincipal(flag: string): (text: string) => string {
  return (text) => principalText(readPrincipal(flag, text));
}

/** A resource as people write it: its namespace, then its path. */
export function resourceText({ namespace, path }: ResourceRef): string {
  return [namespace, ...path].join("/");
}

/** Reads `files/notes` as the path `notes` in the namespace `files`. */
export function readResource(text: string): { namespace: string; path: string[] } {
  const [namespace = "", ...path] = text.replace(/\/$/, "").split("/");
  return { namespace, path };
}

/** What a capability allows, in a few words. */
export function capabilityText({ resource, actions, scope }: Capability): string {
  const below = scope === "descendants" ? "/**" : "";
  const owner = resource.owner === undefined ? "" : ` of ${principalText(resource.owner)}`;
  return `${actions.join(",")} ${resourceText(resource)}${below}${owner}`;
}

/** The conditions of a grant, in a few words. */
export function constraintsText({ purposes, notBefore, expiresAt, maxUses, delegationDepth }: Constraints): string {
  const parts = [
    purposes && `for ${purposes.join(" or ")}`,
    notBefore && `from ${notBefore}`,
    expiresAt && `until ${expiresAt}`,
    maxUses !== undefined && (maxUses === 1 ? "1 use" : `${maxUses} uses`),
    delegationDepth !== undefined && `delegable ${delegationDepth}`,
  ];
  return parts.filter((part) => typeof part === "string").join(", ");
}

const unitMs: Record<string, number> = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** Reads `30m`, `1h`, `7d` or an RFC 3339 time as the moment at which something ends. */
export function readExpiry(flag: string, text: string, now = new Date()): string {
  const [, count, unit = ""] = /^([1-9]\d{0,5})([smhd])$/.exec(text) ?? [];
  const span = unitMs[unit];
  if (count !== undefined && span !== undefined) return new Date(now.getTime() + Number(count) * span).toISOString();
  if (parseInstant(text) !== undefined) return text;
  throw new ConfigError(
    `${flag} ${text}: expected a span such as 30m, 1h or 7d, or a time such as 2026-01-31T12:00:00Z.`,
  );
}

/** Reads a whole number that is at least one, or whatever is least. */
export function readCount(flag: string, text: string, least = 1): number {
  if (/^(0|[1-9]\d{0,8})$/.test(text) && Number(text) >= least) return Number(text);
  throw new ConfigError(`${flag} ${text}: expected a whole number from ${least}.`);
}

/** Reads JSON off a flag. */
export function readJsonFlag(flag: string, text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch (cause) {
    throw new ConfigError(`${flag}: expected JSON, such as '{"path":"notes/todo.md"}'.`, { cause });
  }
}

/** Reads one word of a few. */
export function readChoice(flag: string, text: string, choices: readonly string[]): string {
  if (choices.includes(text)) return text;
  throw new ConfigError(`${flag} ${text}: expected ${choices.join(", ").replace(/, (?=[^,]*$)/, " or ")}.`);
}

/** Reads a moment. */
export function readInstant(flag: string, text: string): string {
  if (parseInstant(text) !== undefined) return text;
  throw new ConfigError(`${flag} ${text}: expected a time such as 2026-01-31T12:00:00Z.`);
}

/** Reads the address of a host. */
export function readUrl(flag: string, text: string): string {
  if (URL.canParse(text) && /^https?:/.test(text)) return text;
  throw new ConfigError(`${flag} ${text}: expected an address such as http://127.0.0.1:8787.`);
}

/** Makes sure that a text can be a token. It is never repeated: it may hold one. */
export function readToken(where: string, text: string): string {
  if (/^[\x21-\x7e]+$/.test(text)) return text;
  throw new ConfigError(`${where}: expected a token alone, such as tp_..., without white space.`);
}

/** Whether a shell can hand a word on as it is: none can hold NUL, and half of a character is no text. */
export function isPasteable(word: string): boolean {
  return !word.includes("\0") && !/\p{Cs}/u.test(word);
}

/** A command line that can be pasted: whatever is not plain is quoted, and nothing in it speaks to the terminal. */
export function commandLine(words: readonly string[]): string {
  return words.map(quote).join(" ");
}

const unprintableOne = new RegExp(unprintable, "u");
const unprintableAll = new RegExp(unprintable, "gu");

function quote(word: string): string {
  if (/^[\w@%+:,./-][\w@%+=:,./-]*$/.test(word)) return word;
  if (!unprintableOne.test(word)) return `'${word.replaceAll("'", `'\\''`)}'`;
  const shown = word
    .replaceAll(/[\\']/g, "\\$&")
    .replaceAll(unprintableAll, (character) =>
      [...Buffer.from(character)].map((byte) => `\\${byte.toString(8).padStart(3, "0")}`).join(""),
    );
  return `$'${shown}'`;
}
