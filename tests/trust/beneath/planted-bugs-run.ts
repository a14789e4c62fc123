import { expect, test } from "vitest";
import { seed } from "../../support/seed.ts";
import { cases } from "../suite.ts";
import { plantedBugs } from "./planted-bugs.ts";

// What `npm run trust` runs beside its suites: those of what is beneath hosts find what is planted in one of them.
test.each(plantedBugs)("$suite.name finds a host in which $name", async ({ suite, finds, file, from, to }) => {
  const { findings } = await suite.run(cases(1, seed, { file, from, to }));
  expect(findings.map(({ what }) => what).join("\n")).toMatch(finds);
});
