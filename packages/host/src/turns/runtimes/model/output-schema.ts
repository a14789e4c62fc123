import { CfWorkerJsonSchemaValidator } from "@modelcontextprotocol/client/validators/cf-worker";
import { JsonValueSchema, readJsonText, type ErrorObject, type JsonObject, type JsonValue } from "turnpike/contracts";
import { errorObject } from "turnpike/kernel";

const maxNodes = 2_000;
const maxDepth = 64;

/** The limit of parts of a schema times values of an output. Each check takes some microseconds. */
const maxChecks = 1_000_000;
/** How many characters are as much work as one value. */
const charactersOfValue = 256;

/** The schema of a turn's output. */
export interface OutputSchema {
  /** Without references, which not every provider understands. */
  schema: JsonObject;
  /** Whether every object in it names all of its keys as required: only then OpenAI can enforce it. */
  isStrict: boolean;
  /** The value in a reply; undefined when there is none, or it does not fit. */
  read(text: string): JsonValue | undefined;
}

/** Reads the schema in `metadata.output.schema` of a turn's request; undefined when there is none. */
export function readOutputSchema(metadata: JsonObject = {}): OutputSchema | { error: ErrorObject } | undefined {
  const asked = objectOf(metadata["output"])?.["schema"];
  if (asked === undefined) return undefined;
  try {
    const { schema, parts } = schemaOf(asked, useless);
    const checked = schemaOf(asked, unchecked).schema;
    const validate = new CfWorkerJsonSchemaValidator({ shortcircuit: true }).getValidator(checked);
    const read = (text: string): JsonValue | undefined => {
      const { success, data } = JsonValueSchema.safeParse(parsed(withoutFence(text)));
      return success && parts * sizeOf(data) <= maxChecks && validate(withoutPrototypes(data)).valid ? data : undefined;
    };
    return { schema, isStrict: objectsIn(schema).every(isStrictObject), read };
  } catch (error) {
    const problem = error instanceof SchemaError ? error.message : "it cannot be read";
    return { error: errorObject("invalid_request", `metadata.output.schema: ${problem}.`) };
  }
}

class SchemaError extends Error {
  override readonly name = "SchemaError";
}

/**
 * Keywords whose check may take unbounded time: an expression on a long text, each element compared with each other, references
 * that are resolved during the check.
 */
const refused = new Set([
  "pattern",
  "patternProperties",
  "uniqueItems",
  "dependencies",
  "$dynamicRef",
  "$recursiveRef",
]);
/** Keywords whose value is a schema, or a list of schemas. */
const nested = new Set(
  (
    "items prefixItems additionalItems unevaluatedItems contains additionalProperties unevaluatedProperties " +
    "propertyNames anyOf oneOf allOf not if then else"
  ).split(" "),
);
/** Keywords whose value has a schema under each name. */
const named = new Set(["properties", "dependentSchemas"]);
/** Keywords whose values are compared with one by one, so each of them is a part. */
const compared = new Set(["enum", "const", "required", "dependentRequired"]);
/** What the values of keywords have to be. The check passes over others, or breaks on them once the model has answered. */
const shapes: readonly { keys: ReadonlySet<string>; name: string; is(value: JsonValue): boolean }[] = [
  {
    keys: new Set(["enum", "anyOf", "oneOf", "allOf", "prefixItems"]),
    name: "a list",
    is: Array.isArray,
  },
  { keys: new Set(["required"]), name: "a list of names", is: isListOfNames },
  {
    keys: new Set(["type"]),
    name: "a type or a list of types",
    is: (value) => typeof value === "string" || isListOfNames(value),
  },
  { keys: named, name: "an object", is: (value) => objectOf(value) !== undefined },
  {
    keys: new Set(["dependentRequired"]),
    name: "an object of lists of names",
    is: (value) => Object.values(objectOf(value) ?? { none: false }).every(isListOfNames),
  },
  {
    keys: new Set(
      (
        "minimum maximum exclusiveMinimum exclusiveMaximum multipleOf minLength maxLength minItems maxItems " +
        "minContains maxContains minProperties maxProperties"
      ).split(" "),
    ),
    name: "a number",
    is: (value) => typeof value === "number",
  },
];

function isListOfNames(value: JsonValue): boolean {
  return Array.isArray(value) && value.every((each) => typeof each === "string");
}

/** Keywords that are of no use once references are replaced. */
const useless: ReadonlySet<string> = new Set(["$defs", "definitions", "$schema", "$id", "$anchor", "$dynamicAnchor"]);
/** Formats are told to the model and not checked, as JSON Schema has it by default. */
const unchecked: ReadonlySet<string> = new Set([...useless, "format"]);

/** The schema with its references replaced, and without some keywords. What that makes too large, or never ends, is refused. */
function schemaOf(root: JsonValue, dropped: ReadonlySet<string>): { schema: JsonObject; parts: number } {
  let nodes = 0;
  const count = (more: number, depth: number): void => {
    nodes += more;
    if (nodes > maxNodes || depth > maxDepth)
      throw new SchemaError(`it has more than ${maxNodes} parts, or refers to itself`);
  };
  const visit = (node: JsonValue, depth: number): JsonValue => {
    if (typeof node === "boolean") return node;
    const schema = objectOf(node);
    if (schema === undefined) throw new SchemaError("expected a JSON Schema");
    count(1, depth);
    const { $ref: reference, ...own } = schema;
    if (reference !== undefined) return visit(joined(targetOf(reference, root), own), depth + 1);
    return Object.fromEntries(
      Object.entries(own)
        .filter(([key]) => !dropped.has(key))
        .map(([key, value]) => [key, visitKeyword(key, value, depth + 1)]),
    );
  };
  const visitKeyword = (key: string, value: JsonValue, depth: number): JsonValue => {
    if (refused.has(key)) throw new SchemaError(`${key} is not supported, leave it out`);
    const shape = shapes.find(({ keys }) => keys.has(key));
    if (shape?.is(value) === false) throw new SchemaError(`${key} has to be ${shape.name}`);
    if (nested.has(key)) return Array.isArray(value) ? value.map((each) => visit(each, depth)) : visit(value, depth);
    // A list of one is as much work as its only value.
    if (compared.has(key)) count(Math.max(0, sizeOf(value) - 2), depth);
    if (!named.has(key)) return value;
    const schemas = Object.entries(objectOf(value) ?? {});
    return Object.fromEntries(schemas.map(([name, each]) => [name, visit(each, depth)]));
  };
  const schema = objectOf(visit(root, 0));
  if (schema === undefined) throw new SchemaError("expected a JSON Schema");
  return { schema, parts: nodes };
}

/** How many values there are in one, itself among them. A long text counts as several. */
function sizeOf(value: JsonValue): number {
  if (typeof value === "string") return 1 + Math.floor(value.length / charactersOfValue);
  if (typeof value !== "object" || value === null) return 1;
  return Object.entries(value).reduce(
    (sum, [key, each]) => sum + Math.floor(key.length / charactersOfValue) + sizeOf(each),
    1,
  );
}

/** What a reference within the schema leads to. */
function targetOf(reference: JsonValue, root: JsonValue): JsonObject {
  if (typeof reference !== "string" || !reference.startsWith("#/"))
    throw new SchemaError("a $ref has to point into the schema itself, such as #/$defs/name");
  let target: JsonValue | undefined = root;
  for (const step of reference.slice(2).split("/")) {
    const name = step.replaceAll("~1", "/").replaceAll("~0", "~");
    const object = objectOf(target);
    target = object !== undefined && Object.hasOwn(object, name) ? object[name] : undefined;
  }
  const found = objectOf(target);
  if (found === undefined) throw new SchemaError("a $ref leads nowhere");
  return found;
}

/** Keywords that describe. Those beside a reference come before those of its target. */
const describing = new Set(["title", "description", "default", "examples", "deprecated", "$comment"]);
/** Keywords whose meaning depends on others beside them. */
const dependent = new Set([...nested, ...named, "minContains", "maxContains"]);

/**
 * The target of a reference, together with the keywords beside it, which apply as well. They become one schema where that means
 * the same, because not every provider understands `allOf`.
 */
function joined(target: JsonObject, beside: JsonObject): JsonObject {
  const own = Object.fromEntries(Object.entries(beside).filter(([key]) => !useless.has(key)));
  const meets = (key: string): boolean => dependent.has(key) || (Object.hasOwn(target, key) && !describing.has(key));
  return Object.keys(own).some(meets) ? { allOf: [target, own] } : { ...target, ...own };
}

/** All objects in a schema. */
function objectsIn(value: JsonValue): JsonObject[] {
  if (Array.isArray(value)) return value.flatMap(objectsIn);
  const object = objectOf(value);
  return object === undefined ? [] : [object, ...Object.values(object).flatMap(objectsIn)];
}

function isStrictObject(schema: JsonObject): boolean {
  const { type, properties, required, additionalProperties } = schema;
  if (type !== "object" && properties === undefined) return true;
  const keys = Object.keys(objectOf(properties) ?? {});
  return additionalProperties === false && Array.isArray(required) && keys.every((key) => required.includes(key));
}

/** A value whose objects inherit nothing: the check would find `constructor` in each of them. */
function withoutPrototypes(value: JsonValue): JsonValue {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map(withoutPrototypes);
  const bare = Object.create(null) as JsonObject;
  for (const [key, each] of Object.entries(value)) bare[key] = withoutPrototypes(each);
  return bare;
}

/** Models like to put JSON into a fence. */
function withoutFence(text: string): string {
  const lines = text.trim().split("\n");
  const isFenced = lines.length > 2 && /^```(json)?\s*$/.test(lines[0] ?? "") && lines.at(-1) === "```";
  return isFenced ? lines.slice(1, -1).join("\n") : text;
}

function parsed(text: string): unknown {
  const reading = readJsonText(text);
  return reading.ok ? reading.value : undefined;
}

function objectOf(value: JsonValue | undefined): JsonObject | undefined {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? value : undefined;
}
