// Loaded into a host before its own code (`node --import`): writes down every statement that it runs, on either database.
import { appendFileSync } from "node:fs";
import { createRequire } from "node:module";

const file = process.env["BENCH_STATEMENTS"] ?? "";
const require = createRequire(`${process.cwd()}/`);

type Method = (this: object, ...args: unknown[]) => unknown;
type Methods = Record<string, Method | undefined>;

function record(sql: unknown): void {
  if (typeof sql === "string") appendFileSync(file, `${JSON.stringify(sql)}\n`);
}

/** Calls `before` with the arguments of a method whenever that is called. */
function watch(methods: Methods, name: string, before: (...args: unknown[]) => void): void {
  const original = methods[name];
  if (original === undefined) return;
  methods[name] = function (...args) {
    before(...args);
    return original.apply(this, args);
  };
}

const modules = process.env["BENCH_MODULES"] ?? "";
const libsql = require(`${modules}/libsql`) as { prototype: Methods };
const ofNode = process.getBuiltinModule("node:sqlite") as { DatabaseSync: { prototype: Methods } } | undefined;
const postgres = require(`${modules}/pg`) as { Client: { prototype: Methods } };

// The host takes one of the two.
for (const { prototype } of [libsql, ...(ofNode === undefined ? [] : [ofNode.DatabaseSync])]) {
  watch(prototype, "exec", record);
  const { prepare } = prototype;
  prototype["prepare"] = function (sql, ...rest) {
    const statement = prepare?.call(this, sql, ...rest) as Methods;
    for (const name of ["run", "get", "all", "iterate"]) watch(statement, name, () => record(sql));
    return statement;
  };
}
watch(postgres.Client.prototype, "query", (query) =>
  record(typeof query === "object" ? (query as { text?: unknown } | null)?.text : query),
);
