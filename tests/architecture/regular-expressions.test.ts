import { expect, test } from "vitest";
import { readAllSources } from "../support/code-literals.ts";
import { slowExpressions } from "../support/regular-expressions.ts";
import { repository } from "../support/repository.ts";

/** Files with expressions that are put together, which nothing can judge, each with the reason why it may stay. */
const excused = new Map(
  Object.entries({
    "packages/host/src/cli/table.ts": "runs of one class of characters, with nothing behind them",
    "packages/host/src/cli/format.ts": "one character of a class",
    "packages/host/src/shared/text.ts":
      "runs of a class, with nothing behind them; each reads at most two characters around",
    "packages/host/src/shared/plain-name.ts": "one character of a class",
    "packages/host/src/mcp-servers/line-reader.ts": "it reads the two ends of a line, 1,024 bytes in all",
  }).map(([file, reason]) => [`${file}: an expression that is put together cannot be judged`, reason]),
);

test("every regular expression of the sources takes linear time, whatever text it meets", { timeout: 90_000 }, () => {
  const slow = slowExpressions(readAllSources(repository));
  expect(slow.filter((problem) => !excused.has(problem))).toEqual([]);
});

for (const { name, expression, verdict } of [
  {
    name: "a class that takes a backslash alone and with what it escapes",
    expression: String.raw`/\[\^?\]?(?:\[:[^\]]*:\]|\\[^]|[^\]])*\]|[^]/gu`,
    verdict: "exponential",
  },
  { name: "a repetition of a repetition", expression: "/^(a+)+$/", verdict: "exponential" },
  { name: "a repetition of what may be empty", expression: "/(a*)*b/", verdict: "exponential" },
  { name: "a repetition of two that overlap", expression: "/^(?:a|ab?|b)*$/", verdict: "exponential" },
  { name: "a high count of a repetition", expression: "/^(?:a+){1,99}$/", verdict: "exponential" },
  { name: "a lookahead that repeats a repetition", expression: "/^(?=(a+)+$)/", verdict: "exponential" },
  { name: "slashes at the end, searched from everywhere", expression: String.raw`/\/+$/`, verdict: "quadratic" },
  { name: "two repetitions side by side", expression: String.raw`/^\s*\w*\s*\s*$/`, verdict: "quadratic" },
  { name: "a name in front of a sign", expression: String.raw`/\w+:\/\//`, verdict: "quadratic" },
  { name: "slashes at the end, read from a fixed place", expression: String.raw`/\/+$/y`, verdict: undefined },
  { name: "a repetition with nothing behind it", expression: String.raw`/\s+/g`, verdict: undefined },
  { name: "repetitions with something between", expression: String.raw`/^\w+=\d+$/`, verdict: undefined },
  { name: "choices that begin differently", expression: String.raw`/"(?:[^"\\]|\\.)*"/y`, verdict: undefined },
  { name: "a count", expression: "/^tp_([0-9a-f]{16})_([0-9a-f]{64})$/", verdict: undefined },
  { name: "what lies ahead", expression: String.raw`/^(?!\.{1,2}$)[^/\\]*$/`, verdict: undefined },
]) {
  test(`${name} is ${verdict ?? "linear"}: ${expression}`, () => {
    const problems = slowExpressions([{ file: "a.ts", text: `export const a = ${expression};` }]);
    expect(problems.map((problem) => problem.split(" ").at(-1))).toEqual(verdict === undefined ? [] : [verdict]);
  });
}

test("an expression that is put together from texts cannot be judged, and one that refers back cannot either", () => {
  const problems = slowExpressions([{ file: "a.ts", text: "new RegExp(text); RegExp(text, 'g');" }]);
  expect(problems).toHaveLength(2);
  expect(() => slowExpressions([{ file: "a.ts", text: String.raw`/(a)\1/` }])).toThrow("cannot be judged");
});
