import { unprintable } from "../base/index.ts";
import { commandLine } from "./format.ts";

const unprintableRun = new RegExp(`${unprintable}+`, "gu");
const unprintableAll = new RegExp(unprintable, "gu");

/** A table for people: a heading, aligned columns, no white space at the end of a line. */
export function renderTable(headings: readonly string[], rows: readonly (readonly string[])[]): string {
  const lines = [headings, ...rows.map((row) => row.map(oneLine))];
  const widths = headings.map((_, column) => Math.max(...lines.map((line) => line[column]?.length ?? 0)));
  return lines
    .map((line) =>
      line
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join("  ")
        .trimEnd(),
    )
    .join("\n");
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
