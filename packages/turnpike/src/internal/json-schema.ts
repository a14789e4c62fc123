import { z } from "zod";
import type { JsonObject } from "./json.ts";

/** The JSON Schema (2020-12) of what a schema takes in or gives out. Throws when JSON Schema cannot say it. */
export function jsonSchemaOf(schema: z.ZodType, io: "input" | "output"): JsonObject {
  return plain(z.toJSONSchema(schema, { io }));
}

/**
 * The JSON Schema (2020-12) of every schema in a room's exports, by the name of its type (`ToolCall` for
 * `ToolCallSchema`). Each refers to the others as `refPrefix` and their name, so every shape is written out once.
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
