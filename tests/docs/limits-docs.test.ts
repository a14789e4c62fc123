import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { fixedLimits, libraryLimits, limitSettings, toolLimitSettings } from "../../packages/host/src/shared/index.ts";
import { PathSchema } from "../../packages/turnpike/src/contracts/scalars.ts";
import { checkJsonText } from "../../packages/turnpike/src/internal/check-json-text.ts";
import { maxDelegationLinks } from "../../packages/turnpike/src/kernel/index.ts";
import { markdownTable, withPart } from "../support/markdown.ts";
import { repository } from "../support/repository.ts";

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
    ...Object.entries<Row>(toolLimitSettings).map(([name, row]) => ({ ...row, name: `\`tools.${name}\`` })),
    ...Object.values<Row>({ ...fixedLimits, ...libraryLimits }).map((row) => ({ ...row, name: "cannot be set" })),
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

test("the limits of the library are what the table says", () => {
  const problemOf = (value: unknown) =>
    JSON.stringify(checkJsonText(new TextEncoder().encode(JSON.stringify(value))) ?? {});
  const { jsonValues, jsonLevels, jsonKeys, pathSegments, delegationLinks, heldGrants } = libraryLimits;
  const nested = (levels: number): unknown => (levels === 0 ? 1 : [nested(levels - 1)]);
  const keys = (count: number) => [
    "x".repeat(65_536),
    Object.fromEntries(Array.from({ length: count }, (_, place) => [`k${place}`, 1])),
  ];
  expect(problemOf(Array(jsonValues.value).fill(1))).toContain("100000");
  expect(problemOf(nested(jsonLevels.value + 1))).toContain("64");
  expect(problemOf(keys(jsonKeys.value + 1))).toContain("10000");
  for (const fits of [Array(jsonValues.value - 1).fill(1), nested(jsonLevels.value - 1), keys(jsonKeys.value)])
    expect(problemOf(fits)).toBe("{}");
  expect(PathSchema.safeParse(Array(pathSegments.value).fill("a")).success).toBe(true);
  expect(PathSchema.safeParse(Array(pathSegments.value + 1).fill("a")).success).toBe(false);
  expect(delegationLinks.value).toBe(maxDelegationLinks);
  expect(readFileSync(join(repository, "packages/turnpike/src/kernel/authority.ts"), "utf8")).toContain(
    `maxGrants = ${String(heldGrants.value).replace(/(?=(...)$)/, "_")};`,
  );
});

test("every limit that can be set has a default, or says where its value comes from, within its range", () => {
  for (const row of Object.values<Row>({ ...limitSettings, ...toolLimitSettings })) {
    expect([row.default, row.otherwise].filter((each) => each !== undefined)).toHaveLength(1);
    expect(row.default ?? 1).toBeGreaterThanOrEqual(1);
    expect(row.default ?? 1).toBeLessThanOrEqual(row.max ?? 0);
  }
});
