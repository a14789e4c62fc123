import type { Command } from "commander";
import { capabilityText, constraintsText, principalText, resourceText, whoText } from "../display/index.ts";
import type { AdminOutput } from "../admin-contract/index.ts";
import { requestAdmin, requestList } from "./admin-request.ts";
import { asOperator, withPageFlags, type OperatorFlags, type PageFlags, type Show } from "./connection.ts";
import { addEverReach } from "./reach-ever.ts";
import { checkedPrincipal, readResource } from "./flags.ts";
import { type Column, oneLine, renderTable, withMore, withTenant } from "./table.ts";

interface ShowFlags extends OperatorFlags {
  tenant: string;
  actor: string;
  owner?: string;
  authority?: string;
  purpose?: string;
}

interface WhoFlags extends OperatorFlags, PageFlags {
  tenant: string;
  resource: string;
  owner?: string;
  action?: string;
}

/** `principal list` and `reach show | who`. */
export function addReachCommands(program: Command, show: Show): void {
  const principals = program.command("principal").description("List principals.").exitOverride();
  withPageFlags(
    asOperator(
      principals.command("list"),
      "List the principals that grants and credentials name.",
      "turnpike principal list --tenant acme --search agent:",
    ),
  )
    .option("--tenant <id>", "only those of this tenant; of all that you may see unless given")
    .option("--search <text>", "only those whose kind:id contains this")
    .action(async (flags: OperatorFlags & PageFlags & { tenant?: string; search?: string }) => {
      const { tenant: namespaceId, search, limit, cursor } = flags;
      const query = { namespaceId, search, limit, cursor };
      const answer = await requestList(flags, "listPrincipals", "principals", query);
      show(flags, answer, principalTable(answer, flags));
    });
  const reach = program.command("reach").exitOverride().enablePositionalOptions();
  addEverReach(reach, show);
  asOperator(
    reach.command("show"),
    "Show everywhere that a principal may act now, and the grants that say so.",
    "turnpike reach show --tenant acme --actor agent:assistant",
  )
    .requiredOption("--tenant <id>", "the tenant")
    .requiredOption("--actor <kind:id>", "who acts", checkedPrincipal("--actor"))
    .option("--owner <kind:id>", "only over what is theirs; any principal's unless given", checkedPrincipal("--owner"))
    .option(
      "--authority <kind:id>",
      "only by their grants; any principal's unless given",
      checkedPrincipal("--authority"),
    )
    .option("--purpose <purpose>", "what for; unless given, by grants that are good for any purpose alone")
    .action(async (flags: ShowFlags) => {
      const { tenant: namespaceId, actor, owner, authority, purpose } = flags;
      const answer = await requestAdmin(flags, "readReach", { namespaceId, actor, owner, authority, purpose });
      show(flags, answer, reachTable(answer, flags));
    });
  withPageFlags(
    asOperator(
      reach.command("who"),
      "Show who can reach a resource now, and by which chain of grants.",
      "turnpike reach who --tenant acme --resource files/notes/todo.md --action read",
    ),
  )
    .requiredOption("--tenant <id>", "the tenant")
    .requiredOption("--resource <namespace/path>", "where, such as files/notes/todo.md", (text) =>
      resourceText(readResource(text)),
    )
    .option("--owner <kind:id>", "whose resource; any principal's unless given", checkedPrincipal("--owner"))
    .option("--action <action>", "what is done there; anything unless given")
    .action(async (flags: WhoFlags) => {
      const { tenant: namespaceId, resource, owner, action, limit, cursor } = flags;
      const query = { namespaceId, resource, owner, action, limit, cursor };
      const answer = await requestList(flags, "listReachers", "reachers", query);
      show(flags, answer, reacherTable(answer));
    });
}

const principalColumns: readonly Column<AdminOutput<"listPrincipals">["principals"][number]>[] = [
  { heading: "PRINCIPAL", value: ({ principal }) => principalText(principal) },
  { heading: "HOLDS", value: ({ held }) => String(held) },
  { heading: "ISSUED", value: ({ issued }) => String(issued) },
  { heading: "CREDENTIALS", value: ({ credentials }) => String(credentials) },
];

function principalTable({ principals, cursor }: AdminOutput<"listPrincipals">, flags: { tenant?: string }): string {
  if (principals.length === 0) return withMore("There are no principals.", cursor);
  return withMore(
    renderTable(
      withTenant(flags, ({ namespaceId }) => namespaceId, principalColumns),
      principals,
    ),
    cursor,
  );
}

const reachColumns: readonly Column<AdminOutput<"readReach">["reach"][number]>[] = [
  {
    heading: "MAY",
    value: ({ namespace, path, owner, actions, scope, approval }) =>
      capabilityText({
        resource: { namespace, path, ...(owner && { owner }) },
        actions,
        scope,
        ...(approval && { approval }),
      }),
    shrinks: 1,
  },
  { heading: "BY", value: ({ grantIds }) => grantIds.join(", ") },
];

function reachTable({ reach }: AdminOutput<"readReach">, { tenant, actor, purpose }: ShowFlags): string {
  const what = purpose === undefined ? "by grants that are good for any purpose" : `for ${purpose}`;
  if (reach.length === 0) return oneLine(`${actor} may act nowhere in ${tenant} now, ${what}.`);
  return renderTable(reachColumns, reach);
}

function reacherTable({ reachers, cursor }: AdminOutput<"listReachers">): string {
  if (reachers.length === 0) return withMore("No principal can reach it now.", cursor);
  return withMore(renderTable(reacherColumns, reachers), cursor);
}

type Reacher = AdminOutput<"listReachers">["reachers"][number];

const reacherColumns: readonly Column<Reacher>[] = [
  { heading: "WHO", value: ({ principal }) => principalText(principal) },
  { heading: "MAY", value: ({ actions }) => actions.join(","), shrinks: 1 },
  { heading: "TERMS", value: termsText, shrinks: 2 },
  {
    heading: "BY",
    value: ({ chain }) => chain.map(({ id, issuer }) => `${id} from ${principalText(issuer)}`).join(" < "),
  },
];

function termsText({ owner, approval, purposes, expiresAt }: Reacher): string {
  const terms = [
    owner && `of ${whoText(owner)}`,
    approval && "needs approval",
    constraintsText({ ...(purposes && { purposes }), ...(expiresAt !== undefined && { expiresAt }) }),
  ];
  return terms.filter(Boolean).join(", ");
}
