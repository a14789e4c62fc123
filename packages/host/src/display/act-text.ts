import type { Act, Capability, JsonValue } from "turnpike/contracts";
import { grantText, requestText } from "./grant-text.ts";
import { nameText, whoText } from "./names.ts";
import { visibleText } from "./visible-text.ts";

/** What an act does, without its arguments: `call messages.send`, or `carry out deploy: run shell/deploy`. */
export function actText(act: Act): string {
  switch (act.kind) {
    case "tool":
      return `call ${nameText(act.tool)}`;
    case "resource":
      return requestText(act);
    case "message":
      return `send a message to ${whoText(act.receiver)}`;
    case "turn":
      return `start a turn of ${whoText(act.agent)} for ${whoText(act.sender)}`;
    case "act":
      return `carry out ${nameText(act.tool)}: ${act.needs.map(requestText).join("; ")}`;
  }
}

/** What an escalation requests, in one line. */
export function wantsText({ approval, requestedAuthority }: Requested): string {
  if (approval !== undefined) return actText(approval.act);
  return requestedAuthority === undefined ? "an answer" : grantText(requestedAuthority);
}

/** What an escalation is about: one act, or authority. */
export interface Requested {
  approval?: { act: Act } | undefined;
  requestedAuthority?: { capabilities: Capability[] } | undefined;
}

/** One argument of an act: where it is, and all of its value. */
export interface ActRow {
  name: string;
  value: string;
}

/**
 * The arguments of an act for the person who decides about it: nested ones by their names with dots, those of lists by their
 * places, none left out. Hidden characters are still in them: the caller makes them visible.
 */
export function actRows(act: Act): ActRow[] {
  switch (act.kind) {
    case "tool":
      return Object.entries(act.arguments).flatMap(([name, value]) => flatten(stepText(name), value));
    case "resource":
      return rowsOf({ input: act.input, metadata: act.metadata });
    case "message":
      return rowsOf({ payload: act.payload, replyTo: act.replyTo, provenance: act.provenance });
    case "turn": {
      const { payload, replyTo, provenance, state, metadata } = act;
      return rowsOf({ payload, replyTo, provenance, state, metadata });
    }
    case "act":
      return rowsOf({ arguments: act.arguments, spends: act.spends });
  }
}

/** The first arguments of an act in one line, to tell it from another. */
export function briefText(act: Act): string {
  const rows = actRows(act);
  const shown = rows.slice(0, 3).map(({ name, value }) => `${name}: ${briefly(value)}`);
  return [...shown, ...(rows.length > shown.length ? [`and ${rows.length - shown.length} more`] : [])].join(", ");
}

/** The beginning of a value, and how much follows it. */
function briefly(value: string): string {
  const start = value.slice(0, mostBrief).replace(/[\uD800-\uDBFF]$/, "");
  return value.length > mostBrief ? `${start}… (${value.length - start.length} more characters)` : value;
}

const mostBrief = 100;

/** Those parts of an act, which came as JSON, that are there. */
function rowsOf(parts: Record<string, unknown>): ActRow[] {
  return Object.entries(parts).flatMap(([name, part]) => (part === undefined ? [] : flatten(name, part as JsonValue)));
}

/** Every value with its name. An empty object or list is a value. */
function flatten(name: string, value: JsonValue): ActRow[] {
  if (typeof value !== "object" || value === null) return [{ name, value: valueText(value) }];
  const isList = Array.isArray(value);
  const parts = isList
    ? value.map((part, place) => [`${name}[${place}]`, part] as const)
    : Object.entries(value).map(([key, part]) => [`${name}${belowText(key)}`, part] as const);
  if (parts.length === 0) return [{ name, value: isList ? "[]" : "{}" }];
  return parts.flatMap(([partName, part]) => flatten(partName, part));
}

/** The place of a value: names with dots between them, and in quotes what could be taken for something else. */
export function placeText(path: readonly string[]): string {
  const [first, ...rest] = path;
  return first === undefined ? "" : [stepText(first), ...rest.map(belowText)].join("");
}

function belowText(name: string): string {
  return isPlainName(name) ? `.${name}` : stepText(name);
}

/** A name that could be taken for several, or for none, is quoted. */
function stepText(name: string): string {
  return isPlainName(name) ? name : `[${JSON.stringify(name)}]`;
}

function isPlainName(name: string): boolean {
  return /^[\p{L}\p{N}_-]+$/u.test(name) && visibleText(name) === name;
}

/** A text is shown as it is, unless it could be taken for something else: a number, nothing, or a text without its ends. */
export function valueText(value: string | number | boolean | null): string {
  if (typeof value !== "string") return String(value);
  const isClear = value.includes("\n") || (value !== "" && value.trim() === value && !isAmbiguous.test(value));
  return isClear ? value : JSON.stringify(value);
}

const isAmbiguous = /^(".*|true|false|null|\{\}|\[\]|-?\d+(\.\d+)?(e[+-]?\d+)?)$/is;
