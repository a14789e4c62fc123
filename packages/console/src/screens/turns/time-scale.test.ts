import { expect, test } from "vitest";
import { timeScale } from "./time-scale.ts";

test("instants are placed in proportion", () => {
  const { place, gaps } = timeScale([0, 50, 200]);
  expect([0, 50, 200].map(place)).toEqual([0, 25, 100]);
  expect(gaps).toEqual([]);
});

test("a long wait is drawn short, and said", () => {
  const { place, gaps } = timeScale([0, 100, 60_100, 60_200]);
  expect(place(100)).toBeCloseTo(46);
  expect(place(60_100)).toBeCloseTo(54);
  expect(place(60_200)).toBeCloseTo(100);
  expect(gaps).toEqual([{ from: place(100), to: place(60_100), ms: 60_000 }]);
});

test("a turn that did nothing but wait is one gap", () => {
  expect(timeScale([0, 10_000])).toMatchObject({ gaps: [{ from: 0, to: 100, ms: 10_000 }] });
});

test("a single instant is placed at the beginning", () => {
  expect(timeScale([7]).place(7)).toBe(0);
  expect(timeScale([]).gaps).toEqual([]);
});
