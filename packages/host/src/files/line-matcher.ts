import { RE2JS, RE2JSException } from "re2js";
import { patternSize } from "./pattern-size.ts";
import { badPattern } from "./file-errors.ts";

/** A compiled pattern. */
export interface LineMatcher {
  /** How many steps the pattern may take for each character. */
  size: number;
  isIn(line: string): boolean;
}

const maxLength = 1_000;
const maxSize = 1_000;
/** Comparing texts costs far less than a step of a regular expression. */
const literalSize = 0.1;

/** Makes a matcher from a literal text or from a regular expression that takes linear time. Throws for a bad pattern. */
export function createLineMatcher(pattern: string, how: { isRegex: boolean; ignoresCase: boolean }): LineMatcher {
  if (pattern === "") throw badPattern("The pattern is empty.");
  if (pattern.length > maxLength) throw badPattern(`The pattern has more than ${maxLength} characters.`);
  return how.isRegex ? regexMatcher(pattern, how.ignoresCase) : literalMatcher(pattern, how.ignoresCase);
}

function literalMatcher(pattern: string, ignoresCase: boolean): LineMatcher {
  if (/[\r\n]/.test(pattern)) throw badPattern("The pattern has a line break, and files are searched line by line.");
  if (!ignoresCase) return { size: literalSize, isIn: (line) => line.includes(pattern) };
  const lower = pattern.toLowerCase();
  return { size: literalSize, isIn: (line) => line.toLowerCase().includes(lower) };
}

function regexMatcher(pattern: string, ignoresCase: boolean): LineMatcher {
  // The size is estimated before compiling, because nested repetitions already cost time and memory then.
  const isSmall = patternSize(pattern) <= maxSize;
  const compiled = isSmall ? compile(pattern, ignoresCase ? RE2JS.CASE_INSENSITIVE : 0) : undefined;
  const size = compiled?.programSize();
  if (compiled === undefined || size === undefined || size > 2 * maxSize)
    throw badPattern(`The pattern has more than ${maxSize} steps when its repetitions are written out.`);
  return { size, isIn: (line) => compiled.test(line) };
}

function compile(pattern: string, flags: number): RE2JS {
  try {
    return RE2JS.compile(pattern, flags);
  } catch (error) {
    if (!(error instanceof RE2JSException)) throw badPattern("The pattern cannot be read as a regular expression.");
    throw badPattern(`The pattern is no regular expression: ${error.message}.`);
  }
}
