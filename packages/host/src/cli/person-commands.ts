import type { Command } from "commander";
import { principalText } from "../display/index.ts";
import type { AdminOutput } from "../admin-contract/index.ts";
import { requestAdmin } from "./admin-request.ts";
import { asOperator, withPageFlags, type OperatorFlags, type PageFlags, type Show } from "./connection.ts";
import { readPrincipal } from "./flags.ts";
import { type Column, renderTable, withMore, withTenant } from "./table.ts";

interface ListFlags extends OperatorFlags, PageFlags {
  tenant?: string;
}

interface OneFlags extends OperatorFlags {
  tenant: string;
}

type Person = AdminOutput<"listPeople">["people"][number];

/** `person list | revoke | restore`. */
export function addPersonCommands(program: Command, show: Show): void {
  const people = program
    .command("person")
    .description("See who signs in with an identity provider, and shut a user out.")
    .exitOverride();
  withPageFlags(asOperator(people.command("list"), "List who has signed in.", "turnpike person list --tenant acme"))
    .option("--tenant <id>", "only those of this tenant; of all that you may see unless given")
    .action(async (flags: ListFlags) => {
      const { tenant: namespaceId, limit, cursor } = flags;
      const answer = await requestAdmin(flags, "listPeople", { namespaceId, limit, cursor });
      show(flags, answer, tableOf(answer, flags));
    });
  asOperator(
    people.command("revoke"),
    "End the sessions of a person and the clients that act for them, and let them in no more.",
    "turnpike person revoke human:alice --tenant acme",
  )
    .argument("<kind:id>", "the person")
    .requiredOption("--tenant <id>", "the tenant that they sign in to")
    .action(async (name: string, flags: OneFlags) => {
      const principal = readPrincipal("person", name);
      const answer = await requestAdmin(flags, "revokePerson", { namespaceId: flags.tenant, principal });
      const sessions = counted(answer.sessions, "session");
      const clients = counted(answer.connections, "client");
      show(flags, answer, `${principalText(principal)} is not let in any more; ended: ${sessions}, ${clients}.`);
    });
  asOperator(
    people.command("restore"),
    "Let a person in again who was revoked. What they held at their first sign-in is not granted again.",
    "turnpike person restore human:alice --tenant acme",
  )
    .argument("<kind:id>", "the person")
    .requiredOption("--tenant <id>", "the tenant that they sign in to")
    .action(async (name: string, flags: OneFlags) => {
      const principal = readPrincipal("person", name);
      const answer = await requestAdmin(flags, "restorePerson", { namespaceId: flags.tenant, principal });
      show(flags, answer, `${principalText(principal)} may sign in again.`);
    });
}

function counted(count: number, one: string): string {
  return `${count} ${one}${count === 1 ? "" : "s"}`;
}

function tableOf({ people, cursor }: AdminOutput<"listPeople">, flags: ListFlags): string {
  if (people.length === 0) return "No one has signed in with an identity provider.";
  return withMore(
    renderTable(
      withTenant(flags, ({ namespaceId }) => namespaceId, columns),
      people,
    ),
    cursor,
  );
}

const columns: readonly Column<Person>[] = [
  { heading: "WHO", value: ({ principal }) => principalText(principal), shrinks: 1 },
  { heading: "NAME", value: ({ name }) => name ?? "", shrinks: 1 },
  { heading: "AS", value: ({ kind }) => kind },
  { heading: "WITH", value: ({ issuer }) => issuer, shrinks: 2 },
  { heading: "LAST", value: ({ lastSignInAt }) => lastSignInAt },
  { heading: "STATE", value: ({ isRevoked }) => (isRevoked ? "revoked" : "") },
];
