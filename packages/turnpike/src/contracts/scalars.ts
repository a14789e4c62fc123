import { z } from "zod";
import { parseInstant } from "./instant.ts";

/** The version that envelopes, turn requests and turn results carry; writers disagree on its type, so both are kept as sent. */
export const VersionSchema = z.literal([1, "1"]);
export type Version = z.infer<typeof VersionSchema>;

/** 1-256 characters (UTF-16 code units, as everywhere in the contracts), not only white space. */
export const IdentifierSchema = z.string().min(1).max(256).regex(/\S/u, "expected more than white space");

/** RFC 3339 date-time with an offset or `Z`. */
export const TimestampSchema = z
  .string()
  .refine((text) => parseInstant(text) !== undefined, "expected an RFC 3339 date-time with an offset")
  .meta({ format: "date-time" });

/** The declared reason of an act, matched exactly. */
export const PurposeSchema = z.string().min(1).max(512);

/** What is done to a resource. */
export const ActionSchema = z.string().min(1).max(128);

/** One step of a resource path. */
export const PathSegmentSchema = z
  .string()
  .min(1)
  .max(256)
  .regex(
    /^(?!\.{1,2}$)[^/\\\p{Cc}]*$/u,
    "expected a path segment: no slash, backslash or control character, not . or ..",
  );
export const PathSchema = z.array(PathSegmentSchema).max(64);
