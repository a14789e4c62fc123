import { expect, test } from "vitest";
import * as contracts from "../../packages/turnpike/src/contracts/index.ts";
import { jsonSchemasOf } from "../../packages/turnpike/src/internal/index.ts";

// Each schema refers to the others by name, so a change shows in one place.
const schemas = jsonSchemasOf(contracts);

test("the shapes on the wire are the recorded ones", async () => {
  await expect(`${JSON.stringify(schemas, null, 2)}\n`).toMatchFileSnapshot("__snapshots__/wire-schemas.json");
});

test("every exported schema is on record", () => {
  const names = Object.keys(contracts).filter((name) => name.endsWith("Schema"));
  expect(Object.keys(schemas).map((name) => `${name}Schema`)).toEqual(names);
});
