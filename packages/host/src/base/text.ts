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

/**
 * Characters that hide text, or make it read as something else: controls other than tab and line feed, halves of
 * characters, everything that Unicode has programs not show (zero-width, direction, tags, variation selectors, fillers),
 * and the marks of annotations.
 */
const hidden = String.raw`\0-\x08\x0B-\x1F\x7F-\x9F\p{Cs}\p{Default_Ignorable_Code_Point}\u{FFF9}-\u{FFFB}`;

/** The class of the characters that a terminal may obey or not show, for expressions with the flag `u`. */
export const unprintable = String.raw`[${hidden}\p{Cc}\p{Cf}\p{Zl}\p{Zp}]`;

const unprintableAll = new RegExp(unprintable, "gu");

/**
 * A text in which nothing is hidden, for somebody who has to know exactly what it says: each character that a terminal may obey
 * or not show is written as its number, such as `<U+202E>`. Where the text itself says that, its `<` is written `<U+003C>`.
 */
export function visibleText(text: string): string {
  return text.replaceAll(/<(?=U\+[0-9A-F]{4,6}>)/g, numbered).replaceAll(unprintableAll, numbered);
}

function numbered(character: string): string {
  const number = (character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0");
  return `<U+${number}>`;
}

/** Scripts in which a joiner or non-joiner between two letters is spelling. */
const joining =
  "Arabic Bengali Devanagari Gujarati Gurmukhi Kannada Khmer Malayalam Mongolian Myanmar Nko Oriya Sinhala Syriac Tamil Telugu"
    .split(" ")
    .map((script) => String.raw`\p{Script=${script}}`)
    .join("");

/** The few of them that can be part of what is seen, and where: each needs beside it what it joins, so none carries a text. */
const shaping = String.raw`\r\u{200C}\u{200D}\u{FE0E}\u{FE0F}`;
const seen = [
  String.raw`\r(?=\n)`,
  String.raw`(?<=[${joining}])[\u{200C}\u{200D}](?=[${joining}])`,
  String.raw`(?<=\p{Extended_Pictographic}\u{FE0F}?|\p{Emoji_Modifier})\u{200D}(?=\p{Extended_Pictographic})`,
  String.raw`(?<=\p{Extended_Pictographic})[\u{FE0E}\u{FE0F}]`,
  String.raw`(?<=[0-9#*])\u{FE0F}(?=\u{20E3})`,
].join("|");

// In two steps, the cheap one first: a long text of nothing but hidden characters costs as little as any other.
const neverSeen = new RegExp(String.raw`(?:(?![${shaping}])[${hidden}])+|[${shaping}]{3,}`, "gu");
const unseen = new RegExp(String.raw`(?:(?!${seen})[${shaping}])+`, "gu");

/** A text in which everything is seen: lines, tabs and the insides of emoji and of other scripts' words stay. */
export function withoutHiddenText(text: string): string {
  return text.replaceAll(neverSeen, "").replaceAll(unseen, "");
}
