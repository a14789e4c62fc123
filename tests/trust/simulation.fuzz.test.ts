import { expect, test } from "vitest";
import { seed } from "../support/seed.ts";
import { simulation } from "./simulation.ts";
import { episodesPerPlan, plansOfSlice } from "./simulation/plan.ts";
import { cases } from "./suite.ts";

test("whatever storage does and whenever hosts die, the promises hold", async () => {
  const { counts, findings } = await simulation.run(cases(plansOfSlice, seed));
  expect(findings).toEqual([]);
  for (const [name, least] of Object.entries({
    worlds: plansOfSlice * episodesPerPlan,
    effects: 800,
    retries: 300,
    revocations: 150,
    approvals: 60,
    crashes: 50,
    "statements refused": 200,
    "answers lost": 150,
    "connections lost": 40,
    "hosts paused": 40,
    "hosts cut off": 40,
    "hosts overtaken": 5,
    failovers: 20,
    upgrades: 20,
    "asked again": 600,
    "audit logs verified": plansOfSlice * episodesPerPlan,
  }))
    expect([name, (counts[name] ?? 0) >= least, counts[name]]).toEqual([name, true, counts[name]]);
});
