import { expect, test } from "vitest";
import { barChart } from "./bar-chart.ts";
import { sectionOf } from "./in-process.ts";
import { comparableTo, resultsPage } from "./results-page.ts";
import { digits, goalRow, shareReached, type Goal } from "./results.ts";
import { markdownTable, textTable } from "./tables.ts";

const rate: Goal = { name: "rate", measured: 0.5, goal: 0.4, side: "at least", unit: "x bare" };
const cpu: Goal = { name: "CPU <host>", measured: 12, goal: 3, side: "at most", unit: "x bare" };
const latency: Goal = { name: "latency", measured: -0.1, goal: 0.5, side: "at most", unit: "ms" };

test("numbers are shown in as many digits as mean something", () => {
  expect([12_345.6, 12.34, 1.234, 0.1234, 0.01234, 32, 0, Number.NaN].map(digits)).toEqual([
    "12,346",
    "12.3",
    "1.23",
    "0.12",
    "0.012",
    "32",
    "0",
    "-",
  ]);
});

test("a goal is reached on its side, and what was not measured is not reached", () => {
  expect([rate, cpu, latency, { ...rate, measured: Number.NaN }].map((goal) => goalRow(goal))).toEqual([
    ["rate", "0.50 x bare", "at least 0.4 x bare", "yes"],
    ["CPU <host>", "12 x bare", "at most 3 x bare", "no"],
    ["latency", "-0.10 ms", "at most 0.5 ms", "yes"],
    ["rate", "- x bare", "at least 0.4 x bare", "no"],
  ]);
});

test("more of a goal is reached the larger a rate is, and the smaller a cost", () => {
  expect([rate, cpu, latency].map(shareReached)).toEqual([1.25, 0.25, Number.POSITIVE_INFINITY]);
});

test("a table has its first column to the left and numbers to the right", () => {
  const rows = [
    ["one", "1"],
    ["two|three", "1,000"],
  ];
  expect(textTable(["what", "µs"], rows)).toBe("what          µs\none            1\ntwo|three  1,000");
  expect(markdownTable(["what", "µs"], rows)).toBe(
    String.raw`| what       |    µs |
| ---------- | ----: |
| one        |     1 |
| two\|three | 1,000 |`,
  );
});

test("subjects are shown with the median of their rounds, and of the ratios of their rounds", () => {
  const subjects = [
    { name: "plain", run: () => {} },
    { name: "ours", run: () => {}, against: "plain", goalMicros: 5, goalRatio: 3 },
  ];
  const samples = new Map([
    ["plain", [1, 2, 10]],
    ["ours", [2, 4, 40]],
  ]);
  expect(sectionOf("Two", subjects, samples)).toEqual({
    title: "Two",
    text: "Medians of 3 rounds, processor time.",
    head: ["what", "µs", "ratio", "against"],
    rows: [
      ["plain", "2", "", ""],
      ["ours", "4", "2 x", "plain"],
    ],
    goals: [
      { name: "ours", measured: 4, goal: 5, side: "at most", unit: "µs" },
      { name: "ours", measured: 2, goal: 3, side: "at most", unit: "x" },
    ],
  });
});

test("the page says when, where and with what, then the goals, then every table", () => {
  const circumstances = {
    date: "2026-02-01",
    machine: "2 x arm64",
    versions: { node: "20", libsql: "1" },
    isQuick: true,
  };
  const sections = [
    { title: "First", text: "How to read it.", head: ["what", "µs"], rows: [["one", "1"]], goals: [rate] },
    { title: "Second", head: ["what", "µs"], rows: [["two", "2"]] },
  ];
  const page = resultsPage(circumstances, sections);
  expect(page).toContain("- 2026-02-01\n- 2 x arm64\n- node 20, libsql 1\n");
  expect(page).toContain("**This was a quick run");
  expect(page).toContain("| rate | 0.50 x bare | at least 0.4 x bare |     yes |");
  expect(page.match(/^## .*$/gm)).toEqual(["## Goals", "## First", "## Second"]);
  expect(page).toMatch(/## First\n\nHow to read it\.\n\n\| what/);
  expect(resultsPage({ ...circumstances, isQuick: false }, sections)).not.toContain("quick");
});

test("what another Node came to is shown beside a goal of the same name and unit", () => {
  const circumstances = { date: "2026-02-01", machine: "2 x arm64", versions: { node: "24.1.0" }, isQuick: false };
  const sections = [{ title: "First", head: ["what"], rows: [["one"]], goals: [rate, cpu] }];
  const goals = [
    { ...rate, measured: 0.3 },
    { ...cpu, unit: "ms" },
  ];
  const others = [{ node: "20.1.0", date: "2026-01-01", processors: "2 x arm64", goals }];
  const page = resultsPage(circumstances, sections, others);
  expect(page).toContain("| reached | node 20.1.0, 2026-01-01 |");
  expect(page).toMatch(/^\| rate .*\| +yes \| +0\.30 x bare \|$/m);
  expect(page).toMatch(/^\| CPU <host> .*\| +no \| +- \|$/m);
});

test("beside a Node stand others on the same processors, and no older version of itself", () => {
  const of = (node: string, processors = "2 x arm64") => ({ node, date: "2026-01-01", processors, goals: [] });
  const measured = [of("24.1.0"), of("20.9.0"), of("22.1.0", "8 x arm64")];
  expect(comparableTo(of("24.2.0"), measured)).toEqual([of("20.9.0")]);
  expect(comparableTo(of("2.0.0"), measured)).toEqual([of("24.1.0"), of("20.9.0")]);
});

test("a bar is as long as the share of its goal that is reached, ends somewhere, and says its numbers", () => {
  const chart = barChart("All & more", [rate, cpu, latency]);
  // The goal's line is at 180 of 270: a bar of 1.25 has 225.
  expect(
    [...chart.matchAll(/<rect class="(reached|missed)" .* width="([\d.]+)"/g)].map((match) => match.slice(1)),
  ).toEqual([
    ["reached", "225"],
    ["missed", "45"],
    ["reached", "270"],
  ]);
  expect(chart).toContain('<line class="goal" x1="510" x2="510"');
  expect(chart).toContain("<title>All &amp; more</title>");
  expect(chart).toContain(">CPU &lt;host&gt;</text>");
  expect(chart).toContain(">12 x bare (at most 3)</text>");
  expect(chart).toContain("prefers-color-scheme: dark");
});

test("what was not measured has no bar", () => {
  expect(barChart("none", [{ ...rate, measured: Number.NaN }])).toMatch(/<rect class="missed" .* width="0"/);
});
