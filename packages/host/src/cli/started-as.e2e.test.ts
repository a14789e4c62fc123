import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { commandLine } from "./format.ts";

const bin = fileURLToPath(new URL("../../bin/turnpike.js", import.meta.url));

test("an example of help can be pasted by a person who started the program by npx, or by its file", () => {
  const example = (env: NodeJS.ProcessEnv) =>
    spawnSync(process.execPath, [bin, "serve", "--help"], { encoding: "utf8", env })
      .stdout.trimEnd()
      .split("\n")
      .at(-1);
  expect(example({ npm_command: "exec" })).toBe("  npx turnpike serve --demo");
  expect(example({})).toBe(`  ${commandLine(["node", bin])} serve --demo`);
});

test("a command that help names in a sentence can be pasted as well", () => {
  const help = (env: NodeJS.ProcessEnv) =>
    spawnSync(process.execPath, [bin, "grant", "list", "--help"], { encoding: "utf8", env }).stdout.replaceAll(
      /\s+/g,
      " ",
    );
  expect(help({ npm_command: "exec" })).toContain("`npx turnpike login`");
  expect(help({})).toContain(`\`${commandLine(["node", bin])} login\``);
});
