import { spawnSync } from "node:child_process";
import { expect, test } from "vitest";
import { repository } from "../../support/repository.ts";

const unit = "deploy/turnpike.service";
const analyze = (...args: string[]) =>
  spawnSync("systemd-analyze", [...args, unit], { cwd: repository, encoding: "utf8" });
const hasSystemd = spawnSync("systemd-analyze", ["--version"]).status === 0;

test.runIf(hasSystemd)("systemd finds no mistake in the unit", () => {
  const { status, stderr } = analyze("verify");
  expect([status, stderr]).toEqual([0, ""]);
});

test.runIf(hasSystemd)("systemd counts little that the unit is exposed to", () => {
  // In tenths of its scale of ten: the network, sockets, and the compiler of V8 remain.
  const { status, stdout } = analyze("security", "--offline=true", "--threshold=15", "--no-pager");
  expect([status, /Overall exposure.*/.exec(stdout)?.[0]]).toEqual([0, expect.stringContaining("OK")]);
});
