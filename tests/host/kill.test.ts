import { expect, test } from "vitest";
import { seed } from "../support/seed.ts";
import { kills } from "../trust/kills.ts";
import { cases } from "../trust/suite.ts";

test("hosts that are killed 10 times under load lose nothing they acknowledged and do nothing twice", async () => {
  const { counts, findings } = await kills.run(cases(10, seed));
  expect(findings).toEqual([]);
  // The load met all of it.
  expect(counts["kills"]).toBe(10);
  expect(Object.entries(counts).filter(([, count]) => count === 0)).toEqual([]);
}, 600_000);
