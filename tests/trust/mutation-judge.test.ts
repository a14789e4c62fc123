import { expect, test } from "vitest";

interface Judge {
  judge(report: unknown, files: string[], reasons: unknown[]): string[];
  summaryOf(report: unknown, files: string[]): string;
}

const { judge, summaryOf } = (await import(new URL("../../checks/mutation/judge.js", import.meta.url).href)) as Judge;

const file = "packages/turnpike/src/kernel/active.ts";
const source = "function isLive(now, end) {\n  return now <\n    end;\n}\n";
const place = { start: { line: 2, column: 10 }, end: { line: 3, column: 8 } };
const survivor = { file, code: "now < end", change: "true", onLine: "return now <" };

function reportOf(...statuses: string[]): unknown {
  return {
    files: {
      [file]: { source, mutants: statuses.map((status) => ({ status, location: place, replacement: "true" })) },
    },
  };
}

for (const status of ["Survived", "NoCoverage"]) {
  test(`a change that is ${status} needs a reason`, () => {
    expect(judge(reportOf(status), [file], [])).toEqual([
      `No test noticed, and no reason is given (line 2): ${JSON.stringify(survivor)}`,
    ]);
    expect(judge(reportOf(status), [file], [{ ...survivor, reason: "equivalent" }])).toEqual([]);
  });
}

test("a reason that names the text of its line is about no other", () => {
  const reason = { ...survivor, reason: "equivalent" };
  expect(judge(reportOf("Survived"), [file], [reason])).toEqual([]);
  expect(judge(reportOf("Survived"), [file], [{ ...reason, onLine: "return end;" }])).toHaveLength(2);
  expect(judge(reportOf("Survived"), [file], [{ file, code: "now < end", change: "true" }])).toEqual([]);
});

test("a reason for what is noticed by now is a problem, unless its file was not tried", () => {
  const reasons = [{ ...survivor, reason: "equivalent" }];
  expect(judge(reportOf("Killed"), [file], reasons)).toEqual([
    `A reason is given for what does not survive: ${JSON.stringify(survivor)}`,
  ]);
  expect(judge(reportOf("Killed"), [], reasons)).toEqual([]);
});

test("a reason for what a sample did not draw is none", () => {
  expect(judge(reportOf("CompileError"), [file], [{ ...survivor, reason: "equivalent" }])).toEqual([]);
});

test("a file that Stryker did not report is a problem, and so is one in which it changed nothing", () => {
  expect(judge({ files: {} }, [file], [])).toEqual([`Nothing was changed in ${file}.`]);
  expect(judge(reportOf(), [file], [])).toEqual([`Nothing was changed in ${file}.`]);
});

test("what runs without end counts as noticed, and what does not compile does not count", () => {
  const report = reportOf("Killed", "Timeout", "Survived", "NoCoverage", "CompileError");
  expect(summaryOf(report, [file])).toContain("| kernel/active.ts | 2 of 4 | 50.0% |");
  expect(summaryOf(report, [file])).toContain("| together | 2 of 4 | 50.0% |");
});
