import { afterAll, describe, expect, test } from "vitest";
import { seed } from "../support/seed.ts";
import { openPremises } from "./simulation/premises.ts";
import { planOf } from "./simulation/plan.ts";
import { runWorld } from "./simulation/run-world.ts";

// A whole world takes seconds, and a busy machine several times as long.
describe("a simulated world", { timeout: 90_000 }, async () => {
  const premises = await openPremises();
  afterAll(() => premises.close());

  test("takes the same steps each time that it is run", async () => {
    const plan = planOf(seed);
    const [first, second] = [await runWorld(plan, premises), await runWorld(plan, premises)];
    expect(second.trace).toEqual(first.trace);
    expect(second.counts).toEqual(first.counts);
    expect(first.trace.length).toBeGreaterThan(1000);
  });

  test("gives the time and the chance of the machine back", async () => {
    const before = [Date, setTimeout, setImmediate, performance.now, crypto.randomUUID, Math.random];
    await runWorld({ ...planOf(seed), episodes: [] }, premises);
    expect([Date, setTimeout, setImmediate, performance.now, crypto.randomUUID, Math.random]).toEqual(before);
  });
});
