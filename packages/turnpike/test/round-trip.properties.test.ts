import fc from "fast-check";
import { expect, test } from "vitest";
import { z } from "zod";
import { timesOf } from "../../../tests/support/size.ts";
import * as contracts from "../src/contracts/index.ts";
import * as arbitraries from "./arbitraries.ts";

/** Schemas of single words: fields are made of them, but nothing travels as one. */
const words = ["AuditEventTypeSchema", "AuditOutcomeSchema", "TurnEventTypeSchema", "TurnStatusSchema"];

const schemas = new Map<string, z.ZodType>();
for (const [name, value] of Object.entries(contracts)) if (value instanceof z.ZodType) schemas.set(name, value);

/** An arbitrary is named after its schema: `toolCall` after `ToolCallSchema`. */
const shapes = Object.entries<fc.Arbitrary<unknown>>(arbitraries).map(([shape, arbitrary]) => ({
  shape,
  arbitrary,
  schemaName: `${shape.charAt(0).toUpperCase()}${shape.slice(1)}Schema`,
}));

test("every schema of the contracts has an arbitrary", () => {
  expect([...shapes.map(({ schemaName }) => schemaName), ...words].toSorted()).toEqual([...schemas.keys()].toSorted());
});

for (const { shape, arbitrary, schemaName } of shapes) {
  test(`every valid ${shape} goes through JSON unchanged and is accepted unchanged`, () => {
    fc.assert(
      fc.property(arbitrary, (value) => {
        const received: unknown = JSON.parse(JSON.stringify(value));
        expect(received).toStrictEqual(value);
        expect(schemas.get(schemaName)?.parse(received)).toStrictEqual(value);
      }),
      { numRuns: timesOf(50, 5_000) },
    );
  });
}
