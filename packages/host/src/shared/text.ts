import { hidden } from "../display/index.ts";
import { sha256 } from "./sha256.ts";

/**
 * A caller's text as a database column stores it. A text that PostgreSQL cannot store (NUL, half of a surrogate pair) is
 * stored as its hash.
 */
export function columnText(text: string): string {
  const isStorable = !text.includes("\0") && !/\p{Cs}/u.test(text);
  return isStorable ? text : `sha256:${sha256(JSON.stringify(text))}`;
}

/** The beginning of a text, at most `length` UTF-16 units long. It never ends in half of a surrogate pair. */
export function truncateText(text: string, length: number): string {
  const start = text.slice(0, length);
  return start.length < text.length ? start.replace(/[\uD800-\uDBFF]$/, "") : start;
}

/** Scripts in which a joiner or non-joiner between two letters is spelling. */
const joining =
  "Arabic Bengali Devanagari Gujarati Gurmukhi Kannada Khmer Malayalam Mongolian Myanmar Nko Oriya Sinhala Syriac Tamil Telugu"
    .split(" ")
    .map((script) => String.raw`\p{Script=${script}}`)
    .join("");

/** Hidden characters that are valid next to the characters that they join. Elsewhere they could carry hidden text. */
const shaping = String.raw`\r\u{200C}\u{200D}\u{FE0E}\u{FE0F}`;
const seen = [
  String.raw`\r(?=\n)`,
  String.raw`(?<=[${joining}])[\u{200C}\u{200D}](?=[${joining}])`,
  String.raw`(?<=\p{Extended_Pictographic}\u{FE0F}?|\p{Emoji_Modifier})\u{200D}(?=\p{Extended_Pictographic})`,
  String.raw`(?<=\p{Extended_Pictographic})[\u{FE0E}\u{FE0F}]`,
  String.raw`(?<=[0-9#*])\u{FE0F}(?=\u{20E3})`,
].join("|");

// In two steps, the cheap one first, so that a long text of hidden characters takes no more time than any other.
const neverSeen = new RegExp(String.raw`(?:(?![${shaping}])[${hidden}])+|[${shaping}]{3,}`, "gu");
const unseen = new RegExp(String.raw`(?:(?!${seen})[${shaping}])+`, "gu");

/** Removes hidden characters. Line breaks, tabs, and joiners inside emoji and words of other scripts remain. */
export function withoutHiddenText(text: string): string {
  return text.replaceAll(neverSeen, "").replaceAll(unseen, "");
}
