import { jsonLimits, type JsonProblem } from "./json.ts";
import { endOfNumber, numberProblem } from "./json-numbers.ts";

/** The keys of smaller documents are not counted, because they are cheap. */
const smallText = 65_536;
const maxDifferentKeys = 10_000;
const tooManyKeys = `expected at most ${maxDifferentKeys} different keys in the whole document`;

/** How many bytes of a string are walked one by one, and how many bytes of a key are hashed. */
const stride = 128;

const decoder = new TextDecoder();

const [quote, backslash, comma, openArray, closeArray, openObject, closeObject] = [34, 92, 44, 91, 93, 123, 125];
const [minus, zero, nine] = [45, 48, 57];

/** The limits of a text. */
interface TextLimits {
  depth: number;
  nodes: number;
  keys: number;
}

const allLimits: TextLimits = { ...jsonLimits, keys: maxDifferentKeys };

/** For a text whose size was checked before, and of which only the numbers are checked. */
export const noLimits: TextLimits = { depth: Infinity, nodes: Infinity, keys: Infinity };

/** What is wrong with a text: it is too large or too deep, or it has a number that parsing would change. */
export interface JsonTextProblem extends JsonProblem {
  kind: "size" | "number";
}

/** The position of the walk in an open container: the element, or the bytes of the key. */
interface Level {
  isObject: boolean;
  place: number;
  keyStart: number;
  keyEnd: number;
}

/**
 * Finds what makes a document expensive, in its UTF-8 text and before anything is built from it: nesting, the number
 * of values and of different keys. `JSON.parse` alone would spend a tenth of a second on a megabyte of brackets. It also
 * finds numbers that `JSON.parse` would change, because only the text still has them.
 * It does not check whether the text is JSON. For any other text its result has no meaning.
 */
export function checkJsonText(text: Uint8Array, limits: TextLimits = allLimits): JsonTextProblem | undefined {
  const keys = text.length > smallText && limits.keys < Infinity ? new DifferentKeys(text) : undefined;
  const { nodes: maxNodes } = limits;
  const levels: Level[] = [];
  let level: Level | undefined;
  let nodes = 1;
  let isFirst = false;
  let isKeyNext = false;
  for (let at = 0; at < text.length; at += 1) {
    const byte = text[at] ?? 0;
    if (byte <= 32) continue;
    if (isFirst) {
      isFirst = false;
      if (byte !== closeArray && byte !== closeObject) nodes += 1;
    }
    if (byte === minus || (byte >= zero && byte <= nine)) {
      const end = endOfNumber(text, at);
      const expected = numberProblem(text, at, end);
      if (expected !== undefined) return { kind: "number", path: pathOf(text, levels), expected };
      at = end - 1;
      continue;
    }
    // Most other bytes are letters.
    if ((byte > comma && byte < openArray) || (byte > closeArray && byte < openObject)) continue;
    if (byte === quote) {
      const end = endOfString(text, at);
      if (isKeyNext && level !== undefined) {
        level.keyStart = at;
        level.keyEnd = end;
        if (keys !== undefined && keys.add(at, end) > limits.keys) return problem(text, levels, tooManyKeys);
      }
      isKeyNext = false;
      at = end - 1;
    } else if (byte === comma && level !== undefined) {
      nodes += 1;
      level.place += 1;
      isKeyNext = level.isObject;
    } else if (byte === openArray || byte === openObject) {
      if (levels.length === limits.depth) return problem(text, [...levels, level], jsonLimits.tooDeep);
      isFirst = true;
      isKeyNext = byte === openObject;
      level = { isObject: isKeyNext, place: 0, keyStart: at, keyEnd: at };
      levels.push(level);
    } else if (byte === closeArray || byte === closeObject) {
      levels.pop();
      level = levels.at(-1);
      isKeyNext = false;
    }
    if (nodes > maxNodes) return problem(text, levels, jsonLimits.tooMany);
  }
  return undefined;
}

/** The place after the quote that closes the string, or the end of the text. Long strings are searched natively. */
function endOfString(text: Uint8Array, start: number): number {
  let at = start + 1;
  while (at < text.length) {
    for (const near = Math.min(at + stride, text.length); at < near; at += 1) {
      if (text[at] === backslash) at += 1;
      else if (text[at] === quote) return at + 1;
    }
    const found = text.indexOf(quote, at);
    if (found === -1) break;
    let escapes = found;
    while (escapes > at && text[escapes - 1] === backslash) escapes -= 1;
    at = found + 1;
    if ((found - escapes) % 2 === 0) return at;
  }
  return text.length;
}

/** Counts the different keys of a text. Keys with the same hash are compared by their text, so that all are counted. */
class DifferentKeys {
  readonly #text: Uint8Array;
  /** Where the first key of each hash begins. */
  readonly #places = new Map<number, number>();
  /** Other keys with a known hash. They are rare unless an attacker makes them, or keys are very long and alike. */
  readonly #others = new Set<string>();

  constructor(text: Uint8Array) {
    this.#text = text;
  }

  /** Takes the key between two places, and returns how many different ones there are so far. */
  add(start: number, end: number): number {
    const hashed = hash(this.#text, start, end);
    const first = this.#places.get(hashed);
    if (first === undefined) this.#places.set(hashed, start);
    else if (!isSameText(this.#text, first, start, end))
      this.#others.add(decoder.decode(this.#text.subarray(start, end)));
    return this.#places.size + this.#others.size;
  }
}

let factor: number | undefined;

/** The factor is secret, so that a sender cannot make many short keys with the same hash. */
function hash(text: Uint8Array, start: number, end: number): number {
  factor ??= Math.floor(Math.random() * 2 ** 31) | 1;
  const secret = factor;
  const last = Math.min(end, start + stride);
  let sum = 1;
  for (let at = start; at < last; at += 1) sum = (Math.imul(sum, secret) + (text[at] ?? 0)) | 0;
  return sum;
}

/** Whether the string at `first` is the one from `start` to `end`, whose last byte is the quote that closes both. */
function isSameText(text: Uint8Array, first: number, start: number, end: number): boolean {
  for (let at = start, other = first; at < end; at += 1, other += 1) if (text[at] !== text[other]) return false;
  return true;
}

/** The problem with the innermost open container. Its path is made of the steps of the containers around it. */
function problem(text: Uint8Array, levels: readonly (Level | undefined)[], expected: string): JsonTextProblem {
  return { kind: "size", path: pathOf(text, levels.slice(0, -1)), expected };
}

function pathOf(text: Uint8Array, levels: readonly (Level | undefined)[]): (string | number)[] {
  return levels.flatMap((level) => (level === undefined ? [] : stepOf(text, level)));
}

function stepOf(text: Uint8Array, { isObject, place, keyStart, keyEnd }: Level): string | number {
  if (!isObject) return place;
  try {
    return String(JSON.parse(decoder.decode(text.subarray(keyStart, keyEnd))));
  } catch {
    return "";
  }
}
