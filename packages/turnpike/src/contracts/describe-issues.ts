import type { z } from "zod";

const maxPlaces = 3;
const maxPointerLength = 120;

/**
 * One line for the message of `invalid_request`: the first offending places as JSON pointers, with what was expected
 * there. Values are never repeated.
 */
export function describeIssues(issues: readonly z.core.$ZodIssue[]): string {
  const places = new Map<string, string>();
  for (const issue of issues) {
    for (const path of pathsOf(issue)) {
      const pointer = toPointer(path);
      if (!places.has(pointer)) places.set(pointer, describeExpectation(issue));
    }
  }
  const shown = [...places].slice(0, maxPlaces).map(([pointer, expected]) => `${pointer || "(root)"}: ${expected}`);
  const hidden = places.size - shown.length;
  return hidden > 0 ? `${shown.join("; ")}; and ${hidden} more` : shown.join("; ");
}

function pathsOf(issue: z.core.$ZodIssue): PropertyKey[][] {
  if (issue.code === "unrecognized_keys") return issue.keys.map((key) => [...issue.path, key]);
  return [issue.path];
}

/** RFC 6901, with control characters and line separators made visible and overlong pointers cut. */
function toPointer(path: readonly PropertyKey[]): string {
  const pointer = path
    .map((key) => `/${String(key).replaceAll("~", "~0").replaceAll("/", "~1")}`)
    .join("")
    .replaceAll(/[\p{C}\p{Zl}\p{Zp}]/gu, (character) => `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`);
  return pointer.length > maxPointerLength ? `${pointer.slice(0, maxPointerLength)}...` : pointer;
}

/** What a place was expected to hold, in the words of `describeIssues`. */
export function describeExpectation(issue: z.core.$ZodIssue): string {
  switch (issue.code) {
    case "invalid_type":
      return `expected ${issue.expected}`;
    case "invalid_value":
      return oneOf(issue.values);
    case "too_small":
      return `expected ${issue.minimum} or more${unit(issue.origin)}`;
    case "too_big":
      return `expected at most ${issue.maximum}${unit(issue.origin)}`;
    case "unrecognized_keys":
      return "expected no such key";
    case "invalid_union":
      return oneOf("options" in issue ? (issue.options ?? []) : []);
    default:
      return issue.message;
  }
}

function oneOf(values: readonly unknown[]): string {
  return `expected ${values.map((value) => JSON.stringify(value)).join(" or ")}`;
}

function unit(origin: string): string {
  if (origin === "string") return " characters";
  return origin === "array" ? " elements" : "";
}
