import type { Command, Option } from "commander";
import { ConfigError } from "../shared/index.ts";

/** The commands that need a tenant, which a context may give them. */
const needing = new WeakSet<Command>();

/** Commands whose tenant does not say what they read, but what they make; for some, a file says it. */
const ownTenant: ReadonlySet<string> = new Set(["credential operator", "grant apply", "grant import", "login"]);

/** Commands that are about something else without `--tenant`: when the tenant of a context is meant all the same. */
const sometimes: Readonly<Record<string, (flags: Readonly<Record<string, unknown>>) => boolean>> = {
  "audit verify": ({ file }) => file === undefined,
  "tools list": ({ as }) => as !== undefined,
  "turn show": isOperators,
  "turn list": isOperators,
  "turn cancel": isOperators,
};

function isOperators({ token, tokenFile }: Readonly<Record<string, unknown>>): boolean {
  return token === undefined && tokenFile === undefined && process.env["TURNPIKE_TOKEN"] === undefined;
}

/** Prepares every command that takes a tenant for one from a context. */
export function addContextTenants(program: Command): void {
  for (const command of allCommands(program)) {
    const tenant = optionOf(command, "--tenant");
    if (tenant === undefined || ownTenant.has(pathOf(command)) || optionOf(command, "--url") === undefined) continue;
    if (tenant.mandatory) {
      needing.add(command);
      // Checked once more when the context is known.
      tenant.mandatory = false;
    } else if (sometimes[pathOf(command)] === undefined)
      command.option("--all-tenants", "of all that you may see, also when your context has a tenant");
  }
}

/** Gives a command the tenant of its context, unless it was given one. Ends one that needs a tenant and has none. */
export function giveTenant(command: Command, tenant: string | undefined): void {
  const option = optionOf(command, "--tenant");
  const flags = command.opts<Record<string, unknown>>();
  if (flags["tenant"] !== undefined && flags["allTenants"] === true)
    throw new ConfigError("--all-tenants: expected it or --tenant, not both.");
  if (option === undefined || flags["tenant"] !== undefined) return;
  const path = pathOf(command);
  const isMeant = !ownTenant.has(path) && flags["allTenants"] !== true && (sometimes[path]?.(flags) ?? true);
  if (tenant !== undefined && isMeant) command.setOptionValueWithSource("tenant", tenant, "implied");
  else if (needing.has(command))
    command.error(`error: required option '${option.flags}' not specified`, {
      code: "commander.missingMandatoryOptionValue",
    });
}

function allCommands(command: Command): Command[] {
  return [command, ...command.commands.flatMap(allCommands)];
}

function optionOf(command: Command, long: string): Option | undefined {
  return command.options.find((option) => option.long === long);
}

function pathOf(command: Command): string {
  const { parent } = command;
  return parent?.parent ? `${parent.name()} ${command.name()}` : command.name();
}
