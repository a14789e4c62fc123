import { expect, test } from "vitest";
import { nameVariants } from "./json-schema.ts";

function variant(kind: string): { properties: { kind: { const: string } } } {
  return { properties: { kind: { const: kind } } };
}

test("the variants of a union get names, and the union says what tells them apart", () => {
  const union = { description: "One of two.", oneOf: [variant("round"), { $ref: "#/Square" }] };
  expect(nameVariants({ Shape: union, Square: variant("square") }, "#/")).toEqual({
    Shape: {
      description: "One of two.",
      oneOf: [{ $ref: "#/ShapeRound" }, { $ref: "#/Square" }],
      discriminator: { propertyName: "kind", mapping: { round: "#/ShapeRound", square: "#/Square" } },
    },
    ShapeRound: { description: "A `Shape` whose `kind` is `round`.", ...variant("round") },
    Square: variant("square"),
  });
});

test("a union whose variants nothing tells apart stays as it is", () => {
  const schemas = {
    Loose: { oneOf: [variant("round"), { properties: { kind: { type: "string" } } }] },
    Scalar: { oneOf: [{ type: "string" }, { type: "number" }] },
    Plain: { type: "object", properties: { kind: { const: "plain" } } },
  };
  expect(nameVariants(schemas, "#/")).toEqual(schemas);
});
