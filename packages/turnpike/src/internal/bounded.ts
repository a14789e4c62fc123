import { z } from "zod";
import { fittingParts, setFittingScalars, unsure } from "./fitting-copy.ts";

/** How many unknown keys an object may have before the rest of it is not read. */
const spareKeys = 8;
/** How many problems end the check of an array. A refusal names only three places. */
const enoughProblems = 8;
/** How many unknown keys are named when there are too many. */
const namedKeys = 3;

/**
 * An array whose length is checked before its elements, and whose elements are checked until enough of them are wrong. So the
 * contract, and not the value, limits the cost of a hostile value.
 */
export function boundedArray<Element extends z.ZodType>(
  element: Element,
  { min, max }: { min?: number; max: number },
): z.ZodArray<Element> {
  const array = new BoundedArray({ type: "array", element, max }) as unknown as z.ZodArray<Element>;
  return min === undefined ? array.max(max) : array.min(min).max(max);
}

interface BoundedArrayDef extends z.core.$ZodArrayDef {
  max: number;
}

const BoundedArray = z.core.$constructor<z.ZodArray, BoundedArrayDef>("BoundedArray", (inst, def) => {
  z.ZodArray.init(inst, def);
  const refuse = inst._zod.parse;
  inst._zod.parse = fastFirst(inst, (payload, context) => {
    const input = payload.value;
    if (!Array.isArray(input) || input.length > def.max) return refuse(payload, context);
    const output: unknown[] = [];
    let problems = 0;
    for (let place = 0; place < input.length && problems < enoughProblems; place += 1) {
      const { value, issues } = runNow(def.element, input[place], context);
      output.push(value);
      if (issues.length === 0) continue;
      payload.issues.push(...z.core.util.prefixIssues(place, issues));
      // A reader that tolerates keys it does not know has to see every other problem.
      problems += issues.filter(({ code }) => code !== "unrecognized_keys").length;
    }
    payload.value = output;
    return payload;
  });
});

function runNow(schema: z.core.$ZodType, value: unknown, context: z.core.ParseContextInternal): z.core.ParsePayload {
  const result = schema._zod.run({ value, issues: [] }, context);
  if (result instanceof Promise) throw new z.core.$ZodAsyncError();
  return result;
}

/** An object with exactly these keys. One with many more is refused for their number, and not key by key. */
export function strictObject<Shape extends z.core.$ZodLooseShape>(shape: Shape): z.ZodObject<Shape, z.core.$strict> {
  const object: unknown = new StrictObject({ type: "object", shape, catchall: z.never() });
  return object as z.ZodObject<Shape, z.core.$strict>;
}

const StrictObject = z.core.$constructor<z.ZodObject>("StrictObject", (inst, def) => {
  z.ZodObject.init(inst, def);
  const parse = inst._zod.parse;
  let maxKeys: number | undefined;
  inst._zod.parse = fastFirst(inst, (payload, context) => {
    maxKeys ??= Object.keys(def.shape).length + spareKeys;
    const issues = issuesWithKeys(payload.value, maxKeys, def.shape);
    if (issues === undefined) return parse(payload, context);
    payload.issues.push(...issues);
    return payload;
  });
});

type Parse = (
  payload: z.core.ParsePayload,
  context: z.core.ParseContextInternal,
) => z.core.util.MaybeAsync<z.core.ParsePayload>;

/** Copies a value that certainly fits. For any other value the schema's own parser says what is wrong. */
function fastFirst(schema: z.core.$ZodType, parse: Parse): Parse {
  return (payload, context) => {
    const copy = fittingParts(schema, payload.value);
    if (copy === unsure) return parse(payload, context);
    payload.value = copy;
    return payload;
  };
}

function issuesWithKeys(input: unknown, maximum: number, shape: object): z.core.$ZodRawIssue[] | undefined {
  if (typeof input !== "object" || input === null || Array.isArray(input)) return undefined;
  let count = 0;
  for (const key in input) {
    if (key === "__proto__") return [{ code: "custom", message: "expected no __proto__ key", input }];
    count += 1;
    if (count > maximum) {
      return [
        { code: "too_big", origin: "object", maximum, inclusive: true, input },
        { code: "unrecognized_keys", keys: firstUnknown(input, shape), input: input as Record<string, unknown> },
      ];
    }
  }
  return undefined;
}

function firstUnknown(input: object, shape: object): string[] {
  const keys: string[] = [];
  for (const key in input) {
    if (!Object.hasOwn(shape, key)) keys.push(key);
    if (keys.length === namedKeys) break;
  }
  return keys;
}

/** Lets a schema accept at once a value that certainly fits. For any other value the schema reports its own problems. */
export function withFastPath<Schema extends z.ZodType>(schema: Schema, fits: (value: unknown) => boolean): Schema {
  const run = schema._zod.run;
  schema._zod.run = (payload, context) => (fits(payload.value) ? payload : run(payload, context));
  setFittingScalars(schema, fits);
  return schema;
}
