import type { Act, JsonValue } from "turnpike/contracts";

/** One argument of an act: where it is, and all of its value. */
export interface ActRow {
  name: string;
  value: string;
}

/**
 * The arguments of an act for the person who decides about it: nested ones by their names with dots, those of lists by their
 * places, none left out.
 */
export function actRows(act: Act): ActRow[] {
  if (act.kind === "tool")
    return Object.entries(act.arguments).flatMap(([name, value]) => flatten(nameText(name), value));
  const { kind: _kind, ...parts } = act;
  const told =
    act.kind === "resource" ? ["input", "metadata"] : ["payload", "replyTo", "provenance", "state", "metadata"];
  return Object.entries(parts).flatMap(([name, part]) =>
    told.includes(name) && part !== undefined ? flatten(name, part as JsonValue) : [],
  );
}

/** The first arguments of an act in one line, to tell it from another. */
export function briefText(act: Act): string {
  const rows = actRows(act);
  const shown = rows.slice(0, 3).map(({ name, value }) => `${name}: ${value}`);
  return [...shown, ...(rows.length > shown.length ? ["…"] : [])].join(", ");
}

/** Every value with its name. An empty object or list is a value. */
function flatten(name: string, value: JsonValue): ActRow[] {
  if (typeof value !== "object" || value === null) return [{ name, value: valueText(value) }];
  const isList = Array.isArray(value);
  const parts = isList
    ? value.map((part, place) => [`${name}[${place}]`, part] as const)
    : Object.entries(value).map(([key, part]) => [`${name}${isPlain(key) ? "." : ""}${nameText(key)}`, part] as const);
  if (parts.length === 0) return [{ name, value: isList ? "[]" : "{}" }];
  return parts.flatMap(([partName, part]) => flatten(partName, part));
}

function isPlain(name: string): boolean {
  return /^[\p{L}\p{N}_-]+$/u.test(name);
}

/** A name that could be taken for several, or for none, is quoted. */
function nameText(name: string): string {
  return isPlain(name) ? name : `[${JSON.stringify(name)}]`;
}

/** A text stands as it is, unless it could be taken for something else: a number, nothing, or a text without its ends. */
function valueText(value: string | number | boolean | null): string {
  if (typeof value !== "string") return String(value);
  const isClear = value !== "" && value.trim() === value && !looksOtherwise.test(value);
  return isClear ? value : JSON.stringify(value);
}

const looksOtherwise = /^(".*|true|false|null|\{\}|\[\]|-?\d+(\.\d+)?(e[+-]?\d+)?)$/is;
