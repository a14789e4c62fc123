import type { Random } from "./random.ts";

/** How a body was made. */
export type BodyKind = "mutated" | "damaged" | "noise";

type Json = string | number | boolean | null | Json[] | { [key: string]: Json };

const keys = [
  "context",
  "tools",
  "grants",
  "__proto__",
  "constructor",
  "toString",
  "a/b~c",
  "",
  "version",
  "metadata",
] as const;
const words = [
  "",
  " ",
  "\u0000",
  "..",
  "a/b",
  "\ud800",
  "🚪",
  "alice",
  "files",
  "notes",
  "read",
  "*",
  "agent",
  "1",
] as const;
const numbers = [0, 1, -1, 1.5, 1e308, -0, 2 ** 53, 600_000] as const;
const tokens = [
  '"__proto__":{"polluted":1},',
  "1e999",
  "\\ud800",
  "\\u0000",
  ",",
  "{",
  "}",
  "[",
  "]",
  '"',
  ":",
  "null",
] as const;

const encoder = new TextEncoder();
const written = tokens.map((token) => encoder.encode(token));

/** A body for a route: a valid one with some values changed, its text with some bytes changed, or bytes of no meaning. */
export function randomBody(random: Random, valid: object): { kind: BodyKind; bytes: Uint8Array<ArrayBuffer> } {
  const share = random.below(100);
  if (share >= 90) return { kind: "noise", bytes: noise(random) };
  let document = valid as Json;
  if (share >= 65) return { kind: "damaged", bytes: damaged(random, encoder.encode(JSON.stringify(document))) };
  for (let count = random.below(4); count >= 0; count -= 1) document = mutated(random, document);
  return { kind: "mutated", bytes: encoder.encode(JSON.stringify(document)) };
}

/** The value with one place in it changed. */
function mutated(random: Random, value: Json): Json {
  if (typeof value !== "object" || value === null || random.chance(0.1))
    return random.chance(0.3) ? value : anything(random, 3);
  if (Array.isArray(value)) return mutatedList(random, value);
  const names = Object.keys(value);
  const name = random.pickFrom(names);
  if (name === undefined || random.chance(0.1)) return withKey(value, random.pick(keys), anything(random, 2));
  const part = value[name] ?? null;
  if (random.chance(0.1)) return Object.fromEntries(Object.entries(value).filter(([key]) => key !== name));
  if (typeof part === "string" && random.chance(0.4)) return withKey(value, name, mutatedText(random, part));
  return withKey(value, name, mutated(random, part));
}

function mutatedList(random: Random, list: readonly Json[]): Json[] {
  const place = random.below(list.length + 1);
  const rest = list.slice(place + (random.chance(0.5) ? 1 : 0));
  return [...list.slice(0, place), ...(random.chance(0.7) ? [anything(random, 2)] : []), ...rest];
}

function mutatedText(random: Random, text: string): string {
  const place = random.below(text.length + 1);
  return text.slice(0, place) + random.pick(words) + text.slice(place + random.below(3));
}

/** The object with one more key; also `__proto__` is one, as it is in JSON. */
function withKey(object: { [key: string]: Json }, key: string, value: Json): Json {
  const copy = { ...object };
  Object.defineProperty(copy, key, { value, enumerable: true, configurable: true, writable: true });
  return copy;
}

function anything(random: Random, depth: number): Json {
  const choice = random.below(depth > 0 ? 10 : 7);
  if (choice < 3) return random.pick(words);
  if (choice === 3) return random.pick(numbers);
  if (choice === 4) return random.pick([true, false, null]);
  if (choice === 5) return "x".repeat(random.pick([1, 128, 129, 256, 257, 512, 513]));
  if (choice === 6) return nested(random.pick([1, 2, 60, 61, 62, 63, 64, 65]), random.chance(0.5));
  if (choice === 7) return Array.from({ length: random.pick([0, 1, 2, 3, 65]) }, () => anything(random, 0));
  return withKey({}, random.pick(keys), anything(random, depth - 1));
}

function nested(levels: number, isList: boolean): Json {
  let value: Json = 1;
  for (let level = 0; level < levels; level += 1) value = isList ? [value] : { a: value };
  return value;
}

/** The bytes with one to four of them changed, left out or added to. */
function damaged(random: Random, bytes: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> {
  let result = bytes;
  for (let count = random.below(4); count >= 0; count -= 1) {
    const place = random.below(result.length + 1);
    const added = random.chance(0.4) ? undefined : random.pickFrom([...written, Uint8Array.of(random.below(256))]);
    const removed = random.chance(0.1) ? result.length : random.below(4);
    result = joined(result.subarray(0, place), added ?? new Uint8Array(), result.subarray(place + removed));
  }
  return result;
}

function joined(...parts: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const whole = new Uint8Array(parts.reduce((length, part) => length + part.length, 0));
  let place = 0;
  for (const part of parts) {
    whole.set(part, place);
    place += part.length;
  }
  return whole;
}

function noise(random: Random): Uint8Array<ArrayBuffer> {
  const isAscii = random.chance(0.5);
  return Uint8Array.from({ length: random.below(64) }, () => random.below(isAscii ? 128 : 256));
}
