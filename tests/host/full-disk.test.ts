import { expect, test } from "vitest";
import { seed } from "../support/seed.ts";
import { canLimitFiles, fullDisk } from "../trust/full-disk.ts";
import { cases } from "../trust/suite.ts";

test.skipIf(!canLimitFiles)(
  "a host whose disk is full again and again loses nothing, does nothing twice and recovers by itself",
  async () => {
    const { counts, findings } = await fullDisk.run(cases(5, seed));
    expect(findings).toEqual([]);
    expect(counts["full disks"]).toBe(5);
    expect(counts["refused"]).toBeGreaterThan(0);
  },
  600_000,
);
