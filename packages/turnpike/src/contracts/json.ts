import { z } from "zod";

/** Any value that JSON can say. */
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

interface Frame {
  source: Record<string | number, unknown>;
  copy: JsonValue[] | JsonObject;
  /** The keys of an object; undefined for an array. */
  keys: string[] | undefined;
  length: number;
  next: number;
}

/**
 * Copies JSON that means what it says; each part is read once, so that no getter can answer differently later.
 * Walks with a stack of its own, never deeper than the limit, so no document can overflow the call stack.
 */
export function readJson(root: unknown): JsonReading {
  const frames: Frame[] = [];
  let result: JsonValue = null;
  let value = root;
  for (;;) {
    const expected = problemWith(value, frames.length);
    if (expected !== undefined) return { ok: false, problem: { path: frames.map(currentKey), expected } };
    const parent = frames.at(-1);
    const opened = typeof value === "object" && value !== null ? openFrame(value) : undefined;
    const copy = opened === undefined ? (value as JsonValue) : opened.copy;
    if (parent === undefined) result = copy;
    else (parent.copy as JsonObject)[currentKey(parent)] = copy;
    if (opened !== undefined) frames.push(opened);

    let frame = frames.at(-1);
    while (frame !== undefined && frame.next === frame.length) {
      Object.freeze(frame.copy);
      frames.pop();
      frame = frames.at(-1);
    }
    if (frame === undefined) return { ok: true, value: result };
    frame.next += 1;
    value = frame.source[currentKey(frame)];
  }
}

function openFrame(node: object): Frame {
  const source = node as Frame["source"];
  if (Array.isArray(node)) return { source, copy: [], keys: undefined, length: node.length, next: 0 };
  const keys = Object.keys(node);
  return { source, copy: {}, keys, length: keys.length, next: 0 };
}

function currentKey(frame: Frame): string | number {
  return frame.keys?.[frame.next - 1] ?? frame.next - 1;
}

function problemWith(value: unknown, depth: number): string | undefined {
  if (typeof value === "number") return Number.isFinite(value) ? undefined : "expected a finite number";
  if (value === null || typeof value === "string" || typeof value === "boolean") return undefined;
  if (typeof value !== "object") return "expected a JSON value";
  if (depth === maxDepth) return `expected at most ${maxDepth} levels of nesting`;
  if (Array.isArray(value)) return undefined;
  if (!isPlainObject(value)) return "expected a JSON value";
  return Object.hasOwn(value, "__proto__") ? "expected no __proto__ key" : undefined;
}

/** True for `{}` of any realm and for objects without a prototype; false for class instances. */
function isPlainObject(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}

export const JsonValueSchema = z.unknown().check(takeJson) as unknown as z.ZodType<JsonValue, JsonValue>;

export const JsonObjectSchema = z
  .unknown()
  .check((payload) => {
    const { value } = payload;
    if (typeof value === "object" && value !== null && !Array.isArray(value)) takeJson(payload);
    else payload.issues.push({ code: "custom", message: "expected object", path: [], input: value });
  })
  .meta({ type: "object" }) as unknown as z.ZodType<JsonObject, JsonObject>;

function takeJson(payload: z.core.ParsePayload): void {
  const reading = readJson(payload.value);
  if (reading.ok) payload.value = reading.value;
  else
    payload.issues.push({
      code: "custom",
      message: reading.problem.expected,
      path: reading.problem.path,
      input: payload.value,
    });
}
