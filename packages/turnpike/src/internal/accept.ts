import type { z } from "zod";
import { describeIssues } from "./describe-issues.ts";
import { Given } from "./given.ts";
import { isReadJson } from "./json.ts";

/** A value that fits its contract, or the one-line reason why it does not; `cause` is what reading it threw, if it did. */
export type Accepted<T> = { ok: true; value: T } | { ok: false; message: string; cause?: unknown };

/** Checks a value against its schema. What comes out is a frozen copy: the caller's own value stays the caller's. */
export function check<T>(schema: z.ZodType<T>, value: unknown): Accepted<T> {
  return read(schema, value, freeze);
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

/** A mark that nobody can forge, copy or see: a private field on the accepted object itself. A tenth of a WeakMap's cost. */
class AcceptanceMark extends Given {
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
  if (isObject(value) && AcceptanceMark.schemaOf(value) === schema) return { ok: true, value: value as T };
  return read(schema, value, remember);
}

/** For fresh values made inside this room from accepted parts: marks and freezes them, so that `accept` knows them again. */
export function remember<T>(schema: z.ZodType<T>, fresh: T): T {
  // Marked first: engines may come to refuse new private fields on frozen objects.
  if (isObject(fresh)) AcceptanceMark.put(fresh, schema);
  return deepFreeze(fresh);
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
