import type { JsonValue } from "turnpike/contracts";
import { placeText } from "./act-text.ts";

/** What was at a place of a value, and what is there now. */
interface Difference {
  path: readonly string[];
  before?: JsonValue | undefined;
  after?: JsonValue | undefined;
}

/**
 * Both sides of a difference, line by line. Of a long value only what differs is shown, and how many lines are as before. Hidden
 * characters are still in them: the caller makes them visible.
 */
export interface ShownDifference {
  place: string;
  /** Undefined when it was not there. */
  before: string[] | undefined;
  /** Undefined when it is there no more. */
  after: string[] | undefined;
  sameAbove: number;
  sameBelow: number;
}

/** A difference as people compare it. */
export function showDifference({ path, before, after }: Difference): ShownDifference {
  const old = before === undefined ? undefined : linesOf(before);
  const current = after === undefined ? undefined : linesOf(after);
  if (old === undefined || current === undefined)
    return { place: placeText(path), before: old, after: current, sameAbove: 0, sameBelow: 0 };
  const above = commonLength(old, current);
  const below = commonLength(old.slice(above).toReversed(), current.slice(above).toReversed());
  return {
    place: placeText(path),
    before: old.slice(above, old.length - below),
    after: current.slice(above, current.length - below),
    sameAbove: above,
    sameBelow: below,
  };
}

/** A text is shown as it is, unless it could be taken for another value; everything else is JSON. */
function linesOf(value: JsonValue): string[] {
  return (typeof value === "string" && isClear(value) ? value : JSON.stringify(value, undefined, 2)).split("\n");
}

/** Of a text with several lines the white space at its ends is seen. */
function isClear(text: string): boolean {
  return text !== "" && (text.includes("\n") || text.trim() === text) && !isAmbiguous.test(text);
}

const isAmbiguous = /^(?:["[{]|(?:true|false|null)$|-?\d)/;

/** How many lines at their beginning two values have in common. */
function commonLength(one: readonly string[], other: readonly string[]): number {
  const different = one.findIndex((line, at) => line !== other[at]);
  return different === -1 ? Math.min(one.length, other.length) : different;
}
