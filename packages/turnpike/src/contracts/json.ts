import { z } from "zod";
import { readJson, type JsonObject, type JsonValue } from "../internal/index.ts";

export const JsonValueSchema = z.unknown().check(takeJson) as unknown as z.ZodType<JsonValue, JsonValue>;

export const JsonObjectSchema = z
  .unknown()
  .check((payload) => {
    const { value } = payload;
    if (typeof value === "object" && value !== null && !Array.isArray(value)) takeJson(payload);
    else payload.issues.push({ code: "custom", message: "expected object", path: [], input: value });
  })
  .meta({ type: "object", additionalProperties: true }) as unknown as z.ZodType<JsonObject, JsonObject>;

function takeJson(payload: z.core.ParsePayload): void {
  const reading = readJson(payload.value);
  if (reading.ok) payload.value = reading.value;
  else
    payload.issues.push({
      code: "custom",
      message: reading.problem.expected,
      path: reading.problem.path,
      input: payload.value,
    });
}
