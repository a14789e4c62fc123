import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { repository } from "../support/repository.ts";
import { seed } from "../support/seed.ts";
import { during } from "./suite.ts";
import { suites } from "./suites.ts";

// What `npm run trust` runs. Each suite has its part of the time, and leaves what it saw for the report.
const folder = join(repository, ".build/trust");
const minutes = Number(process.env["TRUST_MINUTES"]);
const only = process.env["TRUST_ONLY"];
const wanted = suites.filter(({ name }) => only === undefined || name === only);
const shares = wanted.reduce((sum, { share }) => sum + share, 0);

test.each(wanted)("$name", async ({ name, says, share, run }) => {
  const start = performance.now();
  const { picture, ...outcome } = await run(during((minutes * 60_000 * share) / shares, seed));
  const seconds = Math.round((performance.now() - start) / 1000);
  mkdirSync(folder, { recursive: true });
  if (picture !== undefined) writeFileSync(join(folder, `${name}.svg`), picture);
  writeFileSync(join(folder, `${name}.json`), JSON.stringify({ name, says, seconds, ...outcome }, null, 2));
  expect(outcome.findings).toEqual([]);
});
