import { z } from "zod";
import { boundedArray, parseInstant, withFastPath } from "../internal/index.ts";

/** A text whose length is checked before anything else: what is too long is not searched for what else is wrong with it. */
export function boundedText({ min, max }: { min?: number; max: number }): z.ZodString {
  const short = z.string().max(max, { abort: true });
  return min === undefined ? short : short.min(min);
}

/** The version that envelopes, turn requests and turn results carry; writers disagree on its type, so both are passed on as sent. */
export const VersionSchema = z.literal([1, "1"]);
export type Version = z.infer<typeof VersionSchema>;

const visible = /\S/u;

/** 1-256 characters (UTF-16 code units, as everywhere in the contracts), not only white space. */
export const IdentifierSchema = withFastPath(
  boundedText({ min: 1, max: 256 }).regex(visible, "expected more than white space"),
  (value) => hasLength(value, 1, 256) && (isPrintable(value.charCodeAt(0)) || visible.test(value)),
);

/** RFC 3339 date-time with an offset or `Z`, and a fraction of as many digits as a clock may have. */
export const TimestampSchema = withFastPath(
  boundedText({ max: 64 })
    .refine((text) => parseInstant(text) !== undefined, "expected an RFC 3339 date-time with an offset")
    .meta({ format: "date-time" }),
  (value) => hasLength(value, 0, 64) && parseInstant(value) !== undefined,
);

/** The declared reason of an act, matched exactly. */
export const PurposeSchema = withFastPath(boundedText({ min: 1, max: 512 }), (value) => hasLength(value, 1, 512));

/** What is done to a resource. */
export const ActionSchema = withFastPath(boundedText({ min: 1, max: 128 }), (value) => hasLength(value, 1, 128));

// The pattern is published: engines without lookahead, classes of Unicode or \u compile it too, and say the same.
// oxlint-disable-next-line no-control-regex -- they are what is excluded
const segment = /^[^/\\\x00-\x1F\x7F-\x9F]*$/;
const dots = [".", ".."];
const segmentExpected = "expected a path segment: no slash, backslash or control character, not . or ..";

function isSegment(value: string): boolean {
  return segment.test(value) && !dots.includes(value);
}

/** One step of a resource path. */
export const PathSegmentSchema = withFastPath(
  boundedText({ min: 1, max: 256 })
    .regex(segment, segmentExpected)
    .refine((text) => !dots.includes(text), segmentExpected)
    // In Python `$` is also found before a newline that ends the text.
    .meta({ not: { anyOf: [{ enum: dots }, { pattern: String.raw`\n` }] } }),
  (value) => hasLength(value, 1, 256) && isSegment(value),
);
export const PathSchema = boundedArray(PathSegmentSchema, { max: 64 });

/** True when the names are in ascending order of their code units and none occurs twice. */
export function isSortedSet(names: readonly string[]): boolean {
  return names.every((name, index) => index === 0 || (names[index - 1] ?? "") < name);
}

/** Characters of ASCII that are seen. */
function isPrintable(code: number): boolean {
  return code > 32 && code < 127;
}

function hasLength(value: unknown, min: number, max: number): value is string {
  return typeof value === "string" && value.length >= min && value.length <= max;
}
