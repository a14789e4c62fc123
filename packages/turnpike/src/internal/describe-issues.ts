import type { z } from "zod";
import type { JsonProblem } from "./json.ts";

const maxPlaces = 3;
/** How many places are counted. A schema of a tool's author may find a hundred thousand. */
const maxCounted = 100;
const maxPointerLength = 120;

/**
 * One line for the message of `invalid_request`: the first offending places as JSON pointers, with what was expected
 * there. Values are never repeated.
 *
 * @example
 * import { describeIssues, PrincipalRefSchema } from "turnpike/contracts";
 *
 * const { error } = PrincipalRefSchema.safeParse({ kind: "human" });
 * console.log(describeIssues(error?.issues ?? [])); // /userId: expected string
 */
export function describeIssues(issues: readonly z.core.$ZodIssue[]): string {
  const places = new Map<string, string>();
  let counted = 0;
  for (const { path, issue } of offences(issues)) {
    counted += 1;
    if (counted > maxCounted) break;
    const pointer = toPointer(path);
    if (!places.has(pointer)) places.set(pointer, describeExpectation(issue));
  }
  const shown = [...places].slice(0, maxPlaces).map(([pointer, expected]) => `${pointer || "(root)"}: ${expected}`);
  const hidden = places.size - shown.length;
  if (counted > maxCounted) return `${shown.join("; ")}; and many more`;
  return hidden > 0 ? `${shown.join("; ")}; and ${hidden} more` : shown.join("; ");
}

/** The same for a problem with JSON. */
export function describeProblem({ path, expected }: JsonProblem): string {
  return describeIssues([{ code: "custom", path, message: expected, input: undefined }]);
}

function* offences(issues: readonly z.core.$ZodIssue[]): Generator<{ path: PropertyKey[]; issue: z.core.$ZodIssue }> {
  for (const issue of issues) {
    if (issue.code === "unrecognized_keys") for (const key of issue.keys) yield { path: [...issue.path, key], issue };
    else yield { path: issue.path, issue };
  }
}

/** A JSON pointer by RFC 6901. Control characters and line separators are made visible, and overlong pointers are cut early. */
function toPointer(path: readonly PropertyKey[]): string {
  const pointer = path
    .slice(0, maxPointerLength)
    .map((key) => `/${String(key).slice(0, maxPointerLength).replaceAll("~", "~0").replaceAll("/", "~1")}`)
    .join("")
    .replaceAll(/[\p{C}\p{Zl}\p{Zp}]/gu, (character) => `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`);
  return pointer.length > maxPointerLength ? `${pointer.slice(0, maxPointerLength)}...` : pointer;
}

/**
 * What a place was expected to hold, in the words of `describeIssues`.
 *
 * @example
 * import { ActionSchema, describeExpectation } from "turnpike/contracts";
 *
 * const issues = ActionSchema.safeParse(7).error?.issues ?? [];
 * console.log(issues.map(describeExpectation)); // [ 'expected string' ]
 */
export function describeExpectation(issue: z.core.$ZodIssue): string {
  switch (issue.code) {
    case "invalid_type":
      return `expected ${issue.expected}`;
    case "invalid_value":
      return oneOf(issue.values);
    case "too_small":
      if (issue.inclusive === false) return `expected more than ${issue.minimum}`;
      return `expected ${issue.minimum} or more${unit(issue.origin)}`;
    case "too_big":
      if (issue.inclusive === false) return `expected less than ${issue.maximum}`;
      return `expected at most ${issue.maximum}${unit(issue.origin)}`;
    case "unrecognized_keys":
      return "expected no such key";
    case "invalid_union":
      return "options" in issue && issue.options ? oneOf(issue.options) : "expected one of the shapes allowed here";
    default:
      return issue.message;
  }
}

function oneOf(values: readonly unknown[]): string {
  return `expected ${values.map((value) => JSON.stringify(value)).join(" or ")}`;
}

function unit(origin: string): string {
  if (origin === "string") return " characters";
  if (origin === "object") return " keys";
  return origin === "array" ? " elements" : "";
}
