import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

const bin = fileURLToPath(new URL("../../bin/turnpike.js", import.meta.url));

function turnpike(...args: string[]) {
  const { status, stdout, stderr } = spawnSync(process.execPath, [bin, ...args], { encoding: "utf8" });
  return { status, stdout, stderr };
}

test("turnpike --version prints the version of the package", () => {
  expect(turnpike("--version")).toEqual({ status: 0, stdout: "1.0.0-preview\n", stderr: "" });
});

for (const row of [
  { name: "no argument", args: [], says: "Usage: turnpike" },
  { name: "an unknown flag", args: ["--verison"], says: "unknown option '--verison'" },
  { name: "an unknown command", args: ["sreve"], says: "unknown command 'sreve'" },
  { name: "a setting that is none", args: ["serve", "--set", "burst"], says: "--set burst: expected key=value." },
  {
    name: "a principal that is none",
    args: [
      "grant",
      "create",
      "--tenant",
      "t",
      "--to",
      "bob",
      "--from",
      "human:a",
      "--resource",
      "files",
      "--action",
      "read",
    ],
    says: "--to bob: expected kind:id",
  },
]) {
  test(`turnpike with ${row.name} says what is wrong on stderr and exits 2`, () => {
    const { status, stdout, stderr } = turnpike(...row.args);
    expect({ status, stdout }).toEqual({ status: 2, stdout: "" });
    expect(stderr).toContain(row.says);
  });
}
