import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

const bin = fileURLToPath(new URL("../bin/turnpike.js", import.meta.url));

function turnpike(...args: string[]) {
  const { status, stdout, stderr } = spawnSync(process.execPath, [bin, ...args], { encoding: "utf8" });
  return { status, stdout, stderr };
}

test("turnpike --version prints the version of the package", () => {
  expect(turnpike("--version")).toEqual({ status: 0, stdout: "1.0.0-preview\n", stderr: "" });
});

for (const row of [
  { name: "no argument", args: [] },
  { name: "an unknown argument", args: ["--verison"] },
  { name: "an argument too many", args: ["--version", "--json"] },
]) {
  test(`turnpike with ${row.name} prints its usage to stderr and exits 2`, () => {
    expect(turnpike(...row.args)).toEqual({ status: 2, stdout: "", stderr: "usage: turnpike --version\n" });
  });
}
