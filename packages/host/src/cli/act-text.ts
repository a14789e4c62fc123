import type { Act } from "turnpike/contracts";
import { actRows, cutText, visibleText } from "../display/index.ts";

/** How much of a long act is shown. */
interface Shown {
  /** All of it. */
  isFull: boolean;
  /** How many columns a line may have. */
  columns: number;
}

/**
 * The arguments of an act as a table for the person who decides about it: nested ones by their names with dots, those of lists
 * by their places. Whatever is hidden in them is made visible, and no value can look like a row of its own.
 */
export function argumentsText(act: Act, { isFull, columns }: Shown): string {
  const rows = actRows(act).map(({ name, value }) => ({ name: visibleText(name), value }));
  const shown = isFull ? rows : rows.slice(0, maxRows);
  const width = Math.min(Math.max(...shown.map(({ name }) => widthOf(name)), 0), maxNameWidth);
  const room = Math.max(columns - width - indent.length - gap.length - gutter.length, leastRoom);
  const lines = shown.flatMap(({ name, value }) => {
    const all = valueLines(value, room);
    const some = isFull ? all : all.slice(0, maxLines);
    const left = all.length - some.length;
    // A name that is longer than its column has a line of its own.
    const isLong = widthOf(name) > width;
    const first = isLong
      ? wrapText(name, columns - indent.length)
          .split("\n")
          .map((line) => `${indent}${line}`)
      : [];
    const body = some.map(({ text, isNew }, place) => {
      const line = all.length === 1 ? text : `${isNew ? gutter : continued}${text}`;
      const label = place === 0 && !isLong ? name : "";
      return `${indent}${label}${" ".repeat(width - widthOf(label))}${gap}${line}`.trimEnd();
    });
    return [...first, ...body, ...(left === 0 ? [] : [`${indent}... and ${left} more lines of it: --full shows all.`])];
  });
  const left = rows.length - shown.length;
  if (left > 0) lines.push(`${indent}... and ${left} more: --full shows all.`);
  return lines.join("\n");
}

const indent = "  ";
const gap = "  ";
/** The prefix of each line of a value that has several, so that none of them is taken for a row. */
const gutter = "| ";
/** The mark before a line that continues the line above it, because the terminal is too narrow. */
const continued = ": ";
const [maxRows, maxLines, maxNameWidth, leastRoom] = [40, 12, 40, 20];

/** A line of a value on lines that fit, with nothing hidden in them. */
export function fittingLines(line: string, room: number): string[] {
  return linesOf(visibleText(line), room);
}

function valueLines(value: string, room: number): { text: string; isNew: boolean }[] {
  return value
    .split("\n")
    .flatMap((line) => fittingLines(line, room).map((text, place) => ({ text, isNew: place === 0 })));
}

/** A text on lines that are not wider than the room: a terminal that wraps a line begins the next one at its edge. */
function linesOf(visible: string, room: number): string[] {
  const lines: string[] = [];
  let [current, width] = ["", 0];
  for (const character of visible) {
    const next = widthOf(character);
    if (width + next > room) {
      lines.push(current);
      [current, width] = ["", 0];
    }
    current += character;
    width += next;
  }
  return [...lines, current];
}

/**
 * A text in which nothing is hidden any more, on lines that fit. Those behind the first have a gutter before them, so that none of
 * them is taken for another text.
 */
export function wrapText(visible: string, columns: number): string {
  return widthOf(visible) <= columns ? visible : linesOf(visible, columns - gutter.length).join(`\n${gutter}`);
}

/** How many columns a text takes at most: characters beyond ASCII may take two. */
function widthOf(text: string): number {
  let width = 0;
  for (const character of text) width += character < "\u007F" ? 1 : 2;
  return width;
}

/** A foreign text on one line, cut where it is long. */
export function shortText(text: string, length = 300): string {
  const { text: start, left } = cutText(text, length);
  return left === 0 ? start : `${start}... (${left} more characters: --full shows all)`;
}
