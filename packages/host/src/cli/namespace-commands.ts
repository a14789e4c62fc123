import type { Command } from "commander";
import type { Settings } from "../management/index.ts";
import { requestAdmin } from "./admin-request.ts";
import { asOperator, type OperatorFlags, type Show } from "./connection.ts";
import { renderTable } from "./table.ts";
import { readPrincipal } from "./flags.ts";

interface SettingsFlags extends OperatorFlags {
  tenant: string;
  actor: string;
  expectedVersion?: string;
}

/** `namespace list | enable | disable`. */
export function addNamespaceCommands(program: Command, show: Show): void {
  const namespaces = program
    .command("namespace")
    .description("Switch tool namespaces of an actor on and off. Switching one on grants nothing.")
    .exitOverride();
  ofActor(
    asOperator(
      namespaces.command("list"),
      "Show which tool namespaces are on.",
      "turnpike namespace list --tenant acme --actor agent:assistant",
    ),
  ).action(async (flags: SettingsFlags) => {
    readPrincipal("--actor", flags.actor);
    const settings = await requestAdmin(flags, "readNamespaces", { namespaceId: flags.tenant, actor: flags.actor });
    show(flags, settings, settingsTable(settings));
  });
  for (const [verb, description] of [
    ["enable", "Switch tool namespaces on."],
    ["disable", "Switch tool namespaces off."],
  ] as const) {
    ofActor(
      asOperator(
        namespaces.command(verb),
        description,
        `turnpike namespace ${verb} files messages --tenant acme --actor agent:assistant`,
      ),
    )
      .argument("<namespaces...>", "their names")
      .option("--expected-version <version>", "change nothing if somebody else did since (see `list --json`)")
      .action(async (names: string[], flags: SettingsFlags) => {
        const settings = await requestAdmin(flags, "changeNamespaces", {
          namespaceId: flags.tenant,
          actor: readPrincipal("--actor", flags.actor),
          update: { [verb]: names },
          ...(flags.expectedVersion !== undefined && { expectedVersion: flags.expectedVersion }),
        });
        show(flags, settings, settingsTable(settings));
      });
  }
}

function ofActor(command: Command): Command {
  return command
    .requiredOption("--tenant <id>", "the actor's tenant")
    .requiredOption("--actor <kind:id>", "whose tools these are");
}

function settingsTable({ known, enabled }: Settings): string {
  return renderTable(
    ["NAMESPACE", "STATE"],
    known.map((name) => [name, enabled.includes(name) ? "on" : "off"]),
  );
}
