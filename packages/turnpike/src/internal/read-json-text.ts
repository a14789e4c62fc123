import { checkJsonText, noLimits, type JsonTextProblem } from "./check-json-text.ts";
import { describeProblem } from "./describe-issues.ts";

const encoder = new TextEncoder();
const decoder = new TextDecoder("utf-8", { fatal: true });

/** Why a JSON text is refused. */
export interface UnreadableJson {
  kind: "syntax" | JsonTextProblem["kind"];
  /** Where the problem is. */
  path: (string | number)[];
  /** What was expected there. */
  expected: string;
  /** The place and what was expected, in one line. It never repeats values. */
  message: string;
}

/** The value of a JSON text, or why the text is refused. */
export type JsonTextReading = { ok: true; value: unknown } | ({ ok: false } & UnreadableJson);

/**
 * Parses a JSON text from outside, as a string or in UTF-8. It refuses a text that is not JSON, is too deep or has too many parts,
 * and one with a number that parsing would change: a whole number beyond 2^53-1, or one that becomes infinite or 0.
 *
 * @example
 * import { readJsonText } from "turnpike/contracts";
 *
 * console.log(readJsonText("[1]")); // { ok: true, value: [ 1 ] }
 * const reading = readJsonText('{"id":9007199254740993}');
 * console.log(reading.ok ? "read" : reading.kind); // number
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

/**
 * The first number of a JSON text that parsing would change, for callers that parse and limit the text elsewhere.
 *
 * @example
 * import { findChangedNumber } from "turnpike/contracts";
 *
 * console.log(findChangedNumber('{"id":9007199254740993}')?.path); // [ 'id' ]
 * console.log(findChangedNumber('{"id":1}')); // undefined
 */
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
