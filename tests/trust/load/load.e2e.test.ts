import { expect, test } from "vitest";
import { seed } from "../../support/seed.ts";
import { cases } from "../suite.ts";
import { holdSlow } from "./slow.ts";
import { soak } from "./soak.ts";
import { followMany } from "./streams.ts";

test("a short soak: every call is answered as it should be, and every socket is given back", async () => {
  const { counts, findings, picture } = await soak.run(cases(1, seed));
  expect(findings).toEqual([]);
  expect(counts["calls"]).toBe(500);
  expect(counts["MiB of JavaScript at most"]).toBeGreaterThan(10);
  expect(picture).toContain("<polyline");
});

test("turns that wait at once, each followed on a socket of its own, all end once", async () => {
  const { problems } = await followMany(100);
  expect(problems).toEqual([]);
});

test("clients that send byte by byte or read nothing are cut off, while others are answered", async () => {
  const { calls, problems } = await holdSlow(30);
  expect(problems).toEqual([]);
  expect(calls).toBeGreaterThan(1);
});
