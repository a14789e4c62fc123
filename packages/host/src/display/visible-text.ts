import { lookAlikePlaces } from "./look-alikes.ts";

/** Part of a text: as it is, or one character of it by its number. */
export interface VisiblePart {
  text: string;
  isNumber: boolean;
}

/** A text that is what it looks like: ASCII alone, nothing that looks like an escaped character, no space at its end. */
function isPlain(text: string): boolean {
  return /^[\x20-\x7E]*$/.test(text) && !text.includes("<U+") && !text.endsWith(" ");
}

/**
 * Characters that are always written as numbers: those that are not seen, that look like a space or like nothing, that no
 * font has, and letters for formulas and Roman numerals, which are drawn like Latin ones. Also the `<` of what looks like the
 * number of a character: so no two texts are shown alike. Spaces at the end of a text are too.
 */
const numberedAlways =
  /<(?=U\+[0-9A-F]{4,6}>)|(?! )[\p{C}\p{Z}\p{Default_Ignorable_Code_Point}\u{2800}\u{2160}-\u{2188}\u{1D400}-\u{1D7FF}]/gu;

const [mark, firstMark] = [/^\p{M}$/u, "\u0300"];

/** How many marks above and below a letter are shown: more would cover the lines around it. */
const mostMarks = 4;

/**
 * A foreign text in which nothing is hidden, for a person who has to know exactly what it says: each character that is
 * not seen, or that looks like another, is written as its number, such as `<U+202E>`. A text that itself says `<U+202E>` is
 * shown as `<U+003C>U+202E>`.
 */
export function visibleText(text: string): string {
  if (isPlain(text)) return text;
  return visibleParts(text)
    .map((part) => part.text)
    .join("");
}

/** The same in parts, so that numbers can be set apart. */
export function visibleParts(text: string): VisiblePart[] {
  if (isPlain(text)) return text === "" ? [] : [{ text, isNumber: false }];
  let end = text.length;
  while (text[end - 1] === " ") end -= 1;
  const places = new Set([
    ...[...text.matchAll(numberedAlways)].map(({ index }) => index),
    ...lookAlikePlaces(text),
    ...decomposedPlaces(text),
  ]);
  const parts: VisiblePart[] = [];
  let [at, start, marks] = [0, 0, mostMarks];
  const flush = (): void => {
    if (at > start) parts.push({ text: text.slice(start, at), isNumber: false });
  };
  for (const character of text) {
    const isMark = character >= firstMark && mark.test(character);
    marks = isMark ? marks + 1 : 0;
    // A mark that belongs to no letter would be drawn on whatever is before it.
    if (places.has(at) || at >= end || marks > mostMarks) {
      flush();
      parts.push({ text: numberOf(character), isNumber: true });
      start = at + character.length;
      marks = mostMarks;
    } else if (character === " ") marks = mostMarks;
    at += character.length;
  }
  flush();
  return parts;
}

function numberOf(character: string): string {
  const number = (character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0");
  return `<U+${number}>`;
}

/** The places of characters that Unicode holds to be the same as others: marks that a letter could have had in it, and doubles. */
function decomposedPlaces(text: string): number[] {
  if (text.normalize() === text) return [];
  return [...text.matchAll(/[\u{1100}-\u{11FF}]+|\P{M}\p{M}*|\p{M}+/gu)].flatMap(({ 0: cluster, index }) => {
    if (cluster.normalize() === cluster) return [];
    const [first = "", ...rest] = cluster;
    let at = index + first.length;
    const marks = rest.map((each) => {
      const place = at;
      at += each.length;
      return place;
    });
    return first.normalize() === first && marks.length > 0 ? marks : [index, ...marks];
  });
}

/** The beginning of a text as it is shown, and how many characters are left out. No number and no character is cut in two. */
export function cutText(text: string, most: number): { parts: VisiblePart[]; text: string; left: number } {
  const parts: VisiblePart[] = [];
  let [room, left] = [most, 0];
  for (const part of visibleParts(text)) {
    const fitting = part.text.length <= room ? part.text : part.isNumber ? "" : wholeStart(part.text, room);
    if (fitting !== "") parts.push({ ...part, text: fitting });
    left += part.text.length - fitting.length;
    room = fitting === part.text ? room - fitting.length : 0;
  }
  return { parts, text: parts.map((part) => part.text).join(""), left };
}

/** The beginning of a text that ends in no half of a character, and before no mark of one. */
function wholeStart(text: string, length: number): string {
  const start = text.slice(0, Math.max(0, length)).replace(/[\uD800-\uDBFF]$/, "");
  const isInside = /^\p{M}/u.test(text.slice(start.length));
  return isInside ? start.replace(/\P{M}\p{M}*$/u, "") : start;
}
