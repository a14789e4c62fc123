import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { repository } from "../support/repository.ts";

const document = readFileSync(join(repository, "docs/security/model.md"), "utf8");
const threats = document
  .slice(document.indexOf("\n## Threats"), document.indexOf("\n## What is not stopped"))
  .split("\n")
  .filter((line) => line.startsWith("| ") && !line.startsWith("| Threat") && !line.startsWith("| ---"))
  .map((line) => ({
    threat: (line.split("|")[1] ?? "").trim(),
    tests: [...line.matchAll(/`([^`]+\.test\.[jt]s)`: "([^"]+)"/g)],
  }));

test("every threat is described", () => {
  expect(threats.length).toBeGreaterThan(30);
});

test.each(threats)("there is the test that shows what stops this: $threat", ({ tests }) => {
  expect(tests).not.toEqual([]);
  const missing = tests.filter(([, file = "", name = ""]) => !hasTest(file, name));
  expect(missing.map(([reference]) => reference)).toEqual([]);
});

test("a test that was renamed, or whose file is gone, is missed", () => {
  expect(hasTest("tests/docs/security-docs.test.ts", "every threat is described")).toBe(true);
  expect(hasTest("tests/docs/security-docs.test.ts", "every threat was described")).toBe(false);
  expect(hasTest("tests/security.test.ts", "every threat is described")).toBe(false);
});

/** Whether the name of a test or of a group in the file begins like this; what a row of cases adds to it may follow. */
function hasTest(file: string, name: string): boolean {
  const path = join(repository, file);
  if (!existsSync(path)) return false;
  const text = readFileSync(path, "utf8");
  return ["test(", "describe(", ")("].some((start) =>
    ['"', "`"].some((quote) => text.includes(`${start}${quote}${name}`)),
  );
}
