import { truncateText, unprintable } from "../base/index.ts";
import { commandLine } from "./format.ts";

const unprintableRun = new RegExp(`${unprintable}+`, "gu");
const unprintableAll = new RegExp(unprintable, "gu");

/**
 * A table for people: a heading, aligned columns, no white space at the end of a line. On a terminal of so many columns, the
 * last column is cut so that lines fit; what stands before it is never cut, because it is copied.
 */
export function renderTable(
  headings: readonly string[],
  rows: readonly (readonly string[])[],
  columns = Number.POSITIVE_INFINITY,
): string {
  const lines = [headings, ...rows.map((row) => row.map(oneLine))];
  const widths = headings.map((_, column) => Math.max(...lines.map((line) => line[column]?.length ?? 0)));
  const before = widths.slice(0, -1).reduce((sum, width) => sum + width + gap.length, 0);
  const room = Math.max(leastRoom, columns - before);
  return lines
    .map((line) => {
      const cells = line.map((cell, column) => (column === widths.length - 1 ? cut(cell, room) : cell));
      return cells
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join(gap)
        .trimEnd();
    })
    .join("\n");
}

const gap = "  ";
/** A terminal that is narrower than this behind the other columns gets longer lines. */
const leastRoom = 12;

function cut(cell: string, room: number): string {
  return cell.length > room ? `${truncateText(cell, room - 3)}...` : cell;
}

/** A text on one line without control characters, so that what others wrote cannot control the terminal. */
export function oneLine(text: string): string {
  return text.replaceAll(unprintableRun, " ");
}

/** A table, and how to see the next page of it. */
export function withMore(table: string, cursor: string | undefined): string {
  return cursor === undefined ? table : `${table}\nThere is more: ${commandLine(["--cursor", cursor])}`;
}

/** JSON for scripts and people. Characters that a terminal would obey or not show are escaped, which means the same. */
export function jsonText(value: unknown, indent = 2): string {
  // A line feed here is formatting: inside a text it is escaped already.
  return JSON.stringify(value, null, indent).replaceAll(unprintableAll, (found) =>
    found === "\n" ? found : escaped(found),
  );
}

function escaped(character: string): string {
  return Array.from({ length: character.length }, (_, place) => character.charCodeAt(place))
    .map((code) => `\\u${code.toString(16).padStart(4, "0")}`)
    .join("");
}
