import { randomBytes } from "node:crypto";
import type { Command } from "commander";
import type { Constraints } from "turnpike/contracts";
import { ConfigError } from "../shared/index.ts";
import { constraintsText, grantText, principalText } from "../display/index.ts";
import type { AdminOutput, GrantEntry } from "../admin-contract/index.ts";
import { requestAdmin, requestList } from "./admin-request.ts";
import { asOperator, withPageFlags, type OperatorFlags, type PageFlags, type Show } from "./connection.ts";
import { addGrantShow } from "./grant-show.ts";
import { addGrantFileCommands } from "./grant-file-commands.ts";
import { descendantLines, showPreview, withPreview } from "./grant-preview.ts";
import { type Column, oneLine, renderTable, withMore, withTenant } from "./table.ts";
import { checkedPrincipal, readChoice, readCount, readExpiry, readPrincipal, readResource } from "./flags.ts";

interface GrantFlags extends OperatorFlags {
  tenant: string;
  to: string;
  from: string;
  id?: string;
  resource: string;
  owner?: string;
  action: string[];
  exact?: boolean;
  approval?: string;
  purpose?: string[];
  expires?: string;
  uses?: string;
  depth?: string;
  preview?: boolean;
}

interface ListFlags extends OperatorFlags, PageFlags {
  tenant?: string;
  to?: string;
  from?: string;
  state?: string;
  resource?: string;
}

/** `grant create | derive | list | show | revoke | export | suggest | apply | import | diff`. */
export function addGrantCommands(program: Command, show: Show): void {
  const grants = program
    .command("grant")
    .description("Issue, derive, list and revoke grants, one by one or as a file.")
    .exitOverride();
  withPreview(
    withTerms(
      asOperator(
        grants.command("create"),
        "Issue a grant.",
        "turnpike grant create --tenant acme --to agent:assistant --from human:alice --resource files/notes --action read",
      ),
    ),
  )
    .requiredOption("--from <kind:id>", "who grants it")
    .requiredOption("--resource <namespace/path>", "where, such as files/notes")
    .requiredOption("--action <actions...>", "what may be done there")
    .action(async (flags: GrantFlags) => {
      const grant = {
        id: flags.id ?? freshId(),
        namespaceId: flags.tenant,
        subject: readPrincipal("--to", flags.to),
        issuer: readPrincipal("--from", flags.from),
        capabilities: [capabilityOf(flags)],
        constraints: constraintsOf(flags),
        issuedAt: new Date().toISOString(),
      };
      if (flags.preview === true) return showPreview(flags, { draft: grant }, show);
      const issued = await requestAdmin(flags, "createGrant", grant);
      show(flags, issued, `Issued ${oneLine(issued.id)}.`);
    });
  withPreview(
    withTerms(
      asOperator(
        grants.command("derive"),
        "Issue a grant that is no wider than the one it is derived from, issued by the holder of that grant.",
        "turnpike grant derive grant-1 --tenant acme --to agent:helper --resource files/notes/todo.md --exact --action read",
      ),
    ),
  )
    .argument("<parent>", "the id of the grant to derive from")
    .option("--resource <namespace/path>", "where; all that the parent covers unless given")
    .option("--action <actions...>", "what may be done there")
    .action(async (parentId: string, flags: GrantFlags) => {
      const isNarrowed = flags.resource !== undefined && flags.action !== undefined;
      const saysPart = [flags.resource, flags.action, flags.owner, flags.exact, flags.approval].some(
        (part) => part !== undefined,
      );
      if (saysPart && !isNarrowed)
        throw new ConfigError("grant derive: expected --resource and --action together, or neither of them.");
      const derive = {
        parentId,
        id: flags.id ?? freshId(),
        subject: readPrincipal("--to", flags.to),
        ...(isNarrowed && { capabilities: [capabilityOf(flags)] }),
        constraints: constraintsOf(flags),
      };
      if (flags.preview === true) return showPreview(flags, { derive }, show);
      const issued = await requestAdmin(flags, "deriveGrant", { namespaceId: flags.tenant, ...derive });
      show(flags, issued, oneLine(`Issued ${issued.id}, derived from ${parentId}.`));
    });
  withPageFlags(asOperator(grants.command("list"), "List grants.", "turnpike grant list --tenant acme --state live"))
    .option("--tenant <id>", "only those of this tenant; of all that you may see unless given")
    .option("--to <kind:id>", "only those that this principal holds", checkedPrincipal("--to"))
    .option("--from <kind:id>", "only those that this principal issued", checkedPrincipal("--from"))
    .option("--resource <namespace>", "only those over this resource namespace")
    .option("--state <state>", `only those that are ${states.join(", ")}`, (text) =>
      readChoice("--state", text, states),
    )
    .action(async (flags: ListFlags) => {
      const { tenant: namespaceId, to: subject, from: issuer, state, resource, limit, cursor } = flags;
      const query = { namespaceId, subject, issuer, state, resource, limit, cursor };
      const answer = await requestList(flags, "listGrants", "grants", query);
      show(flags, answer, grantTable(answer, flags));
    });
  withPreview(
    asOperator(
      grants.command("revoke"),
      "Revoke a grant, from the next call on. Grants that were derived from it become invalid.",
      "turnpike grant revoke grant-1 --tenant acme",
    ),
  )
    .argument("<id>", "the grant's id")
    .requiredOption("--tenant <id>", "the tenant it is good in")
    .action(async (id: string, flags: OperatorFlags & { tenant: string; preview?: boolean }) => {
      if (flags.preview === true) return showPreview(flags, { revoke: id }, show);
      const done = await requestAdmin(flags, "revokeGrant", { namespaceId: flags.tenant, id });
      const derived = descendantLines(done.descendants, done.hasMore);
      const also = derived === "" ? "" : ` These grants were derived from it and are invalid now:${derived}`;
      show(flags, done, `Revoked ${oneLine(id)}.${also}`);
    });
  addGrantShow(grants, show);
  addGrantFileCommands(grants, show);
}

const states = ["live", "future", "expired", "revoked", "exhausted", "invalid", "unknown"];

function withTerms(command: Command): Command {
  return command
    .requiredOption("--tenant <id>", "the tenant it is good in")
    .requiredOption("--to <kind:id>", "who may act")
    .option("--owner <kind:id>", "whose resource; that of the one whom the actor acts for unless given")
    .option("--exact", "only this path, not what is below it")
    .option("--approval <when>", "each: nothing is done under it before a person approved exactly that act", (text) =>
      readChoice("--approval", text, ["each"]),
    )
    .option("--purpose <purposes...>", "only for these purposes")
    .option("--expires <span or time>", "when it ends, such as 1h")
    .option("--uses <number>", "how often it may be used")
    .option("--depth <number>", "how far it may be passed on; 0 is not at all")
    .option("--id <id>", "the grant's id; a fresh one unless given");
}

function freshId(): string {
  return `grant-${randomBytes(6).toString("hex")}`;
}

function capabilityOf({ resource, owner, action, exact, approval }: GrantFlags) {
  const place = { ...readResource(resource), ...(owner !== undefined && { owner: readPrincipal("--owner", owner) }) };
  const scope = exact === true ? "exact" : "descendants";
  return { resource: place, actions: action, scope, ...(approval !== undefined && { approval }) };
}

function constraintsOf({ purpose, expires, uses, depth }: GrantFlags): Constraints {
  return {
    ...(purpose && { purposes: purpose }),
    ...(expires !== undefined && { expiresAt: readExpiry("--expires", expires) }),
    ...(uses !== undefined && { maxUses: readCount("--uses", uses) }),
    ...(depth !== undefined && { delegationDepth: readCount("--depth", depth, 0) }),
  };
}

function grantTable({ grants, cursor }: AdminOutput<"listGrants">, flags: ListFlags): string {
  if (grants.length === 0) return "There are no grants.";
  const columns = withTenant(flags, ({ grant }) => grant.namespaceId, grantColumns);
  return withMore(renderTable(columns, grants), cursor);
}

const grantColumns: readonly Column<GrantEntry>[] = [
  { heading: "ID", value: ({ grant }) => grant.id },
  { heading: "STATE", value: ({ state, rule }) => (rule === undefined ? state : `${state} (${rule})`), shrinks: 1 },
  { heading: "TO", value: ({ grant }) => principalText(grant.subject), shrinks: 1 },
  { heading: "FROM", value: ({ grant }) => principalText(grant.issuer), shrinks: 1 },
  { heading: "MAY", value: ({ grant }) => grantText(grant), shrinks: 2 },
  { heading: "TERMS", value: termsText, shrinks: 3 },
  { heading: "PARENT", value: ({ grant }) => grant.parentId ?? "" },
];

function termsText({ grant, used }: GrantEntry): string {
  return constraintsText(grant.constraints, { used });
}
