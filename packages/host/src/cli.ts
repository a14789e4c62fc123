import { join } from "node:path";
import { Command, Option } from "commander";
import { openApiDocument } from "turnpike/http";
import { dataFolder } from "./admin/admin-token.ts";
import { addAccessCommands } from "./commands/access-commands.ts";
import { ConfigError, loadConfig, withoutSecrets, type Config, type Settings } from "./config.ts";
import { isPostgres } from "./database/location.ts";
import { demoRuntime } from "./demo/demo-runtime.ts";
import { demoScreen } from "./demo/demo-screen.ts";
import { openDemoWorld } from "./demo/demo-world.ts";
import { examine } from "./doctor.ts";
import { createLog } from "./log.ts";
import { noRuntime } from "./runtimes.ts";
import { startHost } from "./serve.ts";
import { version } from "./version.ts";

const refused = 1;
const misused = 2;

interface ConfigFlags {
  config?: string;
  host?: string;
  port?: string;
  database?: string;
  set: Settings;
}

/** The `turnpike` command. Resolves with the exit code; `serve` resolves when it was told to stop. */
export async function runCommand(args: readonly string[]): Promise<number> {
  let code = 0;
  const program = new Command("turnpike")
    .description("The gate that every agent turn, tool call, resource operation and message passes.")
    .version(version)
    .exitOverride();
  withConfigFlags(program.command("serve"))
    .description("Run the host. Example: turnpike serve --demo")
    .option("--demo", "fill an empty database with a small world to try things on")
    .option("--print-config", "show the configuration in force, without secrets, and stop")
    .action(async (flags: ConfigFlags & { demo?: boolean; printConfig?: boolean }) => {
      const config = loadConfig(sourcesOf(flags));
      if (flags.printConfig === true) print(JSON.stringify(withoutSecrets(config), null, 2));
      else await serve(config, flags.demo === true);
    });
  withConfigFlags(program.command("doctor"))
    .description("Check everything the host needs. Example: turnpike doctor --port 9000")
    .option("--json", "print JSON")
    .action(async (flags: ConfigFlags & { json?: boolean }) => {
      const findings = await examine(sourcesOf(flags));
      const lines = findings.map(({ check, isOk, says }) => `${isOk ? "ok " : "BAD"} ${check}: ${says}`);
      print(flags.json === true ? JSON.stringify(findings, null, 2) : lines.join("\n"));
      if (findings.some(({ isOk }) => !isOk)) code = refused;
    });
  addAccessCommands(program, print);
  program
    .command("openapi")
    .description("Print the API description. Example: turnpike openapi > openapi.json")
    .action(() => print(JSON.stringify(openApiDocument({ title: "Turnpike", version }), null, 2)));

  try {
    await program.parseAsync([...args], { from: "user" });
    return code;
  } catch (error) {
    if (isCommanderExit(error)) return error.exitCode === 0 ? 0 : misused;
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
    return error instanceof ConfigError ? misused : refused;
  }
}

/** Runs until SIGTERM or SIGINT, whenever that comes. */
async function serve(config: Config, isDemo: boolean): Promise<void> {
  const told = new Promise<void>((resolve) => {
    process.on("SIGTERM", resolve);
    process.on("SIGINT", resolve);
  });
  const log = createLog(isDemo ? { level: "warn" } : config.log);
  const host = await startHost(config, { log, runtime: isDemo ? demoRuntime : noRuntime });
  try {
    if (isDemo) print(demoScreen(host.url, await openDemoWorld(host.stores, tokenFile(config))));
    else print(emptyScreen(host.url, config));
    await told;
  } finally {
    await host.close();
  }
}

function tokenFile(config: Config): string {
  return join(dataFolder(config), "demo-tokens.json");
}

function emptyScreen(url: string, { database }: Config): string {
  const where = `--url ${url}${isPostgres(database) ? "" : ` --database ${database}`}`;
  return `Turnpike runs at ${url}
  health ${url}/health   ready ${url}/ready   api ${url}/docs

Nobody may do anything yet. The first credential and the first grant, from another terminal:
  turnpike credential create ${where} --tenant acme --actor agent:assistant --owner human:alice --purpose support
  turnpike grant create ${where} --tenant acme --to agent:assistant --from human:alice --resource files/notes --action read list`;
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

function sourcesOf({ config, host, port, database, set }: ConfigFlags): Parameters<typeof loadConfig>[0] {
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

function print(text: string): void {
  process.stdout.write(`${text}\n`);
}
