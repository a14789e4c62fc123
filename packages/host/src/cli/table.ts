import { unprintable, visibleText } from "../display/index.ts";
import { commandLine } from "./format.ts";
import { gap, indent, layOut, type Measure, type PlacedColumn } from "./table-layout.ts";
import { cutText, padText, splitText, textWidth } from "./text-width.ts";

const unprintableAll = new RegExp(unprintable, "gu");

/** A column of a list: its heading, and what it says of a row. */
export interface Column<Row> {
  heading: string;
  value(row: Row): string;
  /** Says that it may be cut on a narrow terminal; those with a higher number are cut first. What is copied is never cut. */
  shrinks?: 1 | 2 | 3;
}

/** A column for the tenant in front of the others, for a list of all tenants; none when one was named. */
export function withTenant<Row>(
  { tenant }: { tenant?: string },
  tenantOf: (row: Row) => string,
  columns: readonly Column<Row>[],
): readonly Column<Row>[] {
  return tenant === undefined ? [{ heading: "TENANT", value: tenantOf }, ...columns] : columns;
}

/** No column is cut to less than this, or than its heading. */
const leastWidth = 12;
/** A terminal that is narrower than this gets longer lines. */
const leastTerminal = 20;

/**
 * A table for people: a heading, aligned columns, no white space at the end of a line. No line is longer than the terminal;
 * where there is no terminal, every value is whole and every row is one line.
 */
export function renderTable<Row>(
  columns: readonly Column<Row>[],
  rows: readonly Row[],
  width = terminalColumns() ?? Number.POSITIVE_INFINITY,
): string {
  const table = arrange(columns, rows, width);
  if (table.lines.length === 1 || rows.length === 0) return table.text;
  // What says nothing of any row takes no room of what does.
  const telling = columns.filter((column) => rows.some((row) => column.value(row) !== ""));
  return arrange(telling, rows, width).text;
}

function arrange<Row>(
  columns: readonly Column<Row>[],
  rows: readonly Row[],
  width: number,
): { lines: PlacedColumn[][]; text: string } {
  const headings = columns.map(({ heading }) => heading);
  const cells = [headings, ...rows.map((row) => columns.map((column) => visibleText(column.value(row))))];
  const measures = columns.map(({ heading, shrinks = 0 }, place): Measure => {
    const widest = cells.reduce((most, row) => Math.max(most, textWidth(row[place] ?? "")), 0);
    const least = shrinks === 0 ? widest : Math.min(widest, Math.max(leastWidth, textWidth(heading)));
    return { widest, least, shrinks };
  });
  const lines = layOut(measures, Math.max(width, leastTerminal));
  const isCut = (place: number): boolean => columns[place]?.shrinks !== undefined;
  const shown = cells.flatMap((row) =>
    lines.flatMap((line, place) => renderLine(row, line, isCut).flatMap(under(place))),
  );
  const placed = lines.flat();
  const cut = cells.flatMap((row) =>
    placed.filter((at) => isCut(at.column) && isWider(row[at.column], at.width)),
  ).length;
  return { lines, text: [...shown, ...cutNote(cut, width)].join("\n") };
}

function isWider(cell = "", width: number): boolean {
  return textWidth(cell) > width;
}

/** Says how many values of a table are not whole, and how to see them. */
function cutNote(cut: number, width: number): string[] {
  if (cut === 0) return [];
  const note = `${cut === 1 ? "1 value is" : `${cut} values are`} cut to fit: --json shows all.`;
  return splitText(note, Math.max(width, leastTerminal));
}

/** Indents the lines of a row behind its first, and leaves out those that say nothing. */
function under(line: number): (text: string) => string[] {
  return (text) => (line === 0 ? [text] : text === "" ? [] : [`${indent}${text}`]);
}

/** One line of a row. A value that is wider than its column and may not be cut goes on below. */
function renderLine(
  row: readonly string[],
  line: readonly PlacedColumn[],
  isCut: (column: number) => boolean,
): string[] {
  const parts = line.map(({ column, width }) => {
    const cell = row[column] ?? "";
    return isCut(column) ? [cutText(cell, width)] : textWidth(cell) > width ? splitText(cell, width) : [cell];
  });
  const height = Math.max(...parts.map((part) => part.length));
  return Array.from({ length: height }, (_, place) =>
    parts
      .map((part, column) => padText(part[place] ?? "", line[column]?.width ?? 0))
      .join(gap)
      .trimEnd(),
  );
}

/** How many columns the terminal has; `COLUMNS` says it anywhere. Undefined when scripts read the output. */
export function terminalColumns(): number | undefined {
  const given = Number(process.env["COLUMNS"]);
  return Number.isInteger(given) && given > 0 ? given : process.stdout.columns || undefined;
}

/** A sentence on one line: line breaks in it are spaces, and everything else that is hidden in it is visible. */
export function oneLine(text: string): string {
  return visibleText(text.replaceAll(/[\t-\r\u0085\u2028\u2029]+/g, " "));
}

/** The same for a text of several lines. */
export function linesOf(text: string): string {
  return text.split("\n").map(oneLine).join("\n");
}

/** A table, and how to see the next page of it. */
export function withMore(table: string, cursor: string | undefined): string {
  return cursor === undefined ? table : `${table}\nThere is more: ${commandLine(["--cursor", cursor])}`;
}

/** JSON for scripts and people. Characters that a terminal would obey or not show are escaped, which means the same. */
export function jsonText(value: unknown, spaces = 2): string {
  // A line feed here is formatting: inside a text it is escaped already.
  return JSON.stringify(value, null, spaces).replaceAll(unprintableAll, (found) =>
    found === "\n" ? found : escaped(found),
  );
}

function escaped(character: string): string {
  return Array.from({ length: character.length }, (_, place) => character.charCodeAt(place))
    .map((code) => `\\u${code.toString(16).padStart(4, "0")}`)
    .join("");
}
