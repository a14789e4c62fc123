import { expect, test } from "vitest";
import { seed } from "../../../../tests/support/seed.ts";
import { timesOf } from "../../../../tests/support/size.ts";
import { createKernel } from "../../src/kernel/index.ts";
import { runDifferential } from "./differential.ts";

const decisions = timesOf(50_000, 200_000);

test("the kernel and the naive authorizer agree on all decisions, executions and counts of uses", async () => {
  const summary = await runDifferential({ createKernel, seed, decisions });

  expect(summary.disagreements.join("\n\n"), `seed ${seed}`).toBe("");
  expect(summary.decisions).toBeGreaterThanOrEqual(decisions);
  expect(summary.executions).toBeGreaterThan(decisions * 0.075);
  // Worlds that always refuse, or never, would compare nothing.
  expect(summary.allowed / summary.decisions).toBeGreaterThan(0.3);
  expect(summary.allowed / summary.decisions).toBeLessThan(0.6);
  expect([...summary.reasons.keys()].toSorted()).toEqual([
    "allowed",
    "approval_required",
    "authority_unavailable",
    "delegation_chain_invalid",
    "delegation_chain_unverified",
    "grant_exhausted",
    "host_policy_denied",
    "host_policy_unavailable",
    "invalid_context",
    "invalid_request",
    "no_matching_grant",
    "permit_store_unavailable",
    "usage_store_unavailable",
  ]);
  expect(Math.min(...summary.reasons.values())).toBeGreaterThan(decisions / 400);
});
