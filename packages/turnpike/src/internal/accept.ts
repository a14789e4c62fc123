import type { z } from "zod";
import { describeIssues, describeProblem } from "./describe-issues.ts";
import { ReturnOverride } from "./return-override.ts";
import { isReadJson, readJson, type JsonObject, type JsonValue } from "./json.ts";

/** A value that fits its contract, or the reason why it does not, in one line. `cause` is the error that reading the value threw. */
export type Accepted<T> = { ok: true; value: T } | { ok: false; message: string; cause?: unknown };

/** Checks a value against its schema. Returns a frozen copy, and does not change the caller's value. */
export function check<T>(schema: z.ZodType<T>, value: unknown): Accepted<T> {
  return read(schema, value, freeze);
}

/**
 * Checks a value that is used once and passed to no other code. Returns a copy that is not frozen, which saves most of the cost. A
 * value that was accepted before is returned itself.
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

/** A value that throws when it is read (a getter, a proxy) does not fit; callers never see what it throws. */
function read<T>(schema: z.ZodType<T>, value: unknown, finish: (schema: z.ZodType<T>, fresh: T) => T): Accepted<T> {
  try {
    const parsed = schema.safeParse(value);
    if (parsed.success) return { ok: true, value: finish(schema, parsed.data) };
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

/** A mark that other code cannot forge, copy or see: a private field on the accepted object itself. A tenth of a WeakMap's cost. */
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
 * Accepts a value at the boundary: checks it once and marks it, so that it is not checked again further in.
 * INVARIANT: a marked value is deeply frozen, so that it still fits later.
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

/** Marks a new object as accepted. Only for objects whose parts were all accepted, so that the whole fits too. */
export function markAccepted<T extends object>(schema: z.ZodType<T>, fresh: T): T {
  AcceptanceMark.put(fresh, schema);
  return Object.freeze(fresh);
}

const origins = new WeakMap<object, object>();

/** A frozen object with the fields of `origin` and further ones. `originOf` returns an accepted origin, which then needs no second check. */
export function extend<Origin extends object, More extends object>(origin: Origin, more: More): Origin & More {
  const extended = Object.freeze({ ...origin, ...more });
  if (AcceptanceMark.schemaOf(origin) !== undefined) origins.set(extended, origin);
  return extended;
}

/** The accepted value that `extend` made this one from; undefined when there is none. */
export function originOf(extended: object): object | undefined {
  return origins.get(extended);
}

/** True for a value that `accept` made with this schema, or that was marked for it. */
export function isAccepted<T>(schema: z.ZodType<T>, value: unknown): value is T {
  return isObject(value) && AcceptanceMark.schemaOf(value) === schema;
}

/** Freezes a JSON-like value deeply. The value must not be cyclic. */
export function deepFreeze<T>(value: T): T {
  // JSON that `readJson` made is deeply frozen already. To walk it again would cost as much as to read it.
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
