import { spawnSync } from "node:child_process";
import { expect, test } from "vitest";
import { repository } from "../support/repository.ts";

test("a run in which a test fails says so and ends with 1, a database or not", () => {
  const config = "tests/support/fixtures/failing-run/vitest.config.ts";
  const args = ["vitest", "run", "--root", ".", "--config", config, "--reporter=./scripts/closing-line.js"];
  const { status, stdout } = spawnSync("npx", args, { cwd: repository, encoding: "utf8" });
  expect([status, stdout.trim()]).toEqual([1, "0 passed, 1 failed"]);
});
