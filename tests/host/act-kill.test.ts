import { expect, test } from "vitest";
import { seed } from "../support/seed.ts";
import { actKills } from "../trust/act-kills.ts";
import { cases } from "../trust/suite.ts";

// An even seed kills one host on SQLite, an odd one of two on PostgreSQL.
for (const { name, parity, kills } of [
  { name: "one host on SQLite", parity: 0, kills: 4 },
  { name: "two hosts on PostgreSQL", parity: 1, kills: 2 },
])
  test(`of ${name}, one that is killed ${kills} times among acts hands none out twice, and loses no outcome`, async () => {
    const { counts, findings } = await actKills.run(cases(kills, 2 * seed + parity));
    expect(findings).toEqual([]);
    expect([counts["kills"], counts["acts"]]).toEqual([kills, 6 * kills]);
    expect(counts["finished"]).toBeGreaterThan(0);
  });
