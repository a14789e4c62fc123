import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { makeFolder } from "../support/host-process.ts";
import { commandWith, words } from "../support/terminal.ts";

/** Every command that does something, as it is typed; the test below finds out whether one is missing. */
const commands = [
  "serve",
  "doctor",
  "openapi",
  "why",
  "mcp",
  "mcp suggest",
  "mcp review",
  "turn",
  ..."start show list follow cancel".split(" ").map((verb) => `turn ${verb}`),
  ..."create operator list revoke rotate".split(" ").map((verb) => `credential ${verb}`),
  ..."create derive list revoke".split(" ").map((verb) => `grant ${verb}`),
  ..."list enable disable".split(" ").map((verb) => `namespace ${verb}`),
  ..."list call".split(" ").map((verb) => `tools ${verb}`),
  ..."list show approve deny".split(" ").map((verb) => `escalation ${verb}`),
  ..."list verify export checkpoint key".split(" ").map((verb) => `audit ${verb}`),
  "tenant delete",
  ..."send inbox".split(" ").map((verb) => `message ${verb}`),
  ..."list stat read search grep create replace append delete".split(" ").map((verb) => `files ${verb}`),
  ..."create list restore".split(" ").map((verb) => `files snapshot ${verb}`),
];

let folder: string;
beforeAll(() => {
  folder = makeFolder();
  // The local file of the example of `files replace`.
  writeFileSync(join(folder, "new.md"), "Hello");
});

async function helpOf(args: readonly string[]): Promise<string> {
  const printed = await commandWith(folder, [...args, "--help"]);
  expect(printed).toMatchObject({ code: 0, stderr: "" });
  return printed.stdout;
}

/** A command that does something, which shows an example of it, and the commands below it. */
async function findCommands(group: readonly string[] = []): Promise<string[]> {
  const [help = "", example] = (await helpOf(group)).split("\n\nExample:\n");
  const [, list = ""] = help.split("\nCommands:\n");
  const names = [...list.matchAll(/^ {2}([a-z-]+)/gm)].map(([, name = ""]) => name).filter((name) => name !== "help");
  const found = example === undefined ? [] : [group.join(" ")];
  for (const name of names) found.push(...(await findCommands([...group, name])));
  return found;
}

async function exampleOf(command: string): Promise<string> {
  const [, example = ""] = /\n\nExample:\n {2}(turnpike .+)\n$/.exec(await helpOf(command.split(" "))) ?? [];
  return example;
}

/** The words of an example as a shell reads them, without where its output goes. */
function shellWords(example: string): string[] {
  const line = example.replace(/^turnpike /, "").replace(/ > \S+$/, "");
  const printed = execFileSync("bash", ["-c", `printf '%s\\0' ${line}`], { encoding: "utf8" });
  return printed.split("\0").slice(0, -1);
}

test("every command is known here", async () => {
  expect((await findCommands()).toSorted()).toEqual(commands.toSorted());
});

describe("the help of", () => {
  for (const command of commands) {
    test(`${command} says what it does, with an example of itself`, async () => {
      const help = await helpOf(command.split(" "));
      expect(help).toMatch(new RegExp(`^Usage: turnpike ${command}( |\\n)[^\\n]*\\n\\n[A-Z][^]*\\.\\n`));
      expect(await exampleOf(command)).toMatch(new RegExp(`^turnpike ${command}( |$)`));
    });
  }

  for (const command of commands.filter((name) => !["serve", "openapi", "mcp", "mcp suggest"].includes(name))) {
    test(`${command} offers JSON for scripts`, async () => {
      expect(await helpOf(command.split(" "))).toMatch(/^ {2}--json +print JSON$/m);
    });
  }
});

describe("the example of", () => {
  // Nobody listens there: a command that is understood gets as far as that.
  const env = { TURNPIKE_TOKEN: "tp_x", TURNPIKE_ADMIN_TOKEN: "tp_x" };
  for (const command of commands.filter(
    (name) => !["serve", "doctor", "openapi", "mcp", "mcp suggest"].includes(name),
  )) {
    test(`${command} is understood`, async () => {
      const args = shellWords(await exampleOf(command));
      const { code, stderr } = await commandWith(folder, [...args, "--url", "http://127.0.0.1:1"], env);
      expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringMatching(/^No host answers /) });
    });
  }

  for (const { command, more, code } of [
    { command: "serve", more: words`--print-config`, code: 0 },
    { command: "doctor", more: words`--port 0`, code: 0 },
    { command: "openapi", more: [], code: 0 },
    { command: "mcp", more: words`--token-file token`, code: 0 },
    // There is no such server in its folder.
    { command: "mcp suggest", more: [], code: 1 },
  ]) {
    test(`${command} is understood`, async () => {
      writeFileSync(join(folder, "token"), "tp_x");
      expect((await commandWith(folder, [...shellWords(await exampleOf(command)), ...more])).code).toBe(code);
    });
  }
});

test("the version is told", async () => {
  const printed = await commandWith(folder, words`--version`);
  expect(printed).toMatchObject({ code: 0, stdout: expect.stringMatching(/^\d+\.\d+\.\d+\S*\n$/) });
});
