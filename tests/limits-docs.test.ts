import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { fixedLimits, limitSettings } from "../packages/host/src/base/index.ts";
import { markdownTable, withPart } from "./support/markdown.ts";
import { repository } from "./support/repository.ts";

const guide = join(repository, "docs/guide/run-the-host.md");

interface Row {
  bounds: string;
  per: string;
  refusal: string;
  default?: number;
  otherwise?: string;
  max?: number;
  value?: number;
}

/** A number as people read it. */
function shown(value: number): string {
  if (value < 1) return value === 1 / 2 ? "half" : value === 1 / 10 ? "a tenth" : String(value);
  return value.toLocaleString("en-US");
}

function table(): string {
  const rows = [
    ...Object.entries<Row>(limitSettings).map(([name, row]) => ({ ...row, name: `\`${name}\`` })),
    ...Object.values<Row>(fixedLimits).map((row) => ({ ...row, name: "cannot be set" })),
  ];
  const cells = rows.map(({ name, bounds, per, refusal, default: usual, otherwise, max, value }) => [
    name,
    bounds,
    per,
    value !== undefined ? shown(value) : usual === undefined ? (otherwise ?? "") : shown(usual),
    max === undefined ? "" : shown(max),
    refusal,
  ]);
  return markdownTable(["Setting", "What it bounds", "For each", "Default", "At most", "Beyond it"], cells);
}

test("the guide has the table of all limits; run with --update after a change that is meant", async () => {
  await expect(withPart(readFileSync(guide, "utf8"), "limits", table())).toMatchFileSnapshot(guide);
});

test("every limit that can be set has a default, or says where its value comes from, within its range", () => {
  for (const row of Object.values<Row>(limitSettings)) {
    expect([row.default, row.otherwise].filter((each) => each !== undefined)).toHaveLength(1);
    expect(row.default ?? 1).toBeGreaterThanOrEqual(1);
    expect(row.default ?? 1).toBeLessThanOrEqual(row.max ?? 0);
  }
});
