import type { JsonObject, JsonValue } from "turnpike/contracts";

/** One argument of a tool, as a form asks for it. What has no field of its own is typed as JSON. */
export interface ArgumentField {
  name: string;
  kind: "text" | "lines" | "number" | "integer" | "boolean" | "choice" | "json";
  isRequired: boolean;
  description: string | undefined;
  /** Of a choice. */
  options: readonly JsonValue[];
  /** What the field has at first, as it is typed. */
  initial: string;
}

/** What was typed, or why it is no argument, by the names of the arguments. */
export type Typed = ReadonlyMap<string, string>;

/** Texts that may be longer than this get several lines. */
const shortText = 256;

/** The form for a tool's input schema; undefined when only JSON can say what it takes. */
export function fieldsOf(schema: JsonObject): ArgumentField[] | undefined {
  const { type, properties, required } = schema;
  if (type !== "object" || !isObject(properties)) return undefined;
  // What is not spelled out by the properties cannot be told by fields.
  if (["oneOf", "anyOf", "allOf", "$ref", "patternProperties"].some((key) => Object.hasOwn(schema, key)))
    return undefined;
  const needed = Array.isArray(required) ? required : [];
  return Object.entries(properties).map(([name, property]) => {
    const shape = isObject(property) ? property : {};
    const kind = kindOf(shape);
    return {
      name,
      kind,
      isRequired: needed.includes(name),
      description: typeof shape["description"] === "string" ? shape["description"] : undefined,
      options: kind === "choice" ? (shape["enum"] as JsonValue[]) : [],
      initial: initialOf(kind, shape),
    };
  });
}

function kindOf(shape: JsonObject): ArgumentField["kind"] {
  const { type, enum: options, maxLength } = shape;
  if (Array.isArray(options) && options.length > 0) return "choice";
  switch (type) {
    case "string":
      return typeof maxLength === "number" && maxLength <= shortText ? "text" : "lines";
    case "number":
    case "integer":
    case "boolean":
      return type;
    default:
      return "json";
  }
}

function initialOf(kind: ArgumentField["kind"], { default: value }: JsonObject): string {
  if (value === undefined) return "";
  if (kind === "text" || kind === "lines") return typeof value === "string" ? value : "";
  return JSON.stringify(value);
}

/** The arguments that a form says, or what is wrong with each field. An empty field that is not needed is left out. */
export function argumentsOf(
  fields: readonly ArgumentField[],
  typed: Typed,
): { arguments: JsonObject } | { problems: Typed } {
  const values: [string, JsonValue][] = [];
  const problems = new Map<string, string>();
  for (const field of fields) {
    const text = typed.get(field.name) ?? "";
    if (text === "") {
      if (field.isRequired) problems.set(field.name, "This is needed.");
      continue;
    }
    const value = valueOf(field, text);
    if (value.problem === undefined) values.push([field.name, value.value]);
    else problems.set(field.name, value.problem);
  }
  // Entries become own properties whatever their names are, `__proto__` too.
  return problems.size > 0 ? { problems } : { arguments: Object.fromEntries(values) };
}

type Read = { value: JsonValue; problem?: never } | { value?: never; problem: string };

function valueOf({ kind }: ArgumentField, text: string): Read {
  switch (kind) {
    case "text":
    case "lines":
      return { value: text };
    case "number":
    case "integer": {
      const number = Number(text);
      if (text.trim() === "" || !Number.isFinite(number)) return { problem: "This is no number." };
      if (kind === "integer" && !Number.isInteger(number)) return { problem: "This is no whole number." };
      return isChanged(text.trim()) ? { problem: changedNumber } : { value: number };
    }
    case "boolean":
    case "choice":
    case "json":
      return readJson(text);
  }
}

/** The value of a JSON text. */
function readJson(text: string): Read {
  try {
    const value = JSON.parse(text) as JsonValue;
    // Without what is escaped, every second quote ends a text.
    const outside = text
      .replaceAll(/\\./g, "")
      .split('"')
      .filter((_, place) => place % 2 === 0);
    const numbers = outside.join(" ").match(/-?\d[\d.eE+-]*/g) ?? [];
    return numbers.some(isChanged) ? { problem: changedNumber } : { value };
  } catch {
    return { problem: 'This is no JSON. Texts are in quotes, such as "notes".' };
  }
}

const changedNumber = "A number here cannot be sent exactly. Send it as a text, in quotes.";

/** Whether parsing would change a number. The host checks the same, but gets only the number that the browser parsed. */
function isChanged(written: string): boolean {
  const number = Number(written);
  if (/^-?\d+$/.test(written)) return !Number.isSafeInteger(number);
  return !Number.isFinite(number) || (number === 0 && /^-?[0.]*[1-9]/.test(written));
}

/** The arguments of a JSON text: an object. */
export function readArguments(text: string): { arguments: JsonObject } | { problem: string } {
  const read = readJson(text.trim() === "" ? "{}" : text);
  if (read.problem !== undefined) return { problem: read.problem };
  return isObject(read.value) ? { arguments: read.value } : { problem: "Arguments are an object, in { }." };
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
