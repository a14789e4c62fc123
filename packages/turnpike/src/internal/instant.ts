const dayMs = 86_400_000;
const zero = 48;

let lastText = "";
let lastInstant: number | undefined;

const maxKnown = 4096;
const longestKnown = 35;
const known = new Map<string, number>();

/**
 * The instant of an RFC 3339 date-time as milliseconds since 1970, with fractions; undefined when `text` is not one.
 * A leap second has to be the last second of a UTC day. The last texts are cached, because everything in one request has the same
 * clock, and a grant has the same times in every request.
 *
 * @example
 * import { parseInstant } from "turnpike/contracts";
 *
 * console.log(parseInstant("1970-01-01T00:00:01.5Z")); // 1500
 * console.log(parseInstant("yesterday")); // undefined
 */
export function parseInstant(text: string): number | undefined {
  if (text !== lastText) {
    lastInstant = known.get(text) ?? learn(text);
    lastText = text;
  }
  return lastInstant;
}

function learn(text: string): number | undefined {
  const instant = instantOf(text);
  if (instant === undefined || text.length > longestKnown) return instant;
  if (known.size === maxKnown) known.clear();
  known.set(text, instant);
  return instant;
}

/** Parses without a regular expression, because every decision parses a time. */
function instantOf(text: string): number | undefined {
  if (text[4] !== "-" || text[7] !== "-" || text[13] !== ":" || text[16] !== ":") return undefined;
  if (text[10] !== "T" && text[10] !== "t") return undefined;
  const year = digits(text, 0, 4);
  const month = digits(text, 5, 7);
  const day = digits(text, 8, 10);
  const hour = digits(text, 11, 13);
  const minute = digits(text, 14, 16);
  const second = digits(text, 17, 19);
  const fractionEnd = endOfFraction(text);
  const offset = offsetMinutes(text, fractionEnd);

  // NaN marks what is not a number and fails every comparison.
  const isDate = year >= 0 && month >= 1 && month <= 12 && day >= 1 && day <= daysIn(year, month);
  const isTime = hour <= 23 && minute <= 59 && second <= 60 && offset >= -1439 && offset <= 1439;
  if (!isDate || !isTime) return undefined;

  const whole = daysSinceEpoch(year, month, day) * dayMs + ((hour * 60 + minute - offset) * 60 + second) * 1000;
  if (second === 60 && whole % dayMs !== 0) return undefined;
  return fractionEnd === 19 ? whole : whole + Number(text.slice(19, fractionEnd)) * 1000;
}

function digits(text: string, start: number, end: number): number {
  let value = 0;
  for (let place = start; place < end; place += 1) {
    const digit = text.charCodeAt(place) - zero;
    if (!(digit >= 0 && digit <= 9)) return Number.NaN;
    value = value * 10 + digit;
  }
  return value;
}

/** The end of the fraction that begins at the 19th character; 19 when there is none. */
function endOfFraction(text: string): number {
  if (text[19] !== ".") return 19;
  let end = 20;
  while (digits(text, end, end + 1) >= 0) end += 1;
  return end === 20 ? 19 : end;
}

function offsetMinutes(text: string, start: number): number {
  const sign = text[start];
  if (sign === "Z" || sign === "z") return text.length === start + 1 ? 0 : Number.NaN;
  if ((sign !== "+" && sign !== "-") || text[start + 3] !== ":" || text.length !== start + 6) return Number.NaN;
  const hours = digits(text, start + 1, start + 3);
  const minutes = digits(text, start + 4, start + 6);
  if (!(hours <= 23 && minutes <= 59)) return Number.NaN;
  return (hours * 60 + minutes) * (sign === "-" ? -1 : 1);
}

function daysIn(year: number, month: number): number {
  if (month !== 2) return month === 4 || month === 6 || month === 9 || month === 11 ? 30 : 31;
  return year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0) ? 29 : 28;
}

function daysSinceEpoch(year: number, month: number, day: number): number {
  // Years are counted from March, so that the leap day is the last day of its year.
  const shifted = month > 2 ? year : year - 1;
  const era = Math.floor(shifted / 400);
  const yearOfEra = shifted - era * 400;
  const dayOfYear = Math.floor((153 * ((month + 9) % 12) + 2) / 5) + day - 1;
  return (
    era * 146_097 + yearOfEra * 365 + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100) + dayOfYear - 719_468
  );
}

let lastMillisecond = Number.NaN;
let lastTimestamp = "";

/** The time now as RFC 3339. */
export function currentTimestamp(): string {
  return timestampOf(Date.now());
}

/** An instant as RFC 3339. The last one is cached, because many things happen in one millisecond. */
export function timestampOf(milliseconds: number): string {
  if (milliseconds !== lastMillisecond) {
    lastTimestamp = new Date(milliseconds).toISOString();
    lastMillisecond = milliseconds;
  }
  return lastTimestamp;
}
