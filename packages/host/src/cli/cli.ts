import { Command, Option } from "commander";
import { ServiceClientError } from "turnpike/client";
import { addAuditCommands } from "./audit-commands.ts";
import type { Show } from "./connection.ts";
import { addCredentialCommands } from "./credential-commands.ts";
import { addEscalationCommands } from "./escalation-commands.ts";
import { addFilesCommands } from "./files-commands.ts";
import { addGrantCommands } from "./grant-commands.ts";
import { addMcpCommand } from "./mcp-command.ts";
import { addMcpReview } from "./mcp-review.ts";
import { addMcpSuggest } from "./mcp-suggest.ts";
import { addMessageCommands } from "./message-commands.ts";
import { addNamespaceCommands } from "./namespace-commands.ts";
import { jsonText } from "./table.ts";
import { addTenantCommands } from "./tenant-commands.ts";
import { addToolsCommands } from "./tools-commands.ts";
import { addTurnCommand } from "./turn-command.ts";
import { addWhyCommand } from "./why-command.ts";
import { ConfigError, version } from "../base/index.ts";
import type { ConfigSources, Finding, Settings } from "../compose/index.ts";

const refusedCode = 1;
const usageErrorCode = 2;

/** The commands that are clients of a running host. */
const clientCommands: readonly ((program: Command, show: Show) => void)[] = [
  addCredentialCommands,
  addGrantCommands,
  addNamespaceCommands,
  addToolsCommands,
  addEscalationCommands,
  addAuditCommands,
  addTenantCommands,
  addWhyCommand,
  addFilesCommands,
  addMessageCommands,
  addTurnCommand,
];

interface ConfigFlags {
  config?: string;
  host?: string;
  port?: string;
  database?: string;
  set: Settings;
}

interface ServeFlags extends ConfigFlags {
  demo?: boolean;
  printConfig?: boolean;
  /** True unless `--no-token-file` is given. */
  tokenFile: boolean;
  newOperatorToken?: boolean;
}

/**
 * The `turnpike` command. Resolves with the exit code; `serve` resolves when it was told to stop. What runs the host is
 * loaded when it runs: the other commands start without it.
 */
export async function runCommand(args: readonly string[]): Promise<number> {
  let code = 0;
  const program = new Command("turnpike")
    .description("The gate that every agent turn, tool call, resource operation and message passes.")
    .version(version)
    .showHelpAfterError("Add --help to see how it is used.")
    // A command that has flags and commands of its own keeps them apart by their place.
    .enablePositionalOptions()
    .exitOverride();
  withConfigFlags(program.command("serve"))
    .description("Run the host.")
    .addHelpText("after", "\nExample:\n  turnpike serve --demo")
    .option("--demo", "fill an empty database with a small world to try things on")
    .option("--no-token-file", "keep the operator's token off the disk: it is shown once, when it is made")
    .option("--new-operator-token", "make a new operator's token, and revoke the one that the host made before")
    .option("--print-config", "show the configuration in force, without secrets, and stop")
    .action(async (flags: ServeFlags) => {
      const set = flags.tokenFile ? flags.set : { ...flags.set, "admin.tokenFile": "false" };
      const { loadConfig, withoutSecrets } = await import("../compose/index.ts");
      const config = loadConfig(sourcesOf({ ...flags, set }));
      if (flags.printConfig === true) print(JSON.stringify(withoutSecrets(config), null, 2));
      else {
        const { runHost } = await import("./run-host.ts");
        const isNewOperatorTokenWanted = flags.newOperatorToken === true;
        await runHost(config, { isDemo: flags.demo === true, isNewOperatorTokenWanted }, print);
      }
    });
  withConfigFlags(program.command("doctor"))
    .description("Check everything the host needs.")
    .addHelpText("after", "\nExample:\n  turnpike doctor --port 9000")
    .option("--json", "print JSON")
    .action(async (flags: ConfigFlags & { json?: boolean }) => {
      const { examine } = await import("../compose/index.ts");
      const findings = await examine(sourcesOf(flags));
      const mark = ({ isOk, isWarning }: Finding): string => (isOk ? (isWarning === true ? "WARN" : "ok ") : "BAD");
      const lines = findings.map((finding) => `${mark(finding)} ${finding.check}: ${finding.says}`);
      print(flags.json === true ? JSON.stringify(findings, null, 2) : lines.join("\n"));
      if (findings.some(({ isOk }) => !isOk)) code = refusedCode;
    });
  for (const addCommands of clientCommands) addCommands(program, show);
  const mcp = addMcpCommand(program, () => (code = refusedCode));
  addMcpReview(mcp, show);
  addMcpSuggest(mcp);
  program
    .command("openapi")
    .description("Print the API description.")
    .addHelpText("after", "\nExample:\n  turnpike openapi > openapi.json")
    .action(async () => {
      const { hostOpenApi } = await import("../protocols/pages/index.ts");
      print(JSON.stringify(hostOpenApi(), null, 2));
    });

  try {
    await program.parseAsync([...args], { from: "user" });
    return code;
  } catch (error) {
    if (isCommanderExit(error)) return error.exitCode === 0 ? 0 : usageErrorCode;
    process.stderr.write(`${messageFor(error)}\n`);
    return error instanceof ConfigError ? usageErrorCode : refusedCode;
  }
}

/** The message of a failed command for the person at the terminal. */
function messageFor(error: unknown): string {
  if (!(error instanceof ServiceClientError)) return error instanceof Error ? error.message : String(error);
  if (error.status === 0) return "No host answers there. Start one with: turnpike serve";
  const next = error.code === "unauthenticated" ? "\nThe token is unknown, expired or revoked." : "";
  return `Refused (${error.code}): ${error.message}${next}`;
}

function withConfigFlags(command: Command): Command {
  return command
    .option("--config <file>", "configuration file (turnpike.config.json when it exists)")
    .option("--host <address>", "address to listen on")
    .option("--port <number>", "port to listen on, 0 for any that is free")
    .option("--database <location>", "postgres:// URL, or path of an SQLite file")
    .addOption(
      new Option("--set <key=value>", "any other setting, such as limits.burst=200").argParser(collect).default({}),
    )
    .exitOverride();
}

function collect(setting: string, settings: Settings): Settings {
  const [, key, value] = /^([\w.]+)=(.*)$/.exec(setting) ?? [];
  if (key === undefined || value === undefined) throw new ConfigError(`--set ${setting}: expected key=value.`);
  return { ...settings, [key]: value };
}

function sourcesOf({ config, host, port, database, set }: ConfigFlags): ConfigSources {
  const flags = {
    ...set,
    ...(host !== undefined && { "listen.host": host }),
    ...(port !== undefined && { "listen.port": port }),
    ...(database !== undefined && { database }),
  };
  return { file: config, env: process.env, flags };
}

function isCommanderExit(error: unknown): error is { exitCode: number } {
  return (
    error instanceof Error && "exitCode" in error && "code" in error && String(error.code).startsWith("commander.")
  );
}

const show: Show = ({ json }, answer, text) => print(json === true ? jsonText(answer) : text);

function print(text: string): void {
  process.stdout.write(`${text}\n`);
}
