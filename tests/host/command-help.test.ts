import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { makeFolder, runTurnpike } from "../support/host-process.ts";
import { commandWith, words } from "../support/terminal.ts";

/** Every command that does something, as it is typed; the test below finds out whether one is missing. */
const commands = [
  "serve",
  "database epoch",
  "doctor",
  "backup",
  "restore",
  "database accept-loss",
  "openapi",
  "completion",
  "why",
  "console",
  "login",
  "logout",
  "whoami",
  ..."list show use delete".split(" ").map((verb) => `context ${verb}`),
  "mcp",
  "mcp suggest",
  "mcp review",
  "hook",
  "hook install",
  "turn",
  ..."start show list follow cancel".split(" ").map((verb) => `turn ${verb}`),
  ..."create operator list show revoke rotate".split(" ").map((verb) => `credential ${verb}`),
  ..."list revoke restore".split(" ").map((verb) => `person ${verb}`),
  ..."list show revoke".split(" ").map((verb) => `connection ${verb}`),
  ..."create derive list revoke export suggest apply import diff".split(" ").map((verb) => `grant ${verb}`),
  ..."add list remove check".split(" ").map((verb) => `invariant ${verb}`),
  ..."list enable disable".split(" ").map((verb) => `namespace ${verb}`),
  ..."list call try".split(" ").map((verb) => `tools ${verb}`),
  ..."list show approve deny withdraw".split(" ").map((verb) => `escalation ${verb}`),
  ..."list heads verify export checkpoint key".split(" ").map((verb) => `audit ${verb}`),
  "audit key rotate",
  ..."list delete".split(" ").map((verb) => `tenant ${verb}`),
  ..."list retry".split(" ").map((verb) => `webhook ${verb}`),
  "grant show",
  "activity",
  "search",
  "host list",
  "principal list",
  "reach",
  ..."show who".split(" ").map((verb) => `reach ${verb}`),
  ..."send inbox".split(" ").map((verb) => `message ${verb}`),
  ..."list stat read search grep create replace append delete".split(" ").map((verb) => `files ${verb}`),
  ..."create list restore".split(" ").map((verb) => `files snapshot ${verb}`),
];

let folder: string;
beforeAll(() => {
  folder = makeFolder();
  // The local file of the example of `files replace`.
  writeFileSync(join(folder, "new.md"), "Hello");
  // That of the examples of `grant apply` and `grant import`.
  const grants = { format: "turnpike-grants/1", tenant: "acme", grants: [] };
  writeFileSync(join(folder, "acme-grants.json"), JSON.stringify(grants));
  // That of the example of `invariant add`.
  const rule = { id: "no-agents", never: { subject: "agent:*", resource: "payroll" } };
  writeFileSync(join(folder, "no-agents.json"), JSON.stringify(rule));
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

  for (const command of commands.filter(
    (name) => !["serve", "openapi", "completion", "mcp", "mcp suggest", "hook"].includes(name),
  )) {
    test(`${command} offers JSON for scripts`, async () => {
      expect(await helpOf(command.split(" "))).toMatch(/^ {2}--json +print JSON$/m);
    });
  }
});

/** Commands that talk to no host. */
const withoutHost = new Set([
  // It compares two files.
  "grant diff",
  "serve",
  "database epoch",
  "doctor",
  "openapi",
  "completion",
  "restore",
  "mcp",
  "mcp suggest",
  "hook",
  "hook install",
  "audit key rotate",
  "login",
  "logout",
  ..."list show use delete".split(" ").map((verb) => `context ${verb}`),
]);

describe("the example of", () => {
  // No server listens there: a command that is understood gets as far as that.
  const env = { TURNPIKE_TOKEN: "tp_x", TURNPIKE_ADMIN_TOKEN: "tp_x" };
  for (const command of commands.filter((name) => !withoutHost.has(name))) {
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
    { command: "completion", more: [], code: 0 },
    { command: "mcp", more: words`--token-file token`, code: 0 },
    // There is no such server in its folder.
    { command: "mcp suggest", more: [], code: 1 },
    // There is no hook on standard input.
    { command: "hook", more: [], code: 2 },
    { command: "hook install", more: [], code: 0 },
    // There is no such backup, and no database whose key could be replaced.
    { command: "restore", more: [], code: 2 },
    { command: "audit key rotate", more: [], code: 2 },
    // There is no token on standard input, and no one has signed in.
    { command: "login", more: [], code: 2 },
    { command: "logout", more: [], code: 2 },
    { command: "context list", more: [], code: 0 },
    ..."show use delete".split(" ").map((verb) => ({ command: `context ${verb}`, more: [], code: 2 })),
  ]) {
    test(`${command} is understood`, async () => {
      writeFileSync(join(folder, "token"), "tp_x");
      expect((await commandWith(folder, [...shellWords(await exampleOf(command)), ...more])).code).toBe(code);
    });
  }
});

test("the help lists the commands in a sensible order, with a line each", async () => {
  const [, list = ""] = (await helpOf([])).split("\nCommands:\n");
  const names = [...list.matchAll(/^ {2}([a-z]+)/gm)].map(([, name = ""]) => name);
  const known =
    "serve credential grant namespace tools escalation audit why files message turn mcp hook backup restore doctor openapi completion";
  expect(names.filter((name) => known.split(" ").includes(name)).join(" ")).toBe(known);
  expect(
    list
      .trimEnd()
      .split("\n")
      .filter((line) => !/^ {2}[a-z]/.test(line)),
  ).toEqual([]);
});

for (const row of [
  { args: words`grnat list`, says: "error: unknown command 'grnat'\n(Did you mean grant?)" },
  { args: words`grant lits --tenant acme`, says: "error: unknown command 'lits'\n(Did you mean list?)" },
  {
    args: words`grant list --tenant acme --stat live`,
    says: "error: unknown option '--stat'\n(Did you mean --state?)",
  },
  { args: words`grant list --tennant acme`, says: "error: unknown option '--tennant'\n(Did you mean --tenant?)" },
  { args: words`turn satrt`, says: "error: unknown command 'satrt'\n(Did you mean start?)" },
]) {
  test(`${row.args.join(" ")} is answered with what was meant`, async () => {
    const { code, stderr } = await commandWith(folder, row.args);
    expect({ code, stderr }).toEqual({ code: 2, stderr: `${row.says}\nAdd --help to see how it is used.\n` });
  });
}

test("the version is told", async () => {
  const printed = await commandWith(folder, words`--version`);
  expect(printed).toMatchObject({ code: 0, stdout: expect.stringMatching(/^\d+\.\d+\.\d+\S*\n$/) });
});

test("a command that talks to a host loads nothing that only a host needs, so that it starts at once", async () => {
  // The coverage of a process names every file that it loaded.
  const env = { TURNPIKE_ADMIN_TOKEN: "tp_x", NODE_V8_COVERAGE: join(folder, "coverage") };
  await runTurnpike({ folder, args: words`grant list --tenant acme --url http://127.0.0.1:1`, env });
  const reports = readdirSync(env.NODE_V8_COVERAGE).map((name) => join(env.NODE_V8_COVERAGE, name));
  const files = reports.map((report) => readFileSync(report, "utf8")).join("");
  // A file of the bundle names those that it is made of.
  const bundled = [...files.matchAll(/"file:\/\/([^"]+\/dist\/command\/[^"]+)"/g)].map(([, file = ""]) => file);
  const loaded = [files, ...bundled.map((file) => readFileSync(file, "utf8"))].join("");
  // Every file that is loaded by itself costs as much as a large part of the bundle.
  const compiled = files.matchAll(/"url":"file:\/\/[^"]+\/packages\/((?:host|turnpike)\/dist\/(?!command\/)[^"]+)"/g);
  expect(Array.from(compiled, ([, file]) => file)).toEqual(["host/dist/cli/command-file.js"]);
  expect(loaded).toContain("node_modules/zod/");
  expect(loaded).toContain("node_modules/commander/");
  const ofHosts = "libsql pg kysely ai pino prom-client srvx jose @modelcontextprotocol @opentelemetry re2js".split(
    " ",
  );
  expect(ofHosts.filter((library) => loaded.includes(`node_modules/${library}/`))).toEqual([]);
});
