import type { Command } from "commander";
import { principalText } from "../display/index.ts";
import type { Settings } from "../admin-contract/index.ts";
import { requestAdmin, requestList } from "./admin-request.ts";
import { asOperator, withPageFlags, type OperatorFlags, type PageFlags, type Show } from "./connection.ts";
import { type Column, renderTable, withMore, withTenant } from "./table.ts";
import { checkedPrincipal, readPrincipal } from "./flags.ts";

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
  withPageFlags(
    asOperator(
      namespaces.command("list"),
      "Show which tool namespaces are on: of one actor, or of all that have any settings.",
      "turnpike namespace list --tenant acme --actor agent:assistant",
    ),
  )
    .option("--tenant <id>", "the actor's tenant; all that you may see unless given")
    .option("--actor <kind:id>", "whose tools these are; any principal's unless given", checkedPrincipal("--actor"))
    .action(async (flags: OperatorFlags & PageFlags & { tenant?: string; actor?: string }) => {
      const { tenant: namespaceId, actor, limit, cursor } = flags;
      if (namespaceId !== undefined && actor !== undefined) {
        const settings = await requestAdmin(flags, "readNamespaces", { namespaceId, actor });
        return show(flags, settings, settingsTable(settings));
      }
      const query = { namespaceId, actor, limit, cursor };
      const answer = await requestList(flags, "listNamespaces", "settings", query);
      const columns = withTenant(flags, (one) => one.namespaceId, actorColumns);
      const table = answer.settings.length === 0 ? "There are no settings." : renderTable(columns, answer.settings);
      show(flags, answer, withMore(table, answer.cursor));
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
      .option("--expected-version <version>", "change nothing if another operator did since (see `list --json`)")
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

const actorColumns: readonly Column<Settings>[] = [
  { heading: "ACTOR", value: ({ actor }) => principalText(actor) },
  { heading: "ON", value: ({ enabled }) => enabled.join(","), shrinks: 1 },
];

function settingsTable({ known, enabled }: Settings): string {
  const columns: readonly Column<string>[] = [
    { heading: "NAMESPACE", value: (name) => name },
    { heading: "STATE", value: (name) => (enabled.includes(name) ? "on" : "off") },
  ];
  return renderTable(columns, known);
}
