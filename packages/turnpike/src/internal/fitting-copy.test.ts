import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import * as arbitraries from "../../test/arbitraries.ts";
import * as contracts from "../contracts/index.ts";
import { boundedArray, strictObject } from "./bounded.ts";
import { copyByKey, fittingParts, generateCopy, unsure } from "./fitting-copy.ts";

/** As a part of something larger is read: with everything that is checked of it. */
function fittingCopy(schema: z.ZodType, value: unknown): unknown {
  const copy = fittingParts(strictObject({ value: schema }), { value });
  return copy === unsure ? unsure : (copy as { value: unknown }).value;
}

/** The same schema with zod's own objects, arrays and unions. */
function plain(schema: z.core.$ZodType): z.ZodType {
  const { def } = (schema as z.core.$ZodTypes)._zod;
  const { checks = [] } = def;
  if (def.type === "optional") return plain(def.innerType).optional();
  if (def.type === "array") return z.array(plain(def.element)).check(...(checks as z.core.$ZodCheck<unknown[]>[]));
  if (def.type === "object") {
    const shape = Object.fromEntries(Object.entries(def.shape).map(([key, part]) => [key, plain(part)]));
    return z.strictObject(shape).check(...(checks as z.core.$ZodCheck<object>[]));
  }
  if (def.type !== "union" || !("discriminator" in def)) return schema as z.ZodType;
  const options = def.options.map((option) => plain(option)) as [z.ZodObject];
  return z.discriminatedUnion(def.discriminator as string, options).check(...(checks as z.core.$ZodCheck<object>[]));
}

interface Shape {
  name: string;
  schema: z.ZodType;
  values: fc.Arbitrary<unknown>;
}

/** Every contract of which random values are drawn, by the name of its type. */
const shapes = Object.entries(arbitraries).flatMap(([name, values]): Shape[] => {
  const schema: unknown = Object.entries(contracts).find(
    ([one]) => one === `${name.charAt(0).toUpperCase()}${name.slice(1)}Schema`,
  )?.[1];
  return schema instanceof z.ZodType ? [{ name, schema, values: values as fc.Arbitrary<unknown> }] : [];
});

/** One place of a value changed into something that may or may not fit. */
const misfit = fc.constantFrom<unknown[]>(
  undefined,
  null,
  "",
  "x",
  0,
  -1,
  1.5,
  true,
  [],
  {},
  [undefined],
  "2026-01-01T00:00:00Z",
);

function change(value: unknown, path: readonly number[], other: unknown, extra: string | undefined): unknown {
  if (typeof value !== "object" || value === null) return other;
  const keys = Object.keys(value);
  const [place = 0, ...rest] = path;
  const key = keys[place % (keys.length + 1)];
  const copy = (Array.isArray(value) ? [...value] : { ...value }) as Record<string, unknown>;
  if (key === undefined) {
    if (extra !== undefined) copy[extra] = other;
    return copy;
  }
  if (rest.length === 0 && extra === "delete") delete copy[key];
  else copy[key] = change(copy[key], rest, other, extra);
  return copy;
}

/** The same down to the order of keys, which decides how a value is written. */
function asText(value: unknown): string {
  return JSON.stringify(value, (_key, part: unknown) => (part === undefined ? "undefined" : part));
}

test("every contract with random values is among those compared", () => {
  expect(shapes.length).toBeGreaterThan(35);
});

for (const { name, schema, values } of shapes) {
  describe(name, () => {
    const own = plain(schema);
    test("whatever surely fits is copied as zod copies it", () => {
      fc.assert(
        fc.property(values, (value) => {
          const copy = fittingCopy(schema, value);
          expect(copy).not.toBe(unsure);
          expect(asText(copy)).toBe(asText(own.parse(value)));
        }),
        { numRuns: 15 },
      );
    });

    test("whatever zod refuses is not sure to fit, and whatever is sure is copied as zod copies it", () => {
      const paths = fc.array(fc.nat(12), { minLength: 1, maxLength: 5 });
      const extras = fc.constantFrom(undefined, "delete", "extra", "__proto__", "constructor");
      fc.assert(
        fc.property(values, paths, misfit, extras, (value, path, other, extra) => {
          const changed = change(value, path, other, extra);
          const copy = fittingCopy(schema, changed);
          if (copy === unsure) return;
          const parsed = own.safeParse(changed);
          expect(parsed.success).toBe(true);
          expect(asText(copy)).toBe(asText(parsed.data));
        }),
        { numRuns: 50 },
      );
    });
  });
}

const text: z.ZodType = z.string();
const named = strictObject({ name: z.string(), tags: boundedArray(z.string(), { min: 1, max: 2 }).optional() });

for (const row of [
  { name: "an object of a class", value: Object.assign(new Error("a class"), { name: "a" }) },
  { name: "an object with an inherited key", value: Object.assign(Object.create({ name: "a" }) as object, {}) },
  { name: "a key without a value", value: { name: "a", tags: undefined } },
  { name: "a key that the schema does not know", value: { name: "a", other: 1 } },
  { name: "an array that is too short", value: { name: "a", tags: [] } },
  { name: "an array that is too long", value: { name: "a", tags: ["1", "2", "3"] } },
  { name: "an array in place of an object", value: ["a"] },
]) {
  test(`${row.name} is left to the schema`, () => {
    expect(fittingCopy(named, row.value)).toBe(unsure);
  });
}

test("what is checked beyond the shape counts, a later and narrower bound too", () => {
  expect(fittingCopy(boundedArray(text, { max: 3 }).max(1), ["a", "b"])).toBe(unsure);
  expect(fittingCopy(boundedArray(text, { max: 3 }).max(1), ["a"])).toEqual(["a"]);
  const refined = strictObject({ name: z.string() }).refine(({ name }) => name !== "root");
  expect(fittingCopy(refined, { name: "root" })).toBe(unsure);
  expect(fittingCopy(refined, { name: "a" })).toEqual({ name: "a" });
});

test("an object that may have other keys, and a check that takes its time, are left to the schema", async () => {
  expect(fittingParts(named.loose(), { name: "a" })).toBe(unsure);
  expect(named.loose().parse({ name: "a", other: 1 })).toEqual({ name: "a", other: 1 });
  const slow = strictObject({ name: z.string() }).refine(() => Promise.resolve(true));
  expect(fittingCopy(slow, { name: "a" })).toBe(unsure);
  expect(await slow.parseAsync({ name: "a" })).toEqual({ name: "a" });
});

test("each part is read once", () => {
  let reads = 0;
  const value = Object.defineProperty({}, "name", {
    enumerable: true,
    get() {
      reads += 1;
      return reads === 1 ? "first" : "second";
    },
  });
  expect(fittingCopy(named, value)).toEqual({ name: "first" });
  expect(reads).toBe(1);
});

for (const { name, make } of [
  { name: "generated code", make: generateCopy },
  { name: "a loop, where code may not be generated", make: copyByKey },
]) {
  test(`an object is copied by ${name}`, () => {
    const read = (value: unknown) => (typeof value === "string" ? value : unsure);
    const copy = make([
      { key: "one", read, isRequired: true },
      { key: 'two"; throw "', read, isRequired: false },
    ]);
    expect(Object.entries(copy({ 'two"; throw "': "b", one: "a" }) as object)).toEqual([
      ["one", "a"],
      ['two"; throw "', "b"],
    ]);
    expect(copy({ one: "a" })).toEqual({ one: "a" });
    expect(copy({ 'two"; throw "': "b" })).toBe(unsure);
    expect(copy({ one: 1 })).toBe(unsure);
    expect(copy({ one: "a", three: "c" })).toBe(unsure);
    expect(copy({ one: "a", 'two"; throw "': undefined })).toBe(unsure);
  });
}
