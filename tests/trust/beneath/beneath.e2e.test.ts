import { describe, expect, test } from "vitest";
import { seed } from "../../support/seed.ts";
import { cases } from "../suite.ts";
import { partitions, pauses } from "./away-hosts.ts";
import { failovers } from "./failovers.ts";
import { frozenLogs } from "./frozen-logs.ts";
import { poolers } from "./poolers.ts";
import { replacedFiles } from "./replaced-files.ts";

describe("what happens beneath hosts at work", { timeout: 600_000 }, () => {
  test.each([
    { suite: pauses, rounds: 1 },
    { suite: partitions, rounds: 1 },
    { suite: failovers, rounds: 1 },
    { suite: frozenLogs, rounds: 1 },
    { suite: replacedFiles, rounds: 3 },
    { suite: poolers, rounds: 1 },
  ])("$suite.name: $suite.says", async ({ suite, rounds }) => {
    const { counts, findings } = await suite.run(cases(rounds, seed));
    expect(findings).toEqual([]);
    expect(Object.entries(counts).filter(([, count]) => count === 0)).toEqual([]);
  });
});
