import type { Box } from "./box.ts";
import type { Place } from "./region.ts";

/** A set of names, or of all but these, ascending. */
export interface Names {
  isExcluding: boolean;
  names: readonly string[];
}

/** Where some requests are; a dimension that is absent has every value. */
export interface Extent {
  place?: Place & { except: readonly Place[] };
  span?: { from: number; until: number };
  owner?: Names;
  actions?: Names;
  purposes?: Names;
}

/** A piece of a union, and the parts of which it is made. */
export interface Joined {
  extent: Extent;
  parts: readonly number[];
}

/** One dimension cut into parts within which every box is whole or absent. Only parts with a changed box are there. */
export interface Cut {
  parts: readonly (readonly Box[])[];
  /** The union of some parts, given in ascending order, in as few pieces as are easily found. */
  join(parts: readonly number[]): Joined[];
}

/** One dimension of requests. */
export interface Dimension {
  readonly name: keyof Extent;
  /** Whether the box has every value. */
  isWhole(box: Box): boolean;
  /** The values of one box. */
  extentOf(box: Box): Extent;
  /** How many boxes all parts of a cut would hold, about; a little cheaper than to cut. */
  cost(boxes: readonly Box[]): number;
  cut(boxes: readonly Box[]): Cut;
}
