import { areFree, isChanged, type Box } from "./box.ts";
import type { Cut, Dimension, Extent } from "./dimension.ts";
import { nameDimension } from "./name-dimension.ts";
import { placeDimension } from "./place-dimension.ts";
import { spanDimension } from "./span-dimension.ts";
import { verdictOn, type Carriers, type Verdict } from "./verdict.ts";

/** Requests with one verdict. */
export interface Piece {
  extent: Extent;
  verdict: Verdict;
  by: Carriers;
}

/** In the order in which they are cut, unless another one is cheaper. */
export const dimensions: readonly Dimension[] = [
  placeDimension,
  spanDimension,
  nameDimension("owner"),
  nameDimension("actions"),
  nameDimension("purposes"),
];

/** What a division may still cost, in pieces. At 0 it ends with what it has. */
export interface Allowance {
  pieces: number;
}

/** Sets of boxes as small as these are cut without looking for the cheapest way. */
const fewBoxes = 4;

/**
 * Divides what changed boxes carry into pieces that do not overlap, and yields after each step, so that a caller may do other work.
 * It cuts one dimension after the other, and joins parts in which everything else is equal.
 */
export function* divide(
  boxes: readonly Box[],
  remaining: readonly Dimension[],
  allowance: Allowance,
): Generator<undefined, Piece[]> {
  yield;
  if (allowance.pieces <= 0 || isUnchanged(boxes, remaining)) return [];
  const open = remaining.filter((dimension) => !boxes.every((box) => dimension.isWhole(box)));
  if (open.length === 0 || boxes.length === 1) return pieceOf(boxes, open, allowance);
  const dimension = cheapest(boxes, open);
  const cut = dimension.cut(boxes);
  const found = new Map<string, { piece: Piece; byPart: Map<number, Carriers> }>();
  const rest = open.filter((one) => one !== dimension);
  for (const { boxes: part, numbers } of distinctParts(cut)) {
    // Most parts have one box, which is not worth a generator.
    const pieces = part.length === 1 ? pieceOf(part, rest, allowance) : yield* divide(part, rest, allowance);
    for (const piece of pieces) {
      const key = JSON.stringify([piece.verdict.key, ...dimensions.map(({ name }) => piece.extent[name])]);
      let alike = found.get(key);
      if (alike === undefined) found.set(key, (alike = { piece, byPart: new Map() }));
      for (const number of numbers) alike.byPart.set(number, piece.by);
    }
  }
  return [...found.values()].flatMap(({ piece, byPart }) =>
    cut.join([...byPart.keys()].toSorted((one, other) => one - other)).map(({ extent, parts }) => ({
      extent: { ...piece.extent, ...extent },
      verdict: piece.verdict,
      by: unionOf(parts.map((part) => byPart.get(part) as Carriers)),
    })),
  );
}

/** What boxes of the same extent carry. */
function pieceOf(boxes: readonly Box[], open: readonly Dimension[], allowance: Allowance): Piece[] {
  const [first] = boxes;
  const found = allowance.pieces > 0 ? verdictOn(boxes) : undefined;
  if (found === undefined || first === undefined) return [];
  allowance.pieces -= 1;
  return [{ extent: extentOf(first, open), ...found }];
}

function extentOf(box: Box, open: readonly Dimension[]): Extent {
  return Object.assign({}, ...open.map((dimension) => dimension.extentOf(box))) as Extent;
}

function unionOf(all: readonly Carriers[]): Carriers {
  const [first = new Map<string, boolean>(), ...others] = new Set(all);
  if (others.length === 0) return first;
  const union = new Map(first);
  for (const one of others) for (const [id, isAtOnce] of one) union.set(id, isAtOnce || union.get(id) === true);
  return union;
}

/** Some requests that are opened; undefined when there are none. It ends at the first. */
export function* findOpened(
  boxes: readonly Box[],
  remaining: readonly Dimension[],
): Generator<undefined, Piece | undefined> {
  yield;
  const first = boxes.find(({ before }) => before.length === 0);
  const there = boxes.filter(({ before }) => before.length > 0);
  if (first === undefined || there.some((box) => isWholeIn(box, remaining))) return undefined;
  const open = remaining.filter((dimension) => !boxes.every((box) => dimension.isWhole(box)));
  if (there.length === 0) {
    const found = verdictOn([first]);
    return found && { extent: extentOf(first, open), ...found };
  }
  const dimension = cheapest(boxes, open);
  const cut = dimension.cut(boxes);
  const rest = open.filter((one) => one !== dimension);
  for (const { boxes: part, numbers } of distinctParts(cut)) {
    const piece = yield* findOpened(part, rest);
    if (piece !== undefined)
      return { ...piece, extent: { ...piece.extent, ...cut.join(numbers.slice(0, 1))[0]?.extent } };
  }
  return undefined;
}

/** Whether nothing changes: nothing differs, or something carries all of it before and after without conditions. */
function isUnchanged(boxes: readonly Box[], remaining: readonly Dimension[]): boolean {
  return (
    !boxes.some(isChanged) || boxes.some((box) => !isChanged(box) && areFree(box.terms) && isWholeIn(box, remaining))
  );
}

function isWholeIn(box: Box, remaining: readonly Dimension[]): boolean {
  return remaining.every((dimension) => dimension.isWhole(box));
}

function cheapest(boxes: readonly Box[], open: readonly Dimension[]): Dimension {
  const [first = placeDimension, ...others] = open;
  if (boxes.length <= fewBoxes || others.length === 0) return first;
  let [best, least] = [first, first.cost(boxes)];
  for (const dimension of others) {
    const cost = dimension.cost(boxes);
    if (cost < least) [best, least] = [dimension, cost];
  }
  return best;
}

interface DistinctPart {
  boxes: readonly Box[];
  numbers: number[];
}

/** Parts of the same boxes once, with the numbers that they have in the cut. A cut lists boxes in the same order in every part. */
function distinctParts({ parts }: Cut): DistinctPart[] {
  const serials = new Map<Box, number>();
  const byHash = new Map<number, DistinctPart[]>();
  const found: DistinctPart[] = [];
  for (const [number, boxes] of parts.entries()) {
    let hash = boxes.length;
    for (const box of boxes) {
      let serial = serials.get(box);
      if (serial === undefined) serials.set(box, (serial = serials.size));
      hash = (Math.imul(hash, 31) + serial) | 0;
    }
    let alike = byHash.get(hash);
    if (alike === undefined) byHash.set(hash, (alike = []));
    const known = alike.find(
      (one) => one.boxes.length === boxes.length && one.boxes.every((box, at) => box === boxes[at]),
    );
    if (known !== undefined) {
      known.numbers.push(number);
      continue;
    }
    const fresh = { boxes, numbers: [number] };
    alike.push(fresh);
    found.push(fresh);
  }
  return found;
}
