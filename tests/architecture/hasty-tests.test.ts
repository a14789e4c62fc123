import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { hastyPlaces } from "../support/hasty-tests.ts";
import { repository } from "../support/repository.ts";

/** The tests below a folder. */
function testsIn(folder: string): string[] {
  return readdirSync(join(repository, folder), { recursive: true, encoding: "utf8" })
    .filter((name) => /\.test\.[jt]sx?$/.test(name) && !/node_modules|dist\//.test(name))
    .map((name) => `${folder}/${name}`);
}

test("no test waits for a second only, or reads of a page once what may still come", { timeout: 90_000 }, () => {
  const files = ["packages", "tests", "checks/browser", "checks/interop", "checks/examples", "checks/runtimes"];
  const sources = files.flatMap(testsIn).map((file) => ({ file, text: readFileSync(join(repository, file), "utf8") }));
  expect(sources.length).toBeGreaterThan(500);
  expect(hastyPlaces(sources)).toEqual([]);
});

const unpolled = "checks/browser/a.test.js: expect(await row…) reads once: use expect.poll";
for (const { name, file = "checks/browser/a.test.js", text, problems } of [
  { name: "a page that is read once", text: "expect(await row.textContent()).toBe('a');", problems: [unpolled] },
  { name: "one of several reads", text: "expect([1, await row.count()]).toEqual([1, 0]);", problems: [unpolled] },
  { name: "a page that is read until it is so", text: "await expect.poll(() => row.count()).toBe(0);", problems: [] },
  { name: "what axe finds", text: "expect({ found: await seriousFindings(page) }).toEqual({});", problems: [] },
  { name: "what was read before", text: "expect(text).toBe('a');", problems: [] },
  { name: "an answer elsewhere", file: "a.test.ts", text: "expect(await row.read()).toBe('a');", problems: [] },
  {
    name: "a wait of a second",
    file: "a.test.ts",
    text: "await vi.waitFor(() => check());",
    problems: ["a.test.ts: vi.waitFor does not say how long it waits: give it the patience of the tests"],
  },
  { name: "a wait with patience", file: "a.test.ts", text: "await vi.waitUntil(check, patience);", problems: [] },
]) {
  test(`${name} is ${problems.length === 0 ? "no problem" : "a problem"}`, () => {
    expect(hastyPlaces([{ file, text }])).toEqual(problems);
  });
}
