import { checkJsonText, noLimits, type JsonTextProblem } from "./check-json-text.ts";
import { describeProblem } from "./describe-issues.ts";

const encoder = new TextEncoder();
const decoder = new TextDecoder("utf-8", { fatal: true });

/** Why a JSON text is not taken. */
export interface UnreadableJson {
  kind: "syntax" | JsonTextProblem["kind"];
  /** Where the problem is. */
  path: (string | number)[];
  /** What was expected there. */
  expected: string;
  /** Both in one line. Values are never repeated. */
  message: string;
}

/** What a JSON text says, or why it is not taken. */
export type JsonTextReading = { ok: true; value: unknown } | ({ ok: false } & UnreadableJson);

/**
 * Parses a JSON text from outside, as a string or in UTF-8. A text is refused that is no JSON, that is too deep or has too
 * many parts, or in which a number would be changed: a whole one beyond 2^53-1, one that becomes infinite, one that becomes 0.
 *
 * @example
 * readJsonText('{"id":9007199254740993}');
 * // { ok: false, kind: "number", path: ["id"], message: "/id: expected a whole number from ...; send any other as a string", ... }
 */
export function readJsonText(text: string | Uint8Array): JsonTextReading {
  const problem = checkJsonText(bytesOf(text));
  if (problem !== undefined) return { ok: false, ...unreadable(problem) };
  try {
    return { ok: true, value: JSON.parse(typeof text === "string" ? text : decoder.decode(text)) as unknown };
  } catch {
    return { ok: false, ...unreadable({ kind: "syntax", path: [], expected: "expected JSON" }) };
  }
}

/** The first number of a JSON text that parsing would change, for whoever leaves parsing and other limits to others. */
export function findChangedNumber(text: string | Uint8Array): UnreadableJson | undefined {
  const problem = checkJsonText(bytesOf(text), noLimits);
  return problem && unreadable(problem);
}

function bytesOf(text: string | Uint8Array): Uint8Array {
  return typeof text === "string" ? encoder.encode(text) : text;
}

function unreadable({ kind, path, expected }: Omit<UnreadableJson, "message">): UnreadableJson {
  return { kind, path, expected, message: describeProblem({ path, expected }) };
}
