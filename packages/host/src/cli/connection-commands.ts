import type { Command } from "commander";
import { capabilityText, constraintsText, principalText, visibleText } from "../display/index.ts";
import type { AdminOutput } from "../admin-contract/index.ts";
import { requestAdmin } from "./admin-request.ts";
import { asOperator, withPageFlags, type OperatorFlags, type PageFlags, type Show } from "./connection.ts";
import { type Column, renderTable, withMore, withTenant } from "./table.ts";

interface ListFlags extends OperatorFlags, PageFlags {
  tenant?: string;
}

interface OneFlags extends OperatorFlags {
  tenant: string;
}

type Connection = AdminOutput<"listConnections">["connections"][number];

/** `connection list | show | revoke`. */
export function addConnectionCommands(program: Command, show: Show): void {
  const connections = program
    .command("connection")
    .description("See the clients that act for people, and end one.")
    .exitOverride();
  withPageFlags(
    asOperator(
      connections.command("list"),
      "List the clients that act for people.",
      "turnpike connection list --tenant acme",
    ),
  )
    .option("--tenant <id>", "only those of this tenant; of all that you may see unless given")
    .action(async (flags: ListFlags) => {
      const { tenant: namespaceId, limit, cursor } = flags;
      const answer = await requestAdmin(flags, "listConnections", { namespaceId, limit, cursor });
      show(flags, answer, tableOf(answer, flags));
    });
  asOperator(
    connections.command("show"),
    "Show what a client may do for a person.",
    "turnpike connection show 0a1b2c3d4e5f6071 --tenant acme",
  )
    .argument("<id>", "the connection")
    .requiredOption("--tenant <id>", "the tenant of its person")
    .action(async (id: string, flags: OneFlags) => {
      const answer = await requestAdmin(flags, "showConnection", { namespaceId: flags.tenant, id });
      show(flags, answer, textOf(answer));
    });
  asOperator(
    connections.command("revoke"),
    "End a client that acts for a person: its tokens, and what the person granted it.",
    "turnpike connection revoke 0a1b2c3d4e5f6071 --tenant acme",
  )
    .argument("<id>", "the connection")
    .requiredOption("--tenant <id>", "the tenant of its person")
    .action(async (id: string, flags: OneFlags) => {
      const answer = await requestAdmin(flags, "revokeConnection", { namespaceId: flags.tenant, id });
      show(
        flags,
        answer,
        `The connection ${id} has ended. The client acts for no one until a person lets it in again.`,
      );
    });
}

function tableOf({ connections, cursor }: AdminOutput<"listConnections">, flags: ListFlags): string {
  if (connections.length === 0) return "No client acts for a person.";
  return withMore(
    renderTable(
      withTenant(flags, ({ namespaceId }) => namespaceId, columns),
      connections,
    ),
    cursor,
  );
}

const columns: readonly Column<Connection>[] = [
  { heading: "ID", value: ({ id }) => id },
  { heading: "CLIENT", value: ({ clientName }) => visibleText(clientName), shrinks: 1 },
  { heading: "FOR", value: ({ principal }) => principalText(principal), shrinks: 1 },
  { heading: "ANSWERED AT", value: ({ redirect }) => redirect, shrinks: 2 },
  { heading: "SINCE", value: ({ createdAt }) => createdAt },
  { heading: "LAST USED", value: ({ lastUsedAt }) => lastUsedAt ?? "" },
  { heading: "STATE", value: ({ endedAt }) => (endedAt === undefined ? "" : "ended") },
];

function textOf({ connection, grants }: AdminOutput<"showConnection">): string {
  const { id, clientName, principal, redirect, createdAt, endedAt } = connection;
  const since = endedAt === undefined ? `since ${createdAt}` : `from ${createdAt} to ${endedAt}`;
  const lines = grants.map(({ id: grantId, capabilities, constraints, revokedAt }) => {
    const terms = constraintsText(constraints);
    const state = revokedAt === undefined ? "" : `, revoked ${revokedAt}`;
    return `  ${grantId}: ${capabilities.map(capabilityText).join("; ")}${terms === "" ? "" : `, ${terms}`}${state}`;
  });
  return [
    `agent:${id} is ${visibleText(clientName)}, answered at ${redirect}, for ${principalText(principal)}, ${since}.`,
    ...(lines.length === 0 ? ["It was granted nothing."] : ["It was granted:", ...lines]),
  ].join("\n");
}
