import { truncateSync } from "node:fs";
import { expect, onTestFinished, test } from "vitest";
import { newLocation } from "../../../test/databases.ts";
import { SqliteFile } from "./sqlite-file.ts";
import { watchFile } from "./watch-file.ts";

async function world() {
  const path = await newLocation("sqlite");
  const file = new SqliteFile(path);
  file.pragma("journal_mode = wal");
  file.exec("create table notes (text)");
  let now = 0;
  const watch = watchFile(path, file, () => now);
  onTestFinished(() => {
    file.close();
    watch.close();
  });
  return { path, file, watch, pass: (ms: number) => (now += ms) };
}

test("a log that is cut short is noticed a second after the last look, and not before", async () => {
  const { path, watch, pass } = await world();
  truncateSync(`${path}-wal`, 0);
  pass(999);
  watch.check();
  pass(1);
  expect(() => watch.check()).toThrow(`${path} was cut short while this host had it open.`);
  expect(() => watch.check()).toThrow("was cut short");
});

test("a file that grows, and whose log is moved into it, is the same file", async () => {
  const { file, watch, pass } = await world();
  for (let round = 0; round < 3; round += 1) {
    file.exec(`insert into notes values ('${"x".repeat(100_000)}')`);
    file.pragma("wal_checkpoint(passive)");
    pass(1000);
    watch.check();
  }
  expect(file.prepare("select count(*) as n from notes").all()).toEqual([{ n: 3 }]);
});
