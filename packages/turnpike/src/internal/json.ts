import { ReturnOverride } from "./return-override.ts";

/** Any JSON value. */
export type JsonValue = string | number | boolean | null | JsonValue[] | JsonObject;

/** A JSON object. */
export type JsonObject = { [key: string]: JsonValue };

/** Why a value cannot be taken as JSON, and where. */
export interface JsonProblem {
  path: (string | number)[];
  expected: string;
}

/** A frozen copy of a value that is JSON, or what is wrong with it. */
export type JsonReading = { ok: true; value: JsonValue } | { ok: false; problem: JsonProblem };

const maxDepth = 64;
const maxNodes = 100_000;

/** The limits that every document has, and the words for one that exceeds them. */
export const jsonLimits: { depth: number; nodes: number; tooDeep: string; tooMany: string } = {
  depth: maxDepth,
  nodes: maxNodes,
  tooDeep: `expected at most ${maxDepth} levels of nesting`,
  tooMany: `expected at most ${maxNodes} values in the whole document`,
};

/** Marks the values that `readJson` made. No other code can set this mark. */
class ReadMark extends ReturnOverride {
  #mostBytes: number;

  constructor(copy: object, mostBytes: number) {
    super(copy);
    this.#mostBytes = mostBytes;
  }

  static put(copy: object, mostBytes: number): void {
    void new ReadMark(copy, mostBytes);
  }

  static isOn(value: object): boolean {
    return #mostBytes in value;
  }

  static mostBytes(value: object): number {
    return #mostBytes in value ? value.#mostBytes : Infinity;
  }
}

/** True for an object or array that `readJson` made: it is JSON, and frozen to its last leaf. */
export function isReadJson(value: object): boolean {
  return ReadMark.isOn(value);
}

/** An upper bound for the bytes of a value's JSON text, without reading the parts of the value; Infinity when unknown. */
export function mostBytesOf(value: JsonValue): number {
  if (typeof value === "string") return mostBytesOfText(value);
  return typeof value === "object" && value !== null ? ReadMark.mostBytes(value) : mostBytesOfScalar;
}

/** Two quotes, and six bytes for an escaped character. */
function mostBytesOfText(text: string): number {
  return text.length * 6 + 2;
}

/** The longest numbers have 24 characters. */
const mostBytesOfScalar = 24;

/** The state of one reading: how many values it may still read, the upper bound for its text so far, and what stopped it. */
interface Walk {
  left: number;
  mostBytes: number;
  problem: JsonProblem | undefined;
}

/**
 * Copies a value that is JSON. It reads each part once, so that a getter cannot return something else later. The limit of depth
 * ends the recursion, so that no document overflows the call stack.
 */
export function readJson(root: unknown): JsonReading {
  if (typeof root === "object" && root !== null && isReadJson(root)) return { ok: true, value: root as JsonValue };
  const walk: Walk = { left: maxNodes - 1, mostBytes: 0, problem: undefined };
  const value = read(root, 0, walk);
  return walk.problem === undefined ? { ok: true, value } : { ok: false, problem: walk.problem };
}

function read(value: unknown, depth: number, walk: Walk): JsonValue {
  if (typeof value === "string") {
    walk.mostBytes += mostBytesOfText(value);
    return value;
  }
  walk.mostBytes += mostBytesOfScalar;
  if (typeof value === "boolean" || value === null) return value;
  if (typeof value === "number") return Number.isFinite(value) ? value : stop(walk, "expected a finite number");
  if (typeof value !== "object") return stop(walk, "expected a JSON value");
  if (depth === maxDepth) return stop(walk, jsonLimits.tooDeep);
  return Array.isArray(value) ? readArray(value, depth, walk) : readObject(value, depth, walk);
}

function readArray(source: readonly unknown[], depth: number, walk: Walk): JsonValue {
  const { length } = source;
  walk.left -= length;
  // One comma for each element. The brackets are counted with the value.
  walk.mostBytes += length;
  if (walk.left < 0) return stop(walk, jsonLimits.tooMany);
  const copy: JsonValue[] = [];
  for (let place = 0; place < length; place += 1) {
    copy.push(read(source[place], depth + 1, walk));
    if (walk.problem !== undefined) return leave(walk, place);
  }
  if (depth === 0) ReadMark.put(copy, walk.mostBytes);
  return Object.freeze(copy) as JsonValue[];
}

function readObject(source: object, depth: number, walk: Walk): JsonValue {
  if (!isPlainObject(source)) return stop(walk, "expected a JSON value");
  const keys = Object.keys(source);
  walk.left -= keys.length;
  if (walk.left < 0) return stop(walk, jsonLimits.tooMany);
  const copy: JsonObject = {};
  for (const key of keys) {
    if (key === "__proto__") return stop(walk, "expected no __proto__ key");
    walk.mostBytes += mostBytesOfText(key) + 2;
    copy[key] = read((source as Record<string, unknown>)[key], depth + 1, walk);
    if (walk.problem !== undefined) return leave(walk, key);
  }
  if (depth === 0) ReadMark.put(copy, walk.mostBytes);
  return Object.freeze(copy);
}

function stop(walk: Walk, expected: string): null {
  walk.problem = { path: [], expected };
  return null;
}

/** Adds a step to the path of the problem on the way out. */
function leave(walk: Walk, step: string | number): null {
  walk.problem?.path.unshift(step);
  return null;
}

/** True for `{}` of any realm and for objects without a prototype; false for class instances. */
function isPlainObject(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null || Object.getPrototypeOf(prototype) === null;
}
