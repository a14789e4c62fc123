import { z } from "zod";
import { boundedArray, parseInstant } from "../internal/index.ts";

/** A text whose length is checked before anything else: what is too long is not searched for what else is wrong with it. */
export function boundedText({ min, max }: { min?: number; max: number }): z.ZodString {
  const short = z.string().max(max, { abort: true });
  return min === undefined ? short : short.min(min);
}

/** The version that envelopes, turn requests and turn results carry; writers disagree on its type, so both are kept as sent. */
export const VersionSchema = z.literal([1, "1"]);
export type Version = z.infer<typeof VersionSchema>;

/** 1-256 characters (UTF-16 code units, as everywhere in the contracts), not only white space. */
export const IdentifierSchema = boundedText({ min: 1, max: 256 }).regex(/\S/u, "expected more than white space");

/** RFC 3339 date-time with an offset or `Z`, and a fraction of as many digits as a clock may have. */
export const TimestampSchema = boundedText({ max: 64 })
  .refine((text) => parseInstant(text) !== undefined, "expected an RFC 3339 date-time with an offset")
  .meta({ format: "date-time" });

/** The declared reason of an act, matched exactly. */
export const PurposeSchema = boundedText({ min: 1, max: 512 });

/** What is done to a resource. */
export const ActionSchema = boundedText({ min: 1, max: 128 });

/** One step of a resource path. */
export const PathSegmentSchema = boundedText({ min: 1, max: 256 }).regex(
  /^(?!\.{1,2}$)[^/\\\p{Cc}]*$/u,
  "expected a path segment: no slash, backslash or control character, not . or ..",
);
export const PathSchema = boundedArray(PathSegmentSchema, { max: 64 });

/** True when the names are in ascending order of their code units and none stands twice. */
export function isSortedSet(names: readonly string[]): boolean {
  return names.every((name, index) => index === 0 || (names[index - 1] ?? "") < name);
}
