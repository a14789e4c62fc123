import { Command, Option } from "commander";
import { addAuditCommands } from "./audit-commands.ts";
import {
  failureJson,
  failureOf,
  failureText,
  isCommanderExit,
  isHelp,
  misuseOf,
  warningText,
} from "./command-failure.ts";
import { arrangeCommands } from "./command-order.ts";
import { addCompletionCommand } from "./completion.ts";
import { addBackupCommand } from "./backup-command.ts";
import type { Show } from "./connection.ts";
import { addContextCommands } from "./context-commands.ts";
import { addContextTenants } from "./context-tenant.ts";
import { addConsoleCommand } from "./console-command.ts";
import { addCredentialCommands } from "./credential-commands.ts";
import { addDatabaseCommands } from "./database-commands.ts";
import { addEscalationCommands } from "./escalation-commands.ts";
import { addFilesCommands } from "./files-commands.ts";
import { type HostPlace, locateHost } from "./find-host.ts";
import { addGrantCommands } from "./grant-commands.ts";
import { addHookCommand } from "./hook-command.ts";
import { addLoginCommands } from "./login-commands.ts";
import { addMcpCommand } from "./mcp-command.ts";
import { addMcpReview } from "./mcp-review.ts";
import { addMcpSuggest } from "./mcp-suggest.ts";
import { addMessageCommands } from "./message-commands.ts";
import { addStrictFlags, prepareHints } from "./name-hints.ts";
import { addNamespaceCommands } from "./namespace-commands.ts";
import { addOverviewCommands } from "./overview-commands.ts";
import { addInvariantCommands } from "./invariant-commands.ts";
import { addConnectionCommands } from "./connection-commands.ts";
import { addPersonCommands } from "./person-commands.ts";
import { addReachCommands } from "./reach-commands.ts";
import { addRestoreCommand } from "./restore-command.ts";
import { jsonText, linesOf } from "./table.ts";
import { addTenantCommands } from "./tenant-commands.ts";
import { addToolsCommands } from "./tools-commands.ts";
import { addWebhookCommands } from "./webhook-commands.ts";
import { addTurnCommand } from "./turn-command.ts";
import { addWhyCommand } from "./why-command.ts";
import { ConfigError, programName, setProgramName, version } from "../shared/index.ts";
import type { ConfigSources, Finding, Settings } from "../compose/index.ts";

const refusedCode = 1;
/** Agents run the tool after any other code. */
const hookRefusedCode = 2;

const whereHostsAreFound =
  "A command finds its host, its token and its tenant in its flags, then in the environment (TURNPIKE_URL, TURNPIKE_TOKEN, " +
  "TURNPIKE_ADMIN_TOKEN), then in the current context of `turnpike login`, then in turnpike.config.json and .turnpike of the " +
  "working directory. When you name a host or a database yourself, nothing of the context is used.";

export { startedAs } from "./started-as.ts";

/** The commands that are clients of a running host. */
const clientCommands: readonly ((program: Command, show: Show) => void)[] = [
  addCredentialCommands,
  addPersonCommands,
  addConnectionCommands,
  addGrantCommands,
  addNamespaceCommands,
  addToolsCommands,
  addEscalationCommands,
  addAuditCommands,
  addTenantCommands,
  addOverviewCommands,
  addReachCommands,
  addInvariantCommands,
  addWhyCommand,
  addFilesCommands,
  addMessageCommands,
  addTurnCommand,
  addWebhookCommands,
  addConsoleCommand,
  addBackupCommand,
  addRestoreCommand,
  addDatabaseCommands,
  addLoginCommands,
  addContextCommands,
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
export async function runCommand(args: readonly string[], startedAs = "turnpike"): Promise<number> {
  setProgramName(startedAs);
  let code = 0;
  let place: HostPlace | undefined;
  const isJson = asksForJson(args);
  const show: Show = ({ json }, answer, text, exitCode = 0) => {
    print(json === true ? jsonText(answer) : text);
    code = exitCode;
  };
  const program = new Command("turnpike")
    // Commander's errors are told as every other failure is; help that it shows in the place of one is for people.
    // Commands in help are of this program, as it was started.
    .configureOutput({
      outputError() {},
      writeOut: (help) => void process.stdout.write(asStarted(help)),
      writeErr: (help) => void (isJson || process.stderr.write(asStarted(help))),
    })
    .hook("preAction", (_, command) => {
      place = locateHost(command, process.env);
      prepareHints(command, (line) => void process.stderr.write(`${line}\n`));
    })
    .description(
      `The gate that every agent turn, tool call, resource operation and message passes.\n\n${whereHostsAreFound}`,
    )
    .version(version)
    // A command with flags and commands of its own tells them apart by their place.
    .enablePositionalOptions()
    .exitOverride();
  withConfigFlags(program.command("serve"))
    .description("Run the host.")
    .addHelpText("after", "\nExample:\n  turnpike serve --demo")
    .option("--demo", "fill an empty database with a small world to try things on")
    .option("--no-token-file", "keep the operator's token off the disk: it is shown once, when it is made")
    .option("--new-operator-token", "make a new operator's token, and revoke the one that the host made before")
    .option("--json", "print where it runs, and why it does not start, as a line of JSON")
    .option("--print-config", "show the configuration in force, without secrets, and stop")
    .action(async (flags: ServeFlags) => {
      const set = flags.tokenFile ? flags.set : { ...flags.set, "admin.tokenFile": "false" };
      const { loadConfig, withoutSecrets } = await import("../compose/index.ts");
      const config = loadConfig(sourcesOf({ ...flags, set }, isJson));
      if (flags.printConfig === true) print(JSON.stringify(withoutSecrets(config), null, 2));
      else {
        const { runHost } = await import("./run-host.ts");
        const isNewOperatorTokenWanted = flags.newOperatorToken === true;
        await runHost(config, { isDemo: flags.demo === true, isNewOperatorTokenWanted, isJson }, print);
      }
    });
  withConfigFlags(program.command("doctor"))
    .description("Check everything the host needs.")
    .addHelpText("after", "\nExample:\n  turnpike doctor --port 9000")
    .option("--json", "print JSON")
    .action(async (flags: ConfigFlags & { json?: boolean }) => {
      const { examine } = await import("../compose/index.ts");
      const findings = await examine(sourcesOf(flags, isJson));
      const mark = ({ isOk, isWarning }: Finding): string => (isOk ? (isWarning === true ? "WARN" : "ok ") : "BAD");
      const lines = findings.map((finding) => `${mark(finding)} ${finding.check}: ${finding.says}`);
      print(flags.json === true ? JSON.stringify(findings, null, 2) : linesOf(lines.join("\n")));
      if (findings.some(({ isOk }) => !isOk)) code = refusedCode;
    });
  for (const addCommands of clientCommands) addCommands(program, show);
  const mcp = addMcpCommand(program, () => (code = refusedCode));
  addMcpReview(mcp, show);
  addMcpSuggest(mcp);
  addHookCommand(program, show, () => (code = hookRefusedCode));
  program
    .command("openapi")
    .description("Print the API description.")
    .addHelpText("after", "\nExample:\n  turnpike openapi > openapi.json")
    .action(async () => {
      const { hostOpenApi } = await import("../protocols/pages/index.ts");
      print(JSON.stringify(hostOpenApi(), null, 2));
    });

  addCompletionCommand(program, print);
  addStrictFlags(program);
  addContextTenants(program);
  arrangeCommands(program);

  try {
    await program.parseAsync([...args], { from: "user" });
    return code;
  } catch (error) {
    if (isCommanderExit(error) && error.exitCode === 0) return 0;
    const failure = isCommanderExit(error) ? misuseOf(error, args, flagsOf(program)) : failureOf(error, place);
    const text = isJson ? failureJson(failure) : failureText(failure);
    if (isJson || !isHelp(error)) process.stderr.write(`${text}\n`);
    return failure.exitCode;
  }
}

function asStarted(help: string): string {
  return help.replaceAll(/(^ {2}|`)turnpike(?=\s)/gm, (_, before: string) => `${before}${programName()}`);
}

/** Every flag of a command and of those below it. */
function flagsOf(command: Command): string[] {
  return [...command.options.flatMap(({ long }) => long ?? []), ...command.commands.flatMap(flagsOf)];
}

/** Whether `--json` is among the flags, also of a command line that cannot be parsed. */
function asksForJson(args: readonly string[]): boolean {
  const end = args.indexOf("--");
  return args.slice(0, end === -1 ? args.length : end).includes("--json");
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

function sourcesOf({ config, host, port, database, set }: ConfigFlags, isJson: boolean): ConfigSources {
  const flags = {
    ...set,
    ...(host !== undefined && { "listen.host": host }),
    ...(port !== undefined && { "listen.port": port }),
    ...(database !== undefined && { database }),
  };
  const warn = (message: string): void => void process.stderr.write(`${warningText(message, isJson)}\n`);
  return { file: config, env: process.env, flags, warn };
}

function print(text: string): void {
  process.stdout.write(`${text}\n`);
}
