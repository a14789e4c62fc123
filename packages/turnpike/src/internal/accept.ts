import type { z } from "zod";
import { describeIssues, describeProblem } from "./describe-issues.ts";
import { ReturnOverride } from "./return-override.ts";
import { isReadJson, readJson, type JsonObject, type JsonValue } from "./json.ts";

/** A value that fits its contract, or the one-line reason why it does not; `cause` is what reading it threw, if it did. */
export type Accepted<T> = { ok: true; value: T } | { ok: false; message: string; cause?: unknown };

/** Checks a value against its schema. What comes out is a frozen copy: the caller's own value stays the caller's. */
export function check<T>(schema: z.ZodType<T>, value: unknown): Accepted<T> {
  return read(schema, value, freeze);
}

/**
 * Checks a value that is used once and shown to nobody. What comes out is a copy that is not frozen, which saves most of the
 * cost; a value that was accepted before is its own copy.
 */
export function copyOf<T>(schema: z.ZodType<T>, value: unknown): Accepted<T> {
  return isAccepted(schema, value) ? { ok: true, value } : read(schema, value, leave);
}

function leave<T>(_schema: z.ZodType<T>, fresh: T): T {
  return fresh;
}

function freeze<T>(_schema: z.ZodType<T>, fresh: T): T {
  return deepFreeze(fresh);
}

/** A value that throws when it is looked at (a getter, a proxy) does not fit; what it throws is never told to a caller. */
function read<T>(schema: z.ZodType<T>, value: unknown, keep: (schema: z.ZodType<T>, fresh: T) => T): Accepted<T> {
  try {
    const parsed = schema.safeParse(value);
    if (parsed.success) return { ok: true, value: keep(schema, parsed.data) };
    return { ok: false, message: describeIssues(parsed.error.issues) };
  } catch (cause) {
    return { ok: false, message: "expected a value that can be read", cause };
  }
}

/** Like `check` against the schema of any JSON. */
export function checkJson(value: unknown): Accepted<JsonValue> {
  try {
    const reading = readJson(value);
    return reading.ok ? reading : { ok: false, message: describeProblem(reading.problem) };
  } catch (cause) {
    return { ok: false, message: "expected a value that can be read", cause };
  }
}

/** Like `check` against the schema of JSON objects. */
export function checkJsonObject(value: unknown): Accepted<JsonObject> {
  if (!isObject(value) || Array.isArray(value)) return { ok: false, message: "(root): expected object" };
  return checkJson(value) as Accepted<JsonObject>;
}

/** A mark that nobody can forge, copy or see: a private field on the accepted object itself. A tenth of a WeakMap's cost. */
class AcceptanceMark extends ReturnOverride {
  #schema: z.ZodType;

  constructor(value: object, schema: z.ZodType) {
    super(value);
    this.#schema = schema;
  }

  static put(value: object, schema: z.ZodType): void {
    void new AcceptanceMark(value, schema);
  }

  static schemaOf(value: object): z.ZodType | undefined {
    return #schema in value ? value.#schema : undefined;
  }
}

/**
 * Takes a value in at the boundary: checks it once, and knows it again further in.
 * INVARIANT: what is marked is frozen to its last leaf, so what was accepted stays true.
 */
export function accept<T>(schema: z.ZodType<T>, value: unknown): Accepted<T> {
  if (isAccepted(schema, value)) return { ok: true, value };
  return read(schema, value, remember);
}

function remember<T>(schema: z.ZodType<T>, fresh: T): T {
  // Marked first: engines may come to refuse new private fields on frozen objects.
  if (isObject(fresh)) AcceptanceMark.put(fresh, schema);
  return deepFreeze(fresh);
}

/** For a fresh object whose parts were all accepted, and so fits as it is: `accept` knows it from here on. */
export function markAccepted<T extends object>(schema: z.ZodType<T>, fresh: T): T {
  AcceptanceMark.put(fresh, schema);
  return Object.freeze(fresh);
}

const origins = new WeakMap<object, object>();

/** A frozen object of all that `origin` has and more. An accepted origin can be had back, which saves checking it again. */
export function extend<Origin extends object, More extends object>(origin: Origin, more: More): Origin & More {
  const extended = Object.freeze({ ...origin, ...more });
  if (AcceptanceMark.schemaOf(origin) !== undefined) origins.set(extended, origin);
  return extended;
}

/** The accepted value that `extend` made this one from; undefined when there is none. */
export function originOf(extended: object): object | undefined {
  return origins.get(extended);
}

/** True for what `accept` made with this schema, and for what was marked so. */
export function isAccepted<T>(schema: z.ZodType<T>, value: unknown): value is T {
  return isObject(value) && AcceptanceMark.schemaOf(value) === schema;
}

/** Freezes a JSON-like value to its last leaf. The value must not be cyclic. */
export function deepFreeze<T>(value: T): T {
  // JSON that was read is frozen throughout; walking it again would cost as much as reading it.
  if (!isObject(value) || isReadJson(value)) return value;
  Object.freeze(value);
  for (const key in value) {
    const part = value[key];
    if (isObject(part)) deepFreeze(part);
  }
  return value;
}

function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}
