import fc from "fast-check";
import { expect, test } from "vitest";
import { findChangedNumber, readJsonText } from "./read-json-text.ts";

const tooLong = "expected a whole number from -9007199254740991 to 9007199254740991; send any other as a string";
const notFinite = "expected a finite number";
const roundedToZero = "expected a number that is not rounded to 0; send it as a string";

const zeros = (count: number): string => "0".repeat(count);

const places = [
  { name: "alone", around: (number: string) => number, path: [], pointer: "(root)" },
  { name: "in a list", around: (number: string) => `[0,[1],${number}]`, path: [2], pointer: "/2" },
  {
    name: "in an object",
    around: (number: string) => `{"a":{},"b":{"c":1,"id" : ${number} }}`,
    path: ["b", "id"],
    pointer: "/b/id",
  },
  {
    name: "behind a text with digits",
    around: (number: string) => `["12345678901234567890 1e999",${number}]`,
    path: [1],
    pointer: "/1",
  },
];

for (const { number, expected } of [
  { number: "9007199254740992", expected: tooLong },
  { number: "-9007199254740992", expected: tooLong },
  { number: "9007199254740993", expected: tooLong },
  { number: "12345678901234567890", expected: tooLong },
  { number: "1" + zeros(21), expected: tooLong },
  { number: "1" + zeros(400), expected: tooLong },
  { number: "1e999", expected: notFinite },
  { number: "-1E+309", expected: notFinite },
  { number: "9999999999e299", expected: notFinite },
  { number: "1e000000309", expected: notFinite },
  { number: `1${zeros(400)}.5`, expected: notFinite },
  { number: `1${zeros(250)}e99`, expected: notFinite },
  { number: "1e-400", expected: roundedToZero },
  { number: "-1e-999", expected: roundedToZero },
  { number: "0.5E-324", expected: roundedToZero },
  { number: `0.${zeros(400)}1`, expected: roundedToZero },
  { number: `0.${zeros(300)}1e-99`, expected: roundedToZero },
]) {
  for (const { name, around, path, pointer } of places) {
    const shown = number.length > 30 ? `${number.slice(0, 30)}...` : number;
    test(`${shown} ${name} is refused, because it would be another number`, () => {
      const reading = readJsonText(around(number));
      expect(reading).toEqual({ ok: false, kind: "number", path, expected, message: `${pointer}: ${expected}` });
      expect({ ok: false, ...findChangedNumber(around(number)) }).toEqual(reading);
      expect(readJsonText(new TextEncoder().encode(around(number)))).toEqual(reading);
    });
  }
}

for (const number of [
  "0",
  "-0",
  "0.0",
  "-0.0",
  "0e5",
  "0E-999",
  "0.000e-400",
  "1e0",
  "5e-324",
  "1e-320",
  "1e21",
  "1e308",
  "1.7976931348623157e308",
  "9007199254740991",
  "-9007199254740991",
  "9007199254740993.0",
  "9007199254740993e0",
  "0.1",
  "0.30000000000000004",
  `0.${zeros(250)}1`,
  `0.${zeros(400)}`,
  "123456789012345",
  "1234567890.1234567890",
]) {
  for (const { name, around } of places) {
    test(`${number.slice(0, 30)} ${name} is taken`, () => {
      expect(readJsonText(around(number))).toEqual({ ok: true, value: JSON.parse(around(number)) });
    });
  }
}

test("digits in texts and in keys are not numbers", () => {
  const text = '{"12345678901234567890":"12345678901234567890","1e999":["1e-999","\\"98765432109876543210"]}';
  expect(readJsonText(text)).toEqual({ ok: true, value: JSON.parse(text) });
});

for (const text of ["", "{", "nothing", "[1,]", "01", "--1", "1e", "-", "\uFEFF1"]) {
  test(`${JSON.stringify(text)} is no JSON`, () => {
    expect(readJsonText(text)).toMatchObject({ ok: false, kind: "syntax", message: "(root): expected JSON" });
  });
}

test("a number is found behind any amount of other things", () => {
  const many = Object.fromEntries(Array.from({ length: 110_000 }, (_, place) => [`key-${place}`, 0]));
  const deep = "[".repeat(100) + "]".repeat(100);
  const text = (number: string): string => `[${JSON.stringify(many)},${deep},${number}]`;
  expect(findChangedNumber(text("1e999"))).toMatchObject({ kind: "number", path: [2] });
  expect(findChangedNumber(text("1e99"))).toBeUndefined();
});

test("what is too deep is refused as such", () => {
  expect(readJsonText("[".repeat(65))).toMatchObject({ ok: false, kind: "size" });
});

test("a number is taken exactly if it is a double of its sender's choice, or a whole number that JavaScript counts with", () => {
  const digits = fc.stringMatching(/^(0|[1-9]\d{0,25})$/);
  const number = fc
    .tuple(
      fc.boolean(),
      digits,
      fc.option(fc.stringMatching(/^\d{1,20}$/)),
      fc.option(fc.integer({ min: -420, max: 420 })),
    )
    .map(([isNegative, whole, fraction, exponent]) => ({
      whole: fraction === null && exponent === null ? BigInt(whole) : undefined,
      hasDigits: /[1-9]/.test(whole + (fraction ?? "")),
      written: `${isNegative ? "-" : ""}${whole}${fraction === null ? "" : `.${fraction}`}${exponent === null ? "" : `e${exponent}`}`,
    }));
  fc.assert(
    fc.property(number, ({ whole, hasDigits, written }) => {
      const value = Number(written);
      const isTaken =
        whole === undefined ? Number.isFinite(value) && (value !== 0 || !hasDigits) : whole <= 9007199254740991n;
      expect(readJsonText(`{"a":[${written}]}`).ok).toBe(isTaken);
    }),
    { numRuns: 500 },
  );
});
