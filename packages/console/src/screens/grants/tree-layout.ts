import { visibleParts } from "turnpike-host/display";
import type { TreeRow } from "./grant-tree.ts";

/** Where the tree is drawn: columns beside each other where there is room, else an outline. */
export interface Measures {
  nodeWidth: number;
  nodeHeight: number;
  /** From one depth to the next. */
  column: number;
  /** From one row to the next. */
  row: number;
  isOutline: boolean;
}

const margin = 6;

/** The space for a line between two columns, and after the last column for the mark that opens a node. */
const [gutter, end] = [40, 22];

/** Measures for a frame of this width and a tree of so many columns. */
export function measuresFor(width: number, columns: number): Measures {
  const isOutline = width < 620;
  const fitting = (width - 2 * margin - end - (columns - 1) * gutter) / Math.max(1, columns);
  const nodeWidth = Math.round(Math.max(176, Math.min(fitting, 340)));
  if (!isOutline) return { nodeWidth, nodeHeight: 42, column: nodeWidth + gutter, row: 52, isOutline };
  return { nodeWidth: Math.max(200, Math.min(width - 76, 360)), nodeHeight: 42, column: 20, row: 50, isOutline };
}

export interface PlacedRow extends TreeRow {
  x: number;
  y: number;
  /** The line from the parent, as an SVG path. */
  line: string | undefined;
}

/**
 * Places the rows. In columns a parent is beside the first of its children, so that no row is above what it belongs
 * to; in an outline every row has a line of its own.
 */
export function layOut(
  rows: readonly TreeRow[],
  { nodeWidth, nodeHeight, column, row: step, isOutline }: Measures,
): { placed: PlacedRow[]; width: number; height: number } {
  const spots = new Map<string, { x: number; y: number }>();
  let line = -1;
  let before: TreeRow | undefined;
  for (const row of rows) {
    // The first child is beside its parent.
    if (isOutline || before === undefined || before.key !== row.parent) line += 1;
    spots.set(row.key, { x: margin + row.depth * column, y: margin + line * step });
    before = row;
  }
  const placed = rows.map((row) => {
    const spot = spots.get(row.key) ?? { x: 0, y: 0 };
    const parent = spots.get(row.parent ?? "");
    return { ...row, ...spot, line: parent && lineBetween(parent, spot, { nodeWidth, nodeHeight, isOutline }) };
  });
  const right = Math.max(0, ...placed.map(({ x }) => x));
  return { placed, width: right + nodeWidth + 2 * margin + end, height: (line + 1) * step + margin };
}

interface Spot {
  x: number;
  y: number;
}

/** A line with a round corner: out of the parent, down, and into the child. */
function lineBetween(
  from: Spot,
  to: Spot,
  { nodeWidth, nodeHeight, isOutline }: Pick<Measures, "nodeWidth" | "nodeHeight" | "isOutline">,
): string {
  const middle = to.y + nodeHeight / 2;
  const round = 8;
  if (isOutline) {
    const trunk = from.x + 9;
    return `M${trunk} ${from.y + nodeHeight}V${middle - round}Q${trunk} ${middle} ${trunk + round} ${middle}H${to.x}`;
  }
  const start = `M${from.x + nodeWidth} ${from.y + nodeHeight / 2}`;
  if (from.y === to.y) return `${start}H${to.x}`;
  const trunk = to.x - 16;
  return `${start}H${trunk - round}Q${trunk} ${from.y + nodeHeight / 2} ${trunk} ${from.y + nodeHeight / 2 + round}V${middle - round}Q${trunk} ${middle} ${trunk + round} ${middle}H${to.x}`;
}

/**
 * A text cut to so many letters' widths, with a sign that it was. Numbers of characters stay whole, and letters of East Asia,
 * emoji and what no rule knows take two.
 */
export function cut(text: string, most: number): string {
  const pieces = visibleParts(text).flatMap((part) => (part.isNumber ? [part.text] : [...part.text]));
  const widthOf = (piece: string): number => (piece < "\u1100" ? piece.length : 2);
  const whole = pieces.reduce((sum, piece) => sum + widthOf(piece), 0);
  if (whole <= most) return pieces.join("");
  let [shown, room] = ["", most - 1];
  for (const piece of pieces) {
    room -= widthOf(piece);
    if (room < 0) break;
    shown += piece;
  }
  return `${shown}…`;
}
