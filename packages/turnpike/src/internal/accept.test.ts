import fc from "fast-check";
import { expect, test, vi } from "vitest";
import { z } from "zod";
import { messageEnvelope, toolCall } from "../../test/valid-objects.ts";
import { JsonObjectSchema, JsonValueSchema, MessageEnvelopeSchema, ToolCallSchema } from "../contracts/index.ts";
import {
  accept,
  check,
  checkJson,
  checkJsonObject,
  deepFreeze,
  extend,
  isAccepted,
  markAccepted,
  originOf,
} from "./accept.ts";

/** A schema that counts how often it is asked. */
function countingSchema() {
  const counted = vi.fn<(value: string) => boolean>((value) => value !== "");
  return { schema: z.strictObject({ name: z.string().refine(counted) }), counted };
}

function acceptedValue<T>(schema: z.ZodType<T>, value: unknown): T {
  const accepted = accept(schema, value);
  if (!accepted.ok) throw new Error(accepted.message);
  return accepted.value;
}

function isFrozenThroughout(value: unknown): boolean {
  return (
    Object.isFrozen(value) && (Object(value) !== value || Object.values(value as object).every(isFrozenThroughout))
  );
}

for (const { name, payload } of [
  { name: "a value without parts", payload: "hello" },
  { name: "a value with parts", payload: { list: [{ deep: [1] }], nothing: null } },
  {
    name: "a value with a part that is frozen already, but not below",
    payload: Object.freeze({ list: [{ deep: [1] }] }),
  },
]) {
  test(`${name} is frozen to its last leaf once it is accepted`, () => {
    const envelope = acceptedValue(MessageEnvelopeSchema, { ...structuredClone(messageEnvelope), payload });
    expect(envelope).toEqual({ ...messageEnvelope, payload });
    expect(isFrozenThroughout(envelope)).toBe(true);
  });
}

test("a part that answers anew each time is asked once", () => {
  const moody = {
    get path() {
      return Math.random();
    },
  };
  const call = acceptedValue(ToolCallSchema, { ...toolCall, arguments: moody });
  expect(call.arguments["path"]).toBe(call.arguments["path"]);
});

test("an object that was accepted is the very same when it comes again, and is not parsed again", () => {
  const { schema, counted } = countingSchema();
  const first = acceptedValue(schema, { name: "a" });
  expect(acceptedValue(schema, first)).toBe(first);
  expect(counted).toHaveBeenCalledTimes(1);
});

test("an object that only equals an accepted one is parsed", () => {
  const { schema, counted } = countingSchema();
  const first = acceptedValue(schema, { name: "a" });
  expect(acceptedValue(schema, { name: "a" })).not.toBe(first);
  expect(counted).toHaveBeenCalledTimes(2);
});

test("an object that was only checked is frozen, but parsed when it comes again", () => {
  const { schema, counted } = countingSchema();
  const checked = check(schema, { name: "a" });
  expect(checked).toEqual({ ok: true, value: { name: "a" } });
  expect(checked.ok && Object.isFrozen(checked.value)).toBe(true);
  acceptedValue(schema, checked.ok && checked.value);
  expect(counted).toHaveBeenCalledTimes(2);
});

test("an object that one schema accepted is parsed by another", () => {
  const one = countingSchema();
  const other = countingSchema();
  acceptedValue(other.schema, acceptedValue(one.schema, { name: "a" }));
  expect(other.counted).toHaveBeenCalledTimes(1);
});

test("an object that one schema accepted can be refused by another", () => {
  const call = acceptedValue(ToolCallSchema, structuredClone(toolCall));
  expect(accept(MessageEnvelopeSchema, call).ok).toBe(false);
});

test("a refused object is refused again", () => {
  const { schema, counted } = countingSchema();
  const empty = { name: "" };
  accept(schema, empty);
  counted.mockClear();
  expect(accept(schema, empty).ok).toBe(false);
  expect(counted).toHaveBeenCalled();
});

test("a refusal says in one line where and what was expected", () => {
  expect(accept(ToolCallSchema, { ...toolCall, id: 7, extra: "x" })).toEqual({
    ok: false,
    message: "/id: expected string; /extra: expected no such key",
  });
});

test("the caller's own object stays the caller's to change", () => {
  const mine = structuredClone(toolCall);
  const call = acceptedValue(ToolCallSchema, mine);
  mine.id = "changed";
  expect(call.id).toBe("call-1");
});

test("the JSON inside the caller's object stays the caller's too", () => {
  const mine = structuredClone(toolCall);
  const call = acceptedValue(ToolCallSchema, mine);
  expect(call.arguments).toEqual(mine.arguments);
  expect(Object.isFrozen(call.arguments)).toBe(true);
  expect(Object.isFrozen(mine.arguments)).toBe(false);
});

test("a bare JSON value of 64 levels is frozen to its last leaf", () => {
  let value: unknown = [];
  for (let level = 1; level < 64; level += 1) value = { in: value };
  expect(isFrozenThroughout(acceptedValue(JsonObjectSchema, value))).toBe(true);
});

for (const value of ["text", 1, true, null, undefined]) {
  test(`freezing ${String(value)} gives it back`, () => {
    expect(deepFreeze(value)).toBe(value);
  });
}

const trap = (): never => {
  throw new Error("a secret of its author");
};
for (const { name, value } of [
  {
    name: "a getter that throws",
    value: Object.defineProperty({ ...toolCall }, "arguments", { get: trap, enumerable: true }),
  },
  { name: "a proxy that throws", value: new Proxy({}, { get: trap, getPrototypeOf: trap, ownKeys: trap, has: trap }) },
  {
    name: "a part that throws",
    value: { ...toolCall, arguments: { deep: new Proxy([], { get: trap, getPrototypeOf: trap }) } },
  },
]) {
  test(`${name} is a value that does not fit, and its words stay inside`, () => {
    for (const taking of [accept, check]) {
      expect(taking(ToolCallSchema, value)).toStrictEqual({
        ok: false,
        message: "expected a value that can be read",
        cause: new Error("a secret of its author"),
      });
    }
  });
}

test("a value that is no object is accepted as it is, each time anew", () => {
  const text = z.string().min(2);
  for (const accepted of [accept(text, "ab"), accept(text, "ab")]) expect(accepted).toEqual({ ok: true, value: "ab" });
  expect(accept(text, "a")).toMatchObject({ ok: false });
});

test("an object made of accepted parts is known without being parsed", () => {
  const { schema, counted } = countingSchema();
  const { name } = acceptedValue(schema, { name: "a" });
  const made = markAccepted(schema, { name });
  expect(acceptedValue(schema, made)).toBe(made);
  expect(isAccepted(schema, made) && Object.isFrozen(made)).toBe(true);
  expect(counted).toHaveBeenCalledTimes(1);
});

test("an accepted object can be had back from what it was extended to, which cannot be changed", () => {
  const { schema } = countingSchema();
  const origin = acceptedValue(schema, { name: "a" });
  const extended = extend(origin, { more: 1 });
  expect(extended).toStrictEqual({ name: "a", more: 1 });
  expect(originOf(extended)).toBe(origin);
  expect(Object.isFrozen(extended)).toBe(true);
  expect(isAccepted(schema, extended)).toBe(false);
});

test("an object that was not accepted cannot be had back, and neither can one behind a copy of the extended one", () => {
  const { schema } = countingSchema();
  expect(originOf(extend({ name: "a" }, { more: 1 }))).toBeUndefined();
  expect(originOf({ ...extend(acceptedValue(schema, { name: "a" }), { more: 1 }) })).toBeUndefined();
});

test("JSON is taken or refused without its schema as with it, in the same words", () => {
  const unread = (): never => {
    throw new Error("not to be read");
  };
  const unreadable = Object.defineProperty({}, "a", { enumerable: true, get: unread });
  const odd = fc.constantFrom<unknown>(undefined, Number.NaN, new Date(0), JSON.parse('{"__proto__":1}'), unreadable);
  const values = fc.oneof(
    fc.jsonValue({ maxDepth: 3 }),
    odd,
    fc.array(odd, { maxLength: 2 }),
    fc.dictionary(fc.string(), odd),
  );
  fc.assert(
    fc.property(values, (value) => {
      expect(checkJson(value)).toStrictEqual(check(JsonValueSchema, value));
      expect(checkJsonObject(value)).toStrictEqual(check(JsonObjectSchema, value));
    }),
  );
});
