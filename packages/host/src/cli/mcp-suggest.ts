import type { Command } from "commander";
import type { ServerTrial } from "../mcp-servers/index.ts";
import { oneLine } from "./table.ts";

/** `mcp suggest`: rules to begin with, as JSON on standard output. Everything else is on standard error. */
export function addMcpSuggest(mcp: Command): void {
  mcp
    .command("suggest")
    .description(
      "Connect to a configured MCP server and print rules to begin with, as JSON for mcp.servers.<server>.rules.",
    )
    .addHelpText("after", "\nExample:\n  turnpike mcp suggest mail > rules.json")
    .argument("<server>", "the server's name in the configuration")
    .option("--config <file>", "configuration file (turnpike.config.json when it exists)")
    .exitOverride()
    .action(async (server: string, { config }: { config?: string }) => {
      process.stdout.write(`${await suggestionFor(server, config, hint)}\n`);
    });
}

async function suggestionFor(name: string, file: string | undefined, say: (line: string) => void): Promise<string> {
  const { loadConfig } = await import("../compose/index.ts");
  const { suggestRules, tryServers } = await import("../mcp-servers/index.ts");
  const { servers = {} } = loadConfig({ file, env: process.env, flags: {} }).mcp ?? {};
  const server = Object.hasOwn(servers, name) ? servers[name] : undefined;
  if (server === undefined) throw new Error(unknownServer(name, Object.keys(servers)));
  const { rules: _present, ...unruled } = server;
  const [trial] = await tryServers({ servers: { [name]: unruled } }, { env: process.env });
  if (trial?.kind !== "answers") throw new Error(`The MCP server ${name}: ${whyNot(trial)}`);
  const { rules, without } = suggestRules([...trial.tools.values()].map(({ descriptor }) => descriptor));
  say(
    "These rules are guesses from names and descriptions. Edit them: a grant binds what a rule names, and nothing else.",
  );
  for (const tool of without) say(`No rule for ${tool}: a grant for it is a grant for every call of it.`);
  const lines = Object.entries(rules).map(([tool, rule]) => `  ${JSON.stringify(tool)}: ${JSON.stringify(rule)}`);
  return lines.length === 0 ? "{}" : `{\n${lines.join(",\n")}\n}`;
}

function unknownServer(name: string, known: readonly string[]): string {
  const others = known.length === 0 ? "The configuration names no server." : `It has ${known.join(", ")}.`;
  return oneLine(`There is no MCP server ${name} in the configuration. ${others} Name the file with --config.`);
}

function whyNot(trial: ServerTrial | undefined): string {
  return trial?.kind === "fails" ? trial.why : "it takes an owner's credentials, and none are used for this.";
}

function hint(line: string): void {
  process.stderr.write(`${oneLine(line)}\n`);
}
