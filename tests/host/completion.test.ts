import { execFile } from "node:child_process";
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { beforeAll, describe, expect, test } from "vitest";
import { makeFolder } from "../support/host-process.ts";
import { commandWith } from "../support/terminal.ts";

const run = promisify(execFile);

/** The script of each shell, as a file. */
const scripts = { bash: "", zsh: "", fish: "" };
type Shell = keyof typeof scripts;
let folder: string;

beforeAll(async () => {
  folder = makeFolder();
  for (const shell of Object.keys(scripts) as Shell[]) {
    const { stdout } = await commandWith(folder, ["completion", shell]);
    scripts[shell] = join(folder, `turnpike.${shell}`);
    writeFileSync(scripts[shell], stdout);
  }
});

/** What bash offers behind these words; the last one is the one that is being typed. */
async function completed(...words: readonly string[]): Promise<string[]> {
  const script = `source "$1"; shift; COMP_WORDS=(turnpike "$@"); COMP_CWORD=$#; _turnpike; printf '%s\\n' "\${COMPREPLY[@]}"`;
  const { stdout } = await run("bash", ["-c", script, "bash", scripts.bash, ...words], { cwd: folder });
  return stdout.split("\n").filter((line) => line !== "");
}

describe("in bash", () => {
  test("the script is registered for the command", async () => {
    const { stdout } = await run("bash", ["-c", 'source "$1"; complete -p turnpike', "bash", scripts.bash]);
    expect(stdout).toBe("complete -F _turnpike turnpike\n");
  });

  for (const row of [
    { words: ["gr"], offered: ["grant"] },
    { words: ["grant", ""], offered: ["create", "derive", "list", "revoke", "--help"], isPart: true },
    { words: ["grant", "list", "--st"], offered: ["--state", "--strict"] },
    { words: ["grant", "list", "--state", "re"], offered: ["revoked"] },
    { words: ["grant", "create", "--approval", ""], offered: ["each"] },
    { words: ["escalation", "list", "--status", "de"], offered: ["denied"] },
    { words: ["credential", "operator", "--role", ""], offered: ["admin", "reviewer", "auditor"] },
    { words: ["completion", "z"], offered: ["zsh"] },
    { words: ["files", "snapshot", "re"], offered: ["restore"] },
    { words: ["turn", "li"], offered: ["list"] },
    // The value of a flag is none of its business, also when it reads like a command or a flag.
    { words: ["grant", "list", "--tenant", ""], offered: [] },
    { words: ["grant", "--to", "list", "re"], offered: ["revoke"] },
    { words: ["serve", "--config", "turnpike.b"], offered: ["turnpike.bash"] },
    { words: ["nonsense", "--"], offered: ["--version", "--help"] },
  ]) {
    test(`turnpike ${row.words.join(" ")}`, async () => {
      const found = await completed(...row.words);
      const compared = found.filter((word) => row.isPart !== true || row.offered.includes(word));
      expect(compared).toEqual(row.offered);
    });
  }

  test("every command of the help is offered", async () => {
    const { stdout } = await commandWith(folder, ["--help"]);
    const [, list = ""] = stdout.split("\nCommands:\n");
    const names = [...list.matchAll(/^ {2}([a-z]+)/gm)].map(([, name = ""]) => name);
    expect(names.length).toBeGreaterThan(15);
    expect(await completed("")).toEqual(expect.arrayContaining(names));
  });
});

/** Whether this machine has a shell; CI installs none. */
function has(shell: string): boolean {
  return (process.env["PATH"] ?? "").split(":").some((place) => existsSync(join(place, shell)));
}

test.runIf(has("zsh"))("zsh reads its script, and offers what bash offers", async () => {
  await run("zsh", ["-n", scripts.zsh]);
  const stubs =
    "compdef() { }; compadd() { shift; print -l -- $@ }; _files() { }; _describe() { print -l -- ${entries%%:*} }";
  const script = `${stubs}; source "$1"; words=(turnpike grant list --state ""); CURRENT=5; _turnpike; words=(turnpike grant ""); CURRENT=3; _turnpike`;
  const { stdout } = await run("zsh", ["-fc", script, "zsh", scripts.zsh]);
  expect(stdout.split("\n")).toEqual(expect.arrayContaining(["revoked", "create", "derive", "--help"]));
});

test.runIf(has("fish"))("fish reads its script, and offers what bash offers", async () => {
  await run("fish", ["--no-execute", scripts.fish]);
  const offered = async (line: string): Promise<string[]> => {
    const { stdout } = await run("fish", ["-Nc", `source ${scripts.fish}; complete -C ${JSON.stringify(line)}`]);
    return stdout.split("\n").map((found) => found.replace(/\t.*$/, ""));
  };
  expect(await offered("turnpike grant list --state re")).toContain("revoked");
  expect(await offered("turnpike grant ")).toEqual(expect.arrayContaining(["create", "derive", "list", "revoke"]));
  expect(await offered("turnpike completion ")).toEqual(expect.arrayContaining(["bash", "zsh", "fish"]));
});
