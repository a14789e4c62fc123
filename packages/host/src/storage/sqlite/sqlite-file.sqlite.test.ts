import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { expect, onTestFinished, test } from "vitest";
import { temporaryFolder } from "../../../test/databases.ts";
import { otherProcess } from "../../../test/other-process.ts";
import { isOutage } from "../outage.ts";
import { ChosenDriver } from "./choose-driver.ts";
import { SqliteFile } from "./sqlite-file.ts";

function open(path: string, options?: { timeoutMs: number }): SqliteFile {
  const file = new SqliteFile(path, options);
  onTestFinished(() => file.close());
  return file;
}

/** What an error says of itself. */
function codeOf(work: () => unknown): unknown {
  try {
    work();
  } catch (error) {
    return (error as { code?: unknown }).code;
  }
  return "nothing went wrong";
}

test("the driver is Node's own from 24.20 and 26.8 on", () => {
  const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
  const isNodes = (major === 24 && minor >= 20) || (major === 26 && minor >= 8) || major > 26;
  expect(ChosenDriver.name).toBe(isNodes ? "DatabaseSync" : "LibsqlDriver");
});

const pair = "create table pairs (one text primary key, other integer) strict";

test("statements know whether they answer with rows, and are run again with other values", () => {
  const file = open(":memory:");
  file.exec(pair);
  const add = file.prepare("insert into pairs values (?1, ?2)");
  const look = file.prepare("select one, other from pairs where one in (?1, ?2) or ?1 = ''");
  expect([add.reader, look.reader]).toEqual([false, true]);
  expect(add.run(["a", 1])).toMatchObject({ changes: 1 });
  expect(add.run(["b", null])).toMatchObject({ changes: 1 });
  expect(look.all(["b", "c"])).toEqual([{ one: "b", other: null }]);
  expect(look.all(["", ""])).toHaveLength(2);
  expect([...look.iterate(["a", "a"])]).toEqual([{ one: "a", other: 1 }]);
  expect(file.prepare("insert into pairs values ('c', 3) returning other").all()).toEqual([{ other: 3 }]);
});

test("a row may have an id that is no JavaScript number", () => {
  const file = open(":memory:");
  file.exec(pair);
  const add = file.prepare("insert into pairs (rowid, one) values (9007199254740993, 'a')");
  expect(add.run()).toMatchObject({ changes: 1 });
});

test.each([undefined, true])("a statement is not run with %s", (value) => {
  const echo = open(":memory:").prepare("select ? as it");
  expect(() => echo.all([value])).toThrow(TypeError);
  expect(() => echo.run([value])).toThrow(TypeError);
  expect(echo.all([null])).toEqual([{ it: null }]);
});

test("a statement that was prepared before a table changed has its new columns", () => {
  const file = open(":memory:");
  file.exec(pair);
  file.exec("insert into pairs values ('a', 1)");
  const look = file.prepare("select * from pairs");
  expect(look.all()).toEqual([{ one: "a", other: 1 }]);
  file.exec("alter table pairs add column more text not null default 'x'");
  expect(look.all()).toEqual([{ one: "a", other: 1, more: "x" }]);
});

test("it is known whether a transaction is open", () => {
  const file = open(":memory:");
  const states = ["begin", "rollback"].map((sql) => {
    file.exec(sql);
    return file.isInTransaction;
  });
  expect([...states, file.isInTransaction]).toEqual([true, false, false]);
});

test("what goes wrong has SQLite's name for it", () => {
  const folder = temporaryFolder();
  const path = join(folder, "pairs.db");
  const file = open(path);
  file.exec(pair);
  const add = file.prepare("insert into pairs values (?, ?)");
  add.run(["a", 1]);
  expect(codeOf(() => add.run(["a", 1]))).toMatch(/^SQLITE_CONSTRAINT/);
  expect(codeOf(() => file.exec("no sql"))).toBe("SQLITE_ERROR");
  expect(codeOf(() => file.prepare("select * from nothing"))).toBe("SQLITE_ERROR");
  const reader = open(`${pathToFileURL(path).href}?mode=ro`);
  expect(codeOf(() => reader.exec("delete from pairs"))).toBe("SQLITE_READONLY");
  file.exec("begin exclusive");
  expect(codeOf(() => reader.pragma("user_version"))).toBe("SQLITE_BUSY");
  expect(codeOf(() => reader.prepare("select 1 from pairs").all())).toBe("SQLITE_BUSY");
  file.exec("rollback");
  writeFileSync(join(folder, "text"), "This is a text, and no database at all. ".repeat(30));
  expect(codeOf(() => open(join(folder, "text")).pragma("user_version"))).toBe("SQLITE_NOTADB");
});

test("a file that is locked is waited for as long as was said", () => {
  const path = join(temporaryFolder(), "pairs.db");
  open(path).exec("begin exclusive");
  const other = open(path, { timeoutMs: 300 });
  const begun = performance.now();
  expect(codeOf(() => other.exec("begin immediate"))).toBe("SQLITE_BUSY");
  expect(performance.now() - begun).toBeGreaterThan(200);
});

test("what is asked of a file that was closed is refused as an outage", () => {
  const file = new SqliteFile(":memory:");
  file.close();
  let refusal: unknown;
  try {
    file.exec("select 1");
  } catch (error) {
    refusal = error;
  }
  expect(isOutage(refusal)).toBe(true);
});

test("a file that libsql wrote is used here, with what a killed process left in its log, and back again", async () => {
  const path = join(temporaryFolder(), "pairs.db");
  const withLibsql = (work: string) =>
    otherProcess(`
      const { default: Database } = await import("libsql");
      const file = new Database(${JSON.stringify(path)});
      ${work}
      setInterval(() => {}, 1000);`);
  const killed = await withLibsql(`
    for (const sql of ["pragma journal_mode = wal", ${JSON.stringify(pair)}, "insert into pairs values ('a', 1)"])
      file.exec(sql);
    console.log("written");`);
  await killed.kill();
  expect([killed.said, existsSync(`${path}-wal`)]).toEqual(["written", true]);
  const file = new SqliteFile(path);
  expect(file.prepare("select one, other from pairs").all()).toEqual([{ one: "a", other: 1 }]);
  file.exec("insert into pairs values ('b', 2)");
  file.close();
  const back = await withLibsql(`console.log(JSON.stringify(file.prepare("select one from pairs").all()));`);
  expect(back.said).toBe('[{"one":"a"},{"one":"b"}]');
});
