import { placeText } from "turnpike-host/display";
import type { Difference } from "turnpike-host/management";
import type { JsonValue } from "turnpike/contracts";

/** Both sides of a difference, line by line. Of a long value only what differs is shown, and how many lines are as before. */
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

/** A text stands as it is, unless it could be taken for another value; everything else is JSON. */
function linesOf(value: JsonValue): string[] {
  const isClear = typeof value === "string" && value !== "" && value.trim() === value && !looksOtherwise.test(value);
  return (isClear ? value : JSON.stringify(value, undefined, 2)).split("\n");
}

const looksOtherwise = /^(?:["[{]|(?:true|false|null)$|-?\d)/;

/** How many lines at their beginning two values have in common. */
function commonLength(one: readonly string[], other: readonly string[]): number {
  const different = one.findIndex((line, at) => line !== other[at]);
  return different === -1 ? Math.min(one.length, other.length) : different;
}
