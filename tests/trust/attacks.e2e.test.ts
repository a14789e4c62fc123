import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { repository } from "../support/repository.ts";
import { groups } from "./attacks/groups.ts";
import { tryAttacks } from "./attacks/run-attack.ts";
import { withAttacks } from "./attacks/table.ts";

test.each(groups)("every attack on $name is held, and what is done rightly succeeds", async (group) => {
  expect(await tryAttacks(group, group.attacks)).toEqual([]);
});

test("no two attacks have one name, and the document has all of them; run with --update after a change that is meant", async () => {
  const names = groups.flatMap(({ attacks }) => attacks.map(({ name }) => name));
  expect(names.filter((name, place) => names.indexOf(name) !== place)).toEqual([]);
  const document = join(repository, "tests/trust/attacks/README.md");
  await expect(withAttacks(readFileSync(document, "utf8"), groups)).toMatchFileSnapshot(document);
});
