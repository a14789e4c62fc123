import { afterAll, describe, expect, test } from "vitest";
import { seed } from "../../support/seed.ts";
import { plantedBugs, plantIn } from "./planted-bugs.ts";
import { planOf, type Plan } from "./plan.ts";
import { openPremises } from "./premises.ts";
import { runWorld } from "./run-world.ts";
import { reasonOf, shrink } from "./shrink.ts";

/** Found within one plan, whichever it is: no one's result is stored. */
const bug = plantedBugs.find(({ name }) => name === "results are not stored");

describe("a plan in which something does not hold", async () => {
  const premises = await openPremises();
  afterAll(() => premises.close());

  test("is made smaller until only that is left, and the same each time", async () => {
    if (bug === undefined) throw new Error("There is no such bug.");
    const pullOut = plantIn(premises.storage, bug);
    const plan = { ...planOf(seed), episodes: planOf(seed).episodes.slice(0, 4) };
    const [violation = ""] = (await runWorld(plan, premises)).violations;
    const smallest = await shrink(plan, premises);
    const again = await shrink(plan, premises);
    const [repeated] = (await runWorld(smallest.plan, premises)).violations;
    pullOut();

    expect(violation).toMatch(bug.finds);
    expect(reasonOf(smallest.violation)).toBe(reasonOf(violation));
    expect(repeated).toBe(smallest.violation);
    expect(again).toEqual(smallest);
    expect(actionsOf(plan)).toBeGreaterThan(1);
    expect(actionsOf(smallest.plan)).toBe(1);
    expect(smallest.plan).toMatchObject({ skewMs: 0, episodes: [{ operators: [] }] });
    expect(Object.values(smallest.plan.episodes[0]?.faults ?? {})).toEqual([0, 0, 0, 0, 0, 0]);
  });

  test("in which everything holds is found to hold", async () => {
    const plan = { ...planOf(seed), episodes: [] };
    expect(await shrink(plan, premises)).toEqual({ plan, violation: "" });
  });
});

test("what does not hold is told apart by what it says, not by steps, tenants, ids and answers", () => {
  const said = "step 72: acme-0 message-2 has no answer when all is well: {}";
  expect(reasonOf(said)).toBe(reasonOf("step 904: umbra-11 call-1 has no answer when all is well: {1}"));
  expect(reasonOf(said)).not.toBe(reasonOf("step 72: turn-1 of acme-0 neither ends nor waits"));
});

function actionsOf({ episodes }: Plan): number {
  return episodes.flatMap(({ clients }) => clients.flatMap(({ actions }) => actions)).length;
}
