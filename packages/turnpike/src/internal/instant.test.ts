import fc from "fast-check";
import { expect, test, vi } from "vitest";
import { currentTimestamp, parseInstant } from "./instant.ts";

const instants = [
  { text: "1970-01-01T00:00:00Z", at: 0 },
  { text: "1970-01-01T00:00:01Z", at: 1000 },
  { text: "1969-12-31T23:59:59Z", at: -1000 },
  { text: "1970-01-01T01:00:00+01:00", at: 0 },
  { text: "1969-12-31T18:30:00-05:30", at: 0 },
  { text: "1970-01-01T23:59:00+23:59", at: 0 },
  { text: "1970-01-01T00:00:00-00:00", at: 0 },
  { text: "1970-01-01t00:00:00z", at: 0 },
  { text: "1970-01-01T00:00:00.5Z", at: 500 },
  { text: "1970-01-01T00:00:00.0005Z", at: 0.5 },
  { text: "1970-01-01T00:00:00.123456789Z", at: 123.456789 },
  { text: "2024-02-29T00:00:00Z", at: 1_709_164_800_000 },
  { text: "2000-02-29T00:00:00Z", at: 951_782_400_000 },
  { text: "2026-12-31T23:59:59Z", at: 1_798_761_599_000 },
  { text: "2016-12-31T23:59:60Z", at: 1_483_228_800_000 },
  { text: "2017-01-01T00:59:60+01:00", at: 1_483_228_800_000 },
  { text: "0000-01-01T00:00:00Z", at: -62_167_219_200_000 },
  { text: "9999-12-31T23:59:59Z", at: 253_402_300_799_000 },
];

for (const { text, at } of instants) {
  test(`${text} is the instant ${at}`, () => {
    expect(parseInstant(text)).toBe(at);
  });
}

const refusals = [
  { name: "a date-time without an offset", text: "2026-02-01T09:00:00" },
  { name: "a date alone", text: "2026-02-01" },
  { name: "a date with an offset alone", text: "2026-02-01Z" },
  { name: "a time alone", text: "09:00:00Z" },
  { name: "a space in place of the T", text: "2026-02-01 09:00:00Z" },
  { name: "a space before the offset", text: "2026-02-01T09:00:00 Z" },
  { name: "a space at the end", text: "2026-02-01T09:00:00Z " },
  { name: "a line break at the end", text: "2026-02-01T09:00:00Z\n" },
  { name: "no seconds", text: "2026-02-01T09:00Z" },
  { name: "a fraction without digits", text: "2026-02-01T09:00:00.Z" },
  { name: "a fraction after a comma", text: "2026-02-01T09:00:00,5Z" },
  { name: "an offset without a colon", text: "2026-02-01T09:00:00+0100" },
  { name: "an offset without minutes", text: "2026-02-01T09:00:00+01" },
  { name: "an offset of 24 hours", text: "2026-02-01T09:00:00+24:00" },
  { name: "an offset of 60 minutes", text: "2026-02-01T09:00:00+01:60" },
  { name: "an offset after a typographic minus", text: "2026-02-01T09:00:00\u221201:00" },
  { name: "month 0", text: "2026-00-01T09:00:00Z" },
  { name: "month 13", text: "2026-13-01T09:00:00Z" },
  { name: "day 0", text: "2026-01-00T09:00:00Z" },
  { name: "January 32", text: "2026-01-32T09:00:00Z" },
  { name: "April 31", text: "2026-04-31T09:00:00Z" },
  { name: "February 29 of a common year", text: "2026-02-29T09:00:00Z" },
  { name: "February 29 of 1900", text: "1900-02-29T09:00:00Z" },
  { name: "February 30 of a leap year", text: "2024-02-30T09:00:00Z" },
  { name: "hour 24", text: "2026-02-01T24:00:00Z" },
  { name: "minute 60", text: "2026-02-01T09:60:00Z" },
  { name: "second 61", text: "2016-12-31T23:59:61Z" },
  { name: "a leap second in the middle of a day", text: "2016-12-31T09:30:60Z" },
  { name: "a leap second that is none in UTC", text: "2016-12-31T23:59:60+01:00" },
  { name: "a year of five digits", text: "12026-02-01T09:00:00Z" },
  { name: "a signed year", text: "+002026-02-01T09:00:00Z" },
  { name: "a year of two digits", text: "26-02-01T09:00:00Z" },
  { name: "digits of another script", text: "２０２６-02-01T09:00:00Z" },
  { name: "an HTTP date", text: "Sun, 01 Feb 2026 09:00:00 GMT" },
  { name: "milliseconds since 1970", text: "1769936400000" },
  { name: "nothing", text: "" },
];

for (const { name, text } of refusals) {
  test(`${name} is no instant`, () => {
    expect(parseInstant(text)).toBeUndefined();
  });
}

test("every date of the years 0000 to 9999, at every offset, is the instant that Date.parse reads", () => {
  const local = fc
    .date({ min: new Date("0000-01-01T00:00:00Z"), max: new Date("9999-12-31T23:59:59.999Z"), noInvalidDate: true })
    .map((date) => date.toISOString().slice(0, -1));
  const offset = fc
    .tuple(fc.constantFrom("+", "-"), fc.integer({ min: 0, max: 23 }), fc.integer({ min: 0, max: 59 }))
    .map(([sign, hours, minutes]) => `${sign}${String(hours).padStart(2, "0")}:${String(minutes).padStart(2, "0")}`);
  const dateTime = fc.tuple(local, fc.oneof(fc.constant("Z"), offset)).map((parts) => parts.join(""));
  fc.assert(
    fc.property(dateTime, (text) => {
      expect(parseInstant(text)).toBe(Date.parse(text));
    }),
    { numRuns: 2000 },
  );
});

test("the time now is the one of the machine, to the millisecond", () => {
  vi.useFakeTimers({ now: Date.parse("2026-01-01T00:00:00.123Z") });
  expect([currentTimestamp(), currentTimestamp()]).toEqual(["2026-01-01T00:00:00.123Z", "2026-01-01T00:00:00.123Z"]);
  vi.setSystemTime("2026-01-01T00:00:00.124Z");
  expect(currentTimestamp()).toBe("2026-01-01T00:00:00.124Z");
  vi.useRealTimers();
});

test("a text that was read before is read as it was, whatever was read since", () => {
  const [early, late] = ["2026-01-01T00:00:00Z", "2026-01-01T00:00:00.001Z"];
  for (const text of [early, early, late, early, "none", "none", "", early])
    expect(parseInstant(text)).toBe(text.startsWith("2026") ? Date.parse(text) : undefined);
});

test("more instants than are remembered are parsed all the same", () => {
  const times = Array.from({ length: 5000 }, (_, place) => place * 1000);
  const texts = times.map((time) => new Date(time).toISOString());
  expect(texts.map((text) => parseInstant(text))).toEqual(times);
  expect(texts.map((text) => parseInstant(text))).toEqual(times);
});
