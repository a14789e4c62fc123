import { z } from "zod";
import type { JsonObject } from "./json.ts";

/** The JSON Schema (2020-12) of what a schema takes in or gives out. Throws when JSON Schema cannot say it. */
export function jsonSchemaOf(schema: z.ZodType, io: "input" | "output"): JsonObject {
  return plain(z.toJSONSchema(schema, { io }));
}

/**
 * The JSON Schema (2020-12) of every schema in a room's exports, by the name of its type (`ToolCall` for
 * `ToolCallSchema`). Each refers to the others as `refPrefix` and their name, so every shape is written out once.
 *
 * @example
 * import * as contracts from "turnpike/contracts";
 * import { jsonSchemasOf } from "turnpike/http";
 *
 * console.log(jsonSchemasOf(contracts, "#/")["ToolCall"]?.["type"]); // object
 */
export function jsonSchemasOf(exports: Readonly<Record<string, unknown>>, refPrefix = ""): Record<string, JsonObject> {
  const registry = z.registry<{ id: string }>();
  for (const [name, schema] of Object.entries(exports)) {
    if (schema instanceof z.ZodType) registry.add(schema, { id: name.replace(/Schema$/, "") });
  }
  const { schemas } = z.toJSONSchema(registry, { uri: (name) => `${refPrefix}${name}` });
  return Object.fromEntries(Object.entries(schemas).map(([name, schema]) => [name, plain(schema)]));
}

function plain({ $schema: _dialect, $id: _id, ...schema }: z.core.JSONSchema.BaseSchema): JsonObject {
  return JSON.parse(JSON.stringify(schema)) as JsonObject;
}

/**
 * The same schemas, in which the variants of a union have names of their own, such as `ToolResultSucceeded`, and the union says
 * which property tells them apart. Generators name types after components: otherwise they make `ToolResultOneOf2` of them.
 *
 * @example
 * import * as contracts from "turnpike/contracts";
 * import { jsonSchemasOf, nameVariants } from "turnpike/http";
 *
 * const named = nameVariants(jsonSchemasOf(contracts, "#/"), "#/");
 * console.log("ToolResultSucceeded" in named); // true
 */
export function nameVariants(
  schemas: Readonly<Record<string, JsonObject>>,
  refPrefix: string,
): Record<string, JsonObject> {
  const named: Record<string, JsonObject> = { ...schemas };
  for (const [name, schema] of Object.entries(schemas)) {
    const variants = (schema["oneOf"] ?? []) as JsonObject[];
    const shapes = variants.map((variant) => schemas[String(variant["$ref"]).slice(refPrefix.length)] ?? variant);
    const propertyName = Object.keys(propertiesOf(shapes[0])).find((key) =>
      shapes.every((shape) => constantOf(shape, key) !== undefined),
    );
    if (propertyName === undefined) continue;
    const mapping: Record<string, string> = {};
    for (const [place, shape] of shapes.entries()) {
      const constant = String(constantOf(shape, propertyName));
      const own = name + constant.charAt(0).toUpperCase() + constant.slice(1);
      const ref = variants[place]?.["$ref"];
      mapping[constant] = typeof ref === "string" ? ref : `${refPrefix}${own}`;
      const description = `A \`${name}\` whose \`${propertyName}\` is \`${constant}\`.`;
      if (ref === undefined) named[own] = { description, ...shape };
    }
    const oneOf = Object.values(mapping).map(($ref) => ({ $ref }));
    named[name] = { ...schema, oneOf, discriminator: { propertyName, mapping } };
  }
  return named;
}

function propertiesOf(schema: JsonObject | undefined): Record<string, JsonObject> {
  return (schema?.["properties"] ?? {}) as Record<string, JsonObject>;
}

/** The one text that a property has in every value of a shape. */
function constantOf(schema: JsonObject, property: string): string | undefined {
  const constant = propertiesOf(schema)[property]?.["const"];
  return typeof constant === "string" ? constant : undefined;
}
