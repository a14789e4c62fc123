import { expect, test } from "vitest";
import type { accept } from "../src/internal/index.ts";

/** One value for a contract: accepted and unchanged, or refused at precisely one place, named by its JSON pointer. */
export interface ContractRow {
  readonly name: string;
  readonly value: unknown;
  readonly refusedAt?: string;
}

type Schema = Parameters<typeof accept>[0];

/** One test per row. */
export function testContract(subject: string, schema: Schema, rows: readonly ContractRow[]): void {
  for (const { name, value, refusedAt } of rows) {
    if (refusedAt === undefined) {
      test(`${subject} ${name} is accepted as it is`, () => {
        expect(schema.parse(value)).toStrictEqual(value);
      });
    } else {
      test(`${subject} ${name} is refused`, () => {
        expect(offendingPlaces(schema, value)).toEqual([refusedAt]);
      });
    }
  }
}

/** Rows that hold for every strict object: complete, without each of its keys in turn, and with a key too many. */
export function shapeRows(
  complete: object,
  { required, optional = [] }: { required: readonly string[]; optional?: readonly string[] },
): ContractRow[] {
  expect(Object.keys(complete).toSorted()).toEqual([...required, ...optional].toSorted());
  return [
    { name: "with every key", value: complete },
    ...required.map((key) => ({ name: `without ${key}`, value: without(complete, key), refusedAt: `/${key}` })),
    ...optional.map((key) => ({ name: `without ${key}`, value: without(complete, key) })),
    { name: "with an unknown key", value: { ...complete, extra: 1 }, refusedAt: "/extra" },
    { name: "that is null", value: null, refusedAt: "" },
    { name: "that is a list", value: [complete], refusedAt: "" },
  ];
}

function without(complete: object, key: string): object {
  return Object.fromEntries(Object.entries(complete).filter(([name]) => name !== key));
}

function offendingPlaces(schema: Schema, value: unknown): string[] {
  const issues = schema.safeParse(value).error?.issues ?? [];
  const places = issues.flatMap((issue) => {
    const keys = issue.code === "unrecognized_keys" ? issue.keys.map((key) => [key]) : [[]];
    return keys.map((key) => ["", ...issue.path, ...key].join("/"));
  });
  return [...new Set(places)];
}
