import { expect, test } from "vitest";
import { readImports } from "../support/import-graph.ts";
import { repository } from "../support/repository.ts";

test("a thread of the database loads nothing but what reads and writes the file, so that a host opens one quickly", () => {
  const imports = readImports(repository).filter(({ isType }) => !isType);
  const loaded = new Set(["packages/host/src/storage/sqlite/worker.ts"]);
  for (const file of loaded) {
    for (const { target } of imports.filter((one) => one.file === file)) if (target !== undefined) loaded.add(target);
  }
  const besides = [...loaded].filter((file) => !file.startsWith("packages/host/src/storage/sqlite/"));
  expect(besides).toEqual(["packages/host/src/storage/steps.ts"]);
  expect(loaded.size).toBeGreaterThan(3);
});
