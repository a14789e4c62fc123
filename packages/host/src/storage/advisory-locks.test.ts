import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { advisoryLocks } from "./advisory-locks.ts";

test("each advisory lock has a number of its own", () => {
  const numbers = Object.values(advisoryLocks);
  expect(new Set(numbers).size).toBe(numbers.length);
});

test("no statement names the number of an advisory lock, but the one of a migration", () => {
  const source = join(import.meta.dirname, "..");
  const files = readdirSync(source, { recursive: true, encoding: "utf8" }).filter((name) =>
    /(?<!\.test)\.ts$/.test(name),
  );
  const named = files.flatMap(
    (name) => readFileSync(join(source, name), "utf8").match(/advisory_\w*lock\w*\(\d+/g) ?? [],
  );
  expect(named).toEqual([`advisory_xact_lock(${advisoryLocks.openTurns}`]);
});
