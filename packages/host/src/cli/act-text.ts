import type { Act, JsonValue } from "turnpike/contracts";
import { truncateText, visibleText } from "../base/index.ts";
import { principalText, resourceText } from "./format.ts";

/** What an act does, without its arguments: `call messages.send`. */
export function actText(act: Act): string {
  switch (act.kind) {
    case "tool":
      return visibleText(`call ${act.tool}`);
    case "resource":
      return visibleText(`${act.action} ${resourceText(act.resource)}`);
    case "message":
      return visibleText(`send a message to ${principalText(act.receiver)}`);
    case "turn":
      return visibleText(`start a turn of ${principalText(act.agent)} for ${principalText(act.sender)}`);
  }
}

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
  const rows = argumentsOf(act);
  const shown = isFull ? rows : rows.slice(0, maxRows);
  const width = Math.min(Math.max(...shown.map(({ name }) => widthOf(name)), 0), maxNameWidth);
  const room = Math.max(columns - width - indent.length - gap.length - gutter.length, leastRoom);
  const lines = shown.flatMap(({ name, value }) => {
    const all = linesOf(value, room);
    const some = isFull ? all : all.slice(0, maxLines);
    const left = all.length - some.length;
    const valueLines = all.length === 1 ? all : some.map((line) => `${gutter}${line}`);
    // A name that is longer than its column has a line of its own.
    const isLong = widthOf(name) > width;
    const first = isLong
      ? wrapText(name, columns - indent.length)
          .split("\n")
          .map((line) => `${indent}${line}`)
      : [];
    const body = valueLines.map((line, place) => {
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
/** Stands before each line of a value that has several, so that none of them is taken for a row. */
const gutter = "| ";
const [maxRows, maxLines, maxNameWidth, leastRoom] = [40, 12, 40, 20];

interface Argument {
  name: string;
  value: string;
}

function argumentsOf(act: Act): Argument[] {
  switch (act.kind) {
    case "tool":
      return Object.entries(act.arguments).flatMap(([name, value]) => flatten(nameText(name), value));
    case "resource":
      return partsOf({ input: act.input, metadata: act.metadata });
    case "message":
      return partsOf({ payload: act.payload, replyTo: act.replyTo, provenance: act.provenance });
    case "turn": {
      const { payload, replyTo, provenance, state, metadata } = act;
      return partsOf({ payload, replyTo, provenance, state, metadata });
    }
  }
}

/** Those parts of an act, which came as JSON, that are there. */
function partsOf(parts: Record<string, unknown>): Argument[] {
  return Object.entries(parts).flatMap(([name, part]) => (part === undefined ? [] : flatten(name, part as JsonValue)));
}

/** Every value with its name. An empty object or list is a value. */
function flatten(name: string, value: JsonValue): Argument[] {
  if (typeof value !== "object" || value === null) return [{ name, value: valueText(value) }];
  const isList = Array.isArray(value);
  const parts = isList
    ? value.map((part, place) => [`${name}[${place}]`, part] as const)
    : Object.entries(value).map(
        ([key, part]) => [`${name}${isPlainName(key) ? "." : ""}${nameText(key)}`, part] as const,
      );
  if (parts.length === 0) return [{ name, value: isList ? "[]" : "{}" }];
  return parts.flatMap(([partName, part]) => flatten(partName, part));
}

/** The place of a value: names with dots between them, and in quotes what could be taken for something else. */
export function placeText(path: readonly string[]): string {
  return path.map((step, place) => (place > 0 && isPlainName(step) ? `.${step}` : nameText(step))).join("");
}

/** A value on lines that fit, with nothing hidden in them. */
export function linesOfValue(value: JsonValue, room: number): string[] {
  const isScalar = typeof value !== "object" || value === null;
  return linesOf(isScalar ? valueText(value) : JSON.stringify(value), room);
}

function isPlainName(name: string): boolean {
  return /^[\p{L}\p{N}_-]+$/u.test(name) && visibleText(name) === name;
}

/** A name that could be taken for several, or for none, is quoted. */
function nameText(name: string): string {
  return isPlainName(name) ? name : `[${visibleText(JSON.stringify(name))}]`;
}

/** A text stands as it is, unless it could be taken for something else: a number, nothing, or a text without its ends. */
function valueText(value: string | number | boolean | null): string {
  if (typeof value !== "string") return String(value);
  const isClear = value.includes("\n") || (value !== "" && value.trim() === value && !looksOtherwise.test(value));
  return isClear ? value : JSON.stringify(value);
}

const looksOtherwise = /^(".*|true|false|null|\{\}|\[\]|-?\d+(\.\d+)?(e[+-]?\d+)?)$/is;

/** The lines of a value, none wider than the room: a terminal that wraps a line begins the next one at its edge. */
function linesOf(value: string, room: number): string[] {
  const lines: string[] = [];
  for (const line of value.split("\n")) {
    let [current, width] = ["", 0];
    for (const character of visibleText(line)) {
      const next = widthOf(character);
      if (width + next > room) {
        lines.push(current);
        [current, width] = ["", 0];
      }
      current += character;
      width += next;
    }
    lines.push(current);
  }
  return lines;
}

/** A text whose lines fit. Those behind the first stand behind a gutter, so that none of them is taken for another text. */
export function wrapText(text: string, columns: number): string {
  return widthOf(text) <= columns ? text : linesOf(text, columns - gutter.length).join(`\n${gutter}`);
}

/** How many columns a text takes at most: characters beyond ASCII may take two. */
function widthOf(text: string): number {
  let width = 0;
  for (const character of text) width += character < "\u007F" ? 1 : 2;
  return width;
}

/** A text of somebody else on one line, cut where it is long. */
export function shortText(text: string, length = 300): string {
  const visible = visibleText(text);
  return visible.length > length ? `${truncateText(visible, length)}... (--full shows all)` : visible;
}
