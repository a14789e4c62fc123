import { programName } from "../shared/index.ts";
import { unprintable } from "../display/index.ts";

/** Whether a shell can pass a word on unchanged: no argument can hold NUL or half of a surrogate pair. */
export function isPasteable(word: string): boolean {
  return !word.includes("\0") && !/\p{Cs}/u.test(word);
}

/** A command line that can be pasted. Words that are not plain are quoted, and control characters are escaped. */
export function commandLine(words: readonly string[]): string {
  return words.map(quote).join(" ");
}

/** A command of this program that can be pasted. */
export function hintLine(words: readonly string[]): string {
  return `${programName()} ${commandLine(words)}`;
}

const unprintableOne = new RegExp(unprintable, "u");

const unprintableAll = new RegExp(unprintable, "gu");

function quote(word: string): string {
  if (/^[\w@%+:,./-][\w@%+=:,./-]*$/.test(word)) return word;
  if (!unprintableOne.test(word)) return `'${word.replaceAll("'", `'\\''`)}'`;
  const shown = word
    .replaceAll(/[\\']/g, "\\$&")
    .replaceAll(unprintableAll, (character) =>
      [...Buffer.from(character)].map((byte) => `\\${byte.toString(8).padStart(3, "0")}`).join(""),
    );
  return `$'${shown}'`;
}
