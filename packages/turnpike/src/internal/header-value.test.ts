import fc from "fast-check";
import { expect, test } from "vitest";
import { fromHeaderValue, toHeaderValue } from "./header-value.ts";

for (const row of [
  { name: "plain text", text: "weekly report: Q1/2026 (draft)", value: "weekly report: Q1/2026 (draft)" },
  {
    name: "every visible ASCII mark but percent",
    text: "!\"#$&'()*+,-./:;<=>?@[]^_`{|}~\\",
    value: "!\"#$&'()*+,-./:;<=>?@[]^_`{|}~\\",
  },
  { name: "a percent sign", text: "100%", value: "100%25" },
  { name: "what looks encoded", text: "a%20b", value: "a%2520b" },
  { name: "an umlaut", text: "für alle", value: "f%C3%BCr alle" },
  { name: "a character beyond the basic plane", text: "🚪", value: "%F0%9F%9A%AA" },
  { name: "line breaks and control characters", text: "a\r\nb\tc\u0000\u007f", value: "a%0D%0Ab%09c%00%7F" },
  { name: "blanks at either end", text: "  a b ", value: "%20%20a b%20" },
  { name: "nothing but blanks", text: "   ", value: "%20%20%20" },
  { name: "nothing", text: "", value: "" },
]) {
  test(`${row.name} becomes a header value and comes back`, () => {
    expect(toHeaderValue(row.text)).toBe(row.value);
    expect(fromHeaderValue(row.value)).toBe(row.text);
  });
}

for (const row of [
  { name: "with half a surrogate pair", text: "a\ud83d!", value: "a%EF%BF%BD!" },
  { name: "that ends in half a surrogate pair", text: "\udeaa", value: "%EF%BF%BD" },
]) {
  test(`a text ${row.name} is sent with a replacement character`, () => {
    expect(toHeaderValue(row.text)).toBe(row.value);
  });
}

for (const value of ["100%", "%zz", "%C3", "%ff", "a % b"]) {
  test(`${value}, which is not properly encoded, is taken as it is`, () => {
    expect(fromHeaderValue(value)).toBe(value);
  });
}

const anyText = fc.oneof(
  fc.string({ unit: "grapheme" }),
  fc.string({ unit: "binary" }),
  fc.string({ unit: "binary-ascii" }),
);

test("any well-formed text survives the way through real headers", () => {
  fc.assert(
    fc.property(anyText, (text) => {
      const headers = new Headers({ "x-purpose": toHeaderValue(text) });
      expect(fromHeaderValue(headers.get("x-purpose") ?? "")).toBe(text);
    }),
    { numRuns: 2000 },
  );
});

test("any text at all, half surrogate pairs included, becomes a legal header value of visible ASCII", () => {
  const units = fc.array(fc.integer({ min: 0, max: 0xffff }), { maxLength: 40 });
  fc.assert(
    fc.property(units, (codes) => {
      expect(toHeaderValue(String.fromCharCode(...codes))).toMatch(/^([\x21-\x7e]([\x20-\x7e]*[\x21-\x7e])?)?$/);
    }),
    { numRuns: 2000 },
  );
});

test("any header value can be read", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary-ascii" }), (value) => {
      expect(typeof fromHeaderValue(value)).toBe("string");
    }),
  );
});
