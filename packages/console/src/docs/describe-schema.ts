import { refName, resolve, type ApiDocument, type Ref, type Schema } from "./document.ts";

/** One field of an object, as a row of a table. */
export interface Field {
  name: string;
  isRequired: boolean;
  type: string;
  /** What a value has to satisfy, in words. */
  rules: string;
  description: string;
  /** What it consists of, when that is worth a table of its own. */
  schema: Schema | Ref | undefined;
}

/** One of the shapes that a value may have. */
export interface Shape {
  /** What tells it from the others, such as `status: denied`. */
  title: string;
  fields: readonly Field[];
}

/** The shapes of a schema: one, unless it is a choice of several. None for what has no fields. */
export function shapesOf(document: ApiDocument, schema: Schema | Ref): Shape[] {
  const resolved = resolve<Schema>(document, schema);
  const choices = resolved.oneOf ?? resolved.anyOf;
  if (choices !== undefined) return choices.flatMap((choice) => shapesOf(document, choice));
  if (resolved.allOf !== undefined) return resolved.allOf.flatMap((part) => shapesOf(document, part));
  if (resolved.items !== undefined) return shapesOf(document, resolved.items);
  if (resolved.properties === undefined) return [];
  return [{ title: titleOf(document, resolved.properties), fields: fieldsOf(document, resolved) }];
}

function fieldsOf(document: ApiDocument, { properties = {}, required = [] }: Schema): Field[] {
  return Object.entries(properties).map(([name, schema]) => {
    const resolved = resolve<Schema>(document, schema);
    return {
      name,
      isRequired: required.includes(name),
      type: typeText(document, schema),
      // A named schema that describes itself says its rules better.
      rules: refName(schema) !== undefined && resolved.description !== undefined ? "" : rulesText(resolved),
      description: resolved.description ?? "",
      schema: hasFields(document, schema) ? schema : undefined,
    };
  });
}

/** Whether there is anything to open in a value. Its fields are not read: a schema may contain itself. */
function hasFields(document: ApiDocument, schema: Schema | Ref): boolean {
  const { oneOf, anyOf, allOf, items, properties } = resolve<Schema>(document, schema);
  const parts = oneOf ?? anyOf ?? allOf ?? (items === undefined ? [] : [items]);
  return properties !== undefined || parts.some((part) => hasFields(document, part));
}

/** The fields that have one value only, which is what tells shapes apart. */
function titleOf(document: ApiDocument, properties: Readonly<Record<string, Schema | Ref>>): string {
  const fixed = Object.entries(properties).flatMap(([name, schema]) => {
    const { const: value } = resolve<Schema>(document, schema);
    return value === undefined || name === "version" ? [] : [`${name}: ${String(value)}`];
  });
  return fixed.join(", ");
}

/** The type of a value: the name of its schema, or what JSON calls it. */
export function typeText(document: ApiDocument, schema: Schema | Ref): string {
  const name = refName(schema);
  const resolved = resolve<Schema>(document, schema);
  if (resolved.items !== undefined) return `${typeText(document, resolved.items)}[]`;
  if (name !== undefined) return name;
  if (resolved.const !== undefined) return JSON.stringify(resolved.const);
  if (resolved.enum !== undefined) return resolved.enum.map((value) => JSON.stringify(value)).join(" | ");
  const choices = resolved.oneOf ?? resolved.anyOf;
  if (choices !== undefined) return [...new Set(choices.map((choice) => typeText(document, choice)))].join(" | ");
  return [resolved.type ?? "any"].flat().join(" | ");
}

/** The rules of a schema that JSON has no type for. */
export function rulesText(schema: Schema): string {
  const { minLength, maxLength, minimum, exclusiveMinimum, maximum, minItems, maxItems } = schema;
  return [
    rangeText(minLength, maxLength, "characters"),
    rangeText(minItems, maxItems, "items"),
    rangeText(minimum, maximum, ""),
    exclusiveMinimum === undefined ? "" : `more than ${exclusiveMinimum}`,
    schema.format ?? "",
    schema.pattern === undefined ? "" : `matches ${schema.pattern}`,
    schema.default === undefined ? "" : `${JSON.stringify(schema.default)} unless given`,
  ]
    .filter((rule) => rule !== "")
    .join(", ");
}

function rangeText(least: number | undefined, most: number | undefined, what: string): string {
  // A number without a bound of its own is bounded by what JavaScript can count to, which is no help to a reader.
  const [low, high] = [least, most].map((bound) =>
    Math.abs(bound ?? 0) < Number.MAX_SAFE_INTEGER ? bound : undefined,
  );
  if (low === undefined && high === undefined) return "";
  const range = low === undefined ? `at most ${high}` : high === undefined ? `at least ${low}` : `${low} to ${high}`;
  return what === "" ? range : `${range} ${what}`;
}
