import { afterAll, describe, expect, test } from "vitest";
import { seed } from "../support/seed.ts";
import { simulation } from "./simulation.ts";
import { openPremises } from "./simulation/premises.ts";
import { planOf } from "./simulation/plan.ts";
import { runWorld } from "./simulation/run-world.ts";
import { cases } from "./suite.ts";

const plans = 5;

describe("a simulated world", async () => {
  const premises = await openPremises();
  afterAll(() => premises.close());

  test("takes the same steps each time that it is run", async () => {
    const plan = { ...planOf(seed), episodes: planOf(seed).episodes.slice(0, 5) };
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

test("whatever storage does and whenever hosts die, the promises hold", async () => {
  const { counts, findings } = await simulation.run(cases(plans, seed));
  expect(findings).toEqual([]);
  for (const [name, least] of Object.entries({
    worlds: plans * 16,
    effects: 150,
    retries: 40,
    revocations: 40,
    approvals: 5,
    crashes: 5,
    "statements refused": 10,
    "answers lost": 10,
    "connections lost": 5,
    "hosts not seen": 3,
    "asked again": 100,
    "trails verified": plans * 16,
  }))
    expect([name, (counts[name] ?? 0) >= least, counts[name]]).toEqual([name, true, counts[name]]);
});
