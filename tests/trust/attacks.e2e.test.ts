import { expect, test } from "vitest";
import { groups } from "./attacks/groups.ts";
import { tryAttack } from "./attacks/run-attack.ts";

test.each(groups)("every attack on $name is held, and what is done rightly succeeds", async ({ open, attacks }) => {
  const world = await open();
  const problems: string[] = [];
  for (const row of attacks) {
    for (const problem of await tryAttack(world, row)) problems.push(`${row.name}: ${problem}`);
  }
  await world.close();
  expect(problems).toEqual([]);
});
