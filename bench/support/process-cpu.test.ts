import { expect, test } from "vitest";
import { cpuSeconds, cpuSecondsOfFamily, parseEndedChildren, parseStat } from "./process-cpu.ts";

test("the time of a process is its user's and its system's, whatever its program is called", () => {
  const line = "4711 (node (a) b) S 1 2 3 4 5 6 7 8 9 10 250 50 7 8 20 0 11 0 12345 1 2";
  expect(parseStat(line)).toBe(3);
  expect(parseEndedChildren(line)).toBe(0.15);
});

test("the time of a process with what it started is at least its own", () => {
  const own = cpuSeconds(process.pid);
  expect(cpuSecondsOfFamily(process.pid)).toBeGreaterThanOrEqual(own);
});

test("a process that is not there has no time", () => {
  expect(cpuSeconds(-1)).toBeNaN();
});
