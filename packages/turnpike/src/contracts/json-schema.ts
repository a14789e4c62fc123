import { z } from "zod";
import type { JsonObject } from "./json.ts";

/** The JSON Schema (2020-12) of what a schema takes in or gives out. Throws when JSON Schema cannot say it. */
export function jsonSchemaOf(schema: z.ZodType, io: "input" | "output"): JsonObject {
  const { $schema: _dialect, ...plain } = z.toJSONSchema(schema, { io });
  return JSON.parse(JSON.stringify(plain)) as JsonObject;
}
