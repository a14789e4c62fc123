import { afterAll, describe, expect, test } from "vitest";
import { seed } from "../support/seed.ts";
import { plantedBugs, planFor, plantIn } from "./simulation/planted-bugs.ts";
import { openPremises } from "./simulation/premises.ts";
import { plansOfSlice } from "./simulation/plan.ts";
import { runWorld } from "./simulation/run-world.ts";

describe("within the worlds of every test run it is found that", async () => {
  const premises = await openPremises();
  afterAll(() => premises.close());

  test.each(plantedBugs)("$name", async (bug) => {
    const pullOut = plantIn(premises.storage, bug);
    let found: string | undefined;
    for (let place = 0; place < plansOfSlice && found === undefined; place += 1)
      [found] = (await runWorld(planFor(bug, seed + place), premises)).violations;
    expect(pullOut()).toBeGreaterThan(0);
    expect(found).toMatch(bug.finds);
  });
});
