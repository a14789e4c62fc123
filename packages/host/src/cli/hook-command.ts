import { homedir } from "node:os";
import { resolve } from "node:path";
import { Argument, Option, type Command } from "commander";
import { codingAgents, type CodingAgent } from "../agent-hooks/index.ts";
import { ConfigError } from "../shared/index.ts";
import type { Show } from "./connection.ts";
import { hintLine } from "./format.ts";
import { runHookLine, waitOf, type hookFlags } from "./hook.ts";
import { oneLine } from "./table.ts";

const flags = {
  url: ["--url <url>", "the host to ask; or set TURNPIKE_URL. Nothing in the working directory names it"],
  "token-file": ["--token-file <file>", "file with the credential's token; or set TURNPIKE_TOKEN"],
  agent: [
    "--agent <name>",
    `the agent whose words are spoken: ${codingAgents.join(" or ")}; told by what it sends unless given`,
  ],
  wait: ["--wait <seconds>", "for how long a person who is asked may take for an answer, 0 to 60"],
  shadow: ["--shadow", "let everything run, and record what would have been decided"],
} satisfies Record<keyof typeof hookFlags, readonly [string, string]>;

function checkedWait(wait: string): string {
  try {
    return String(waitOf({ wait }));
  } catch (error) {
    throw new ConfigError((error as Error).message);
  }
}

/** `hook`: for coding agents, which run it before and after each of their tools. */
export function addHookCommand(program: Command, show: Show, onRefusal: () => void): void {
  const hook = program
    .command("hook")
    .enablePositionalOptions()
    .description(
      "Answer a hook of Claude Code or Codex, whose JSON is on standard input, in its words. Exits with 0 or 2; what cannot be decided is denied.",
    )
    .addHelpText("after", "\nExample:\n  turnpike hook --agent codex --wait 30")
    .exitOverride();
  for (const [text, description] of Object.values(flags)) hook.addOption(new Option(text, description));
  hook.action(async (_given: object, command: Command) => {
    // The program runs a hook without this command; here is who calls it as a function.
    const args = Object.entries(command.opts<Record<string, string | true>>()).flatMap(([name, value]) => {
      const flag = `--${name === "tokenFile" ? "token-file" : name}`;
      return value === true ? [flag] : [flag, value];
    });
    if ((await runHookLine(args, process.env)) !== 0) onRefusal();
  });
  hook
    .command("install")
    .description("Add the hooks to the settings of a coding agent, for all of your projects. What is there stays.")
    .addHelpText("after", "\nExample:\n  turnpike hook install claude-code --project")
    .addArgument(new Argument("<agent>", "the agent").choices(codingAgents))
    .option("--project", "for the project in the working directory alone, where they are shared with it")
    .option(
      "--token-file <file>",
      "file with the credential's token, which the hooks then read; the token itself is not written",
    )
    .addOption(new Option(...flags.wait).argParser(checkedWait))
    .option("--shadow", "let everything run, and record what would have been decided")
    .option("--json", "print JSON")
    .exitOverride()
    .action(
      async (
        agent: CodingAgent,
        given: { project?: boolean; tokenFile?: string; wait?: string; shadow?: boolean; json?: boolean },
      ) => {
        const { installHooks } = await import("./hook-install.ts");
        const words = [
          "hook",
          "--agent",
          agent,
          ...(given.tokenFile === undefined ? [] : ["--token-file", resolve(given.tokenFile)]),
          ...(given.wait === undefined ? [] : ["--wait", given.wait]),
          ...(given.shadow === true ? ["--shadow"] : []),
        ];
        const command = hintLine(words);
        const installed = installHooks(agent, given.project === true ? "." : homedir(), command);
        const done = installed.kind === "written" ? `Wrote ${installed.file}` : `${installed.file} is as it was`;
        const needs = given.tokenFile === undefined ? "TURNPIKE_URL and TURNPIKE_TOKEN" : "TURNPIKE_URL";
        const lines = [
          oneLine(`${done}: ${installed.events.join(", ")} run \`${command}\`.`),
          `The agent has to be started with ${needs}. Until then it can run no tool.`,
        ];
        show(given, installed, lines.join("\n"));
      },
    );
}
