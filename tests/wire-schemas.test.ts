import { expect, test } from "vitest";
import { z } from "zod";
import * as contracts from "../packages/turnpike/src/contracts/index.ts";

/** The JSON Schema of every exported schema; each refers to the others by name, so a change shows in one place. */
function wireSchemas(): object {
  const registry = z.registry<{ id: string }>();
  for (const [name, schema] of Object.entries(contracts)) {
    if (schema instanceof z.ZodType) registry.add(schema, { id: name.replace(/Schema$/, "") });
  }
  return z.toJSONSchema(registry).schemas;
}

test("the shapes on the wire are the recorded ones", async () => {
  const text = JSON.stringify(wireSchemas(), (key, value: unknown) => (key === "$schema" ? undefined : value), 2);
  await expect(`${text}\n`).toMatchFileSnapshot("__snapshots__/wire-schemas.json");
});

test("every exported schema is on record", () => {
  const names = Object.keys(contracts).filter((name) => name.endsWith("Schema"));
  expect(Object.keys(wireSchemas()).map((name) => `${name}Schema`)).toEqual(names);
});
