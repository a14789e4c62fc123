import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { exampleProblems, readFunctions } from "../support/library-examples.ts";
import { repository } from "../support/repository.ts";

const source = join(repository, "packages/turnpike/src");
const functions = readdirSync(source)
  .filter((room) => room !== "internal" && existsSync(join(source, room, "index.ts")))
  .flatMap((room) => readFunctions(room, join(source, room, "index.ts")));

test("every public function of the library has a sentence, and an example of two to eight lines", () => {
  const lacking = functions.flatMap(({ name, place, sentence, example }) => {
    const lines = example?.split("\n").length ?? 0;
    const problems = [
      ...(/[.?!]\s|[.?!]$/.test(sentence) ? [] : ["no sentence"]),
      ...(lines >= 2 && lines <= 8 ? [] : [`an example of ${lines} lines`]),
    ];
    return problems.map((problem) => `${place}: ${name} has ${problem}`);
  });
  expect(lacking).toEqual([]);
  expect(functions.length).toBeGreaterThan(60);
});

test("every example type-checks, and prints what it says", { timeout: 300_000 }, () => {
  expect(exampleProblems(functions)).toEqual([]);
});

test("an example that does not type-check, prints something else, throws or shows nothing is a problem", () => {
  const of = (example: string) => ({ name: "it", place: "it.ts:1", sentence: "It.", example });
  expect(exampleProblems([of("const one: string = 1;\nconsole.log(one); // 1")])).toEqual([
    "it(2,7): error TS2322: Type 'number' is not assignable to type 'string'.",
  ]);
  const ones = ["console.log(1); // 2", "console.log(1); // 1", 'throw new Error("no"); // 1', "// nothing"];
  expect(exampleProblems(ones.map(of))).toEqual([
    "it: prints\n1\ninstead of\n2",
    "it: shows no result",
    "it: shows no result",
  ]);
});
