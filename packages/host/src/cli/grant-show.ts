import { programName } from "../shared/index.ts";
import type { Command } from "commander";
import type { GrantEntry } from "../admin-contract/index.ts";
import { requestAdmin } from "./admin-request.ts";
import { auditColumns, type AuditRow } from "./audit-rows.ts";
import { CommandError } from "./command-failure.ts";
import { asOperator, type OperatorFlags, type Show } from "./connection.ts";
import { capabilityText, constraintsText, principalText } from "../display/index.ts";
import { oneLine, renderTable } from "./table.ts";

/** A grant, where it comes from, what hangs on it, and what became of it. */
interface ShownGrant extends GrantEntry {
  /** From the first grant down to this one. */
  chain: GrantEntry[];
  /** The first of those that were derived directly from it. */
  children: GrantEntry[];
  hasMoreChildren: boolean;
  /** Who issued and changed it, and those derived from it; the newest first. */
  changes: AuditRow[];
  /** Who used it, the newest first. */
  uses: AuditRow[];
}

const [mostChildren, mostRows] = [50, 20];
/** How many pages of the audit log are searched for uses: about a hundred thousand events. */
const mostPages = 10;
/** No chain that holds is longer. */
const longestChain = 64;

/** `grant show`. */
export function addGrantShow(grants: Command, show: Show): void {
  asOperator(
    grants.command("show"),
    "Show a grant whole: its chain, what was derived from it, who changed it and who used it.",
    "turnpike grant show grant-1 --tenant acme",
  )
    .argument("<id>", "the grant's id")
    .requiredOption("--tenant <id>", "the tenant it is good in")
    .action(async (id: string, flags: OperatorFlags & { tenant: string }) => {
      const shown = await readGrant(flags, flags.tenant, id);
      show(flags, shown, grantText(shown));
    });
}

async function readGrant(flags: OperatorFlags, namespaceId: string, id: string): Promise<ShownGrant> {
  const find = async (one: string): Promise<GrantEntry | undefined> =>
    (await requestAdmin(flags, "listGrants", { namespaceId, id: one })).grants[0];
  const entry = await find(id);
  if (entry === undefined)
    throw new CommandError(
      "not_found",
      `Refused (not_found): There is no grant of this id in this tenant.\n\`${programName()} grant list\` shows what there is.`,
    );
  const chain = [entry];
  for (let above = entry.grant.parentId; above !== undefined && chain.length < longestChain;) {
    const parent = await find(above);
    if (parent === undefined) break;
    chain.unshift(parent);
    above = parent.grant.parentId;
  }
  const derived = await requestAdmin(flags, "listGrants", { namespaceId, parent: id, limit: mostChildren });
  const about = { namespaceId, grant: id };
  const changes = await readRows(flags, { ...about, type: "operator.changed" });
  const uses = await readRows(flags, { ...about, type: "authorization.checked", from: entry.grant.issuedAt });
  return {
    ...entry,
    chain,
    children: derived.grants,
    hasMoreChildren: derived.cursor !== undefined,
    changes,
    uses,
  };
}

/** The newest rows that match, of as many pages as a person waits for. */
async function readRows(flags: OperatorFlags, query: Readonly<Record<string, unknown>>): Promise<AuditRow[]> {
  const rows: AuditRow[] = [];
  let cursor: string | undefined;
  for (let pages = 0; pages < mostPages && rows.length < mostRows; pages += 1) {
    const page = await requestAdmin(flags, "listAudit", { ...query, cursor, limit: mostRows - rows.length });
    rows.push(...page.events);
    ({ cursor } = page);
    if (cursor === undefined) break;
  }
  return rows;
}

function grantText(shown: ShownGrant): string {
  const { grant, state, rule, used, chain, children, hasMoreChildren, changes, uses } = shown;
  const terms = constraintsText(grant.constraints);
  const facts: [string, string | undefined][] = [
    ["state", rule === undefined ? state : `${state} (${rule})`],
    ["to", principalText(grant.subject)],
    ["from", principalText(grant.issuer)],
    ...grant.capabilities.map((capability): [string, string] => ["may", capabilityText(capability)]),
    ["terms", terms === "" ? undefined : terms],
    ["used", used === undefined ? undefined : String(used)],
    ["issued", grant.issuedAt],
    ["revoked", grant.revokedAt],
    ["chain", chain.length > 1 ? chain.map((one) => `${one.grant.id} (${one.state})`).join(" > ") : undefined],
  ];
  return [
    oneLine(`${grant.id} in ${grant.namespaceId}`),
    ...facts.flatMap(([name, value]) => (value === undefined ? [] : [`  ${name.padEnd(8)} ${oneLine(value)}`])),
    "",
    children.length === 0 ? "Nothing was derived from it." : "Derived from it:",
    ...children.map((one) => oneLine(`  ${one.grant.id} (${one.state}), to ${principalText(one.grant.subject)}`)),
    ...(hasMoreChildren ? ["  and more"] : []),
    "",
    section("Changes, the newest first:", changes, "The audit log has no change of it."),
    "",
    section("Uses, the newest first:", uses, "It was not used, as far as the newest part of the audit log says."),
  ].join("\n");
}

function section(title: string, rows: readonly AuditRow[], nothing: string): string {
  return rows.length === 0 ? nothing : `${title}\n${renderTable(auditColumns, rows)}`;
}
