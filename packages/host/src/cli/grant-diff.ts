import type { Command } from "commander";
import type { Grant } from "turnpike/contracts";
import type { GrantComparison } from "turnpike/kernel";
import { comparisonLines, isOpening } from "../display/index.ts";
import { asOperator, openingCode, type OperatorFlags, type Show } from "./connection.ts";
import { differenceOf } from "./grant-difference.ts";
import { readTenantGrants } from "./grant-entries.ts";
import { readGrantFile, readGrantText, type FileGrant, type GrantFile } from "./grant-file.ts";
import { freshId } from "./caller-results.ts";
import { withProgress } from "./progress.ts";
import { linesOf, oneLine } from "./table.ts";

/** What a change does for all requests from an instant on. */
type RegionChanges = GrantComparison & { at: string };

/** `grant diff`. */
export function addGrantDiff(grants: Command, show: Show): void {
  asOperator(
    grants.command("diff"),
    "Say what all requests gain and lose between two files of grants, or between a tenant and a file. Exits with 3 when something opens.",
    "turnpike grant diff before.json after.json",
  )
    .argument("<file>", "a file as `grant export` writes it; the only one is compared with its tenant")
    .argument("[after]", "another file: what would be after the first; no host is asked then")
    .option("--tenant <id>", "the tenant to compare a single file with; the one that the file names unless given")
    .action(async (first: string, second: string | undefined, flags: OperatorFlags & { tenant?: string }) => {
      const file = readGrantFile(first, readGrantText("<file>", first));
      const changes =
        second === undefined
          ? await compareWithTenant(flags, file)
          : await compareFiles(file, readGrantFile(second, readGrantText("[after]", second)));
      show(flags, changes, regionsText(changes), isOpening(changes) ? openingCode : 0);
    });
}

/** What a change opens, closes and changes for all requests, for people. */
export function regionsText(changes: RegionChanges): string {
  return linesOf(comparisonLines(changes, { at: changes.at }).map(oneLineOf).join("\n"));
}

/** Indented lines stay indented. */
function oneLineOf(line: string): string {
  return line.startsWith("  ") ? `  ${oneLine(line.slice(2))}` : oneLine(line);
}

/** Both files as if their grants were issued now, in one tenant. */
async function compareFiles(before: GrantFile, after: GrantFile): Promise<RegionChanges> {
  const at = new Date().toISOString();
  const issued = ({ grants }: GrantFile): Grant[] => grants.map((grant) => issuedAt(grant, before.tenant, at));
  return compare(issued(before), issued(after), at);
}

function issuedAt({ parent, ...grant }: FileGrant, namespaceId: string, at: string): Grant {
  return { ...grant, namespaceId, issuedAt: at, ...(parent !== undefined && { parentId: parent }) };
}

/** A tenant as it is, and as `grant apply` would make it. */
async function compareWithTenant(flags: OperatorFlags & { tenant?: string }, file: GrantFile): Promise<RegionChanges> {
  const tenant = flags.tenant ?? file.tenant;
  const entries = await withProgress("Reading grants", (report) => readTenantGrants(flags, tenant, report), flags);
  const at = new Date().toISOString();
  const { issue, revoke } = differenceOf(file.grants, entries, { now: at, makeId: () => freshId("grant") });
  const revoked = new Set(revoke.map(({ id }) => id));
  const before = entries.map(({ grant }) => grant);
  const issued = issue.map((draft): Grant => ({ ...draft, namespaceId: tenant, issuedAt: at }));
  return compare(before, [...before.filter(({ id }) => !revoked.has(id)), ...issued], at);
}

async function compare(before: readonly Grant[], after: readonly Grant[], at: string): Promise<RegionChanges> {
  const { compareGrants } = await import("turnpike/kernel");
  return { at, ...compareGrants(before, after, { at }) };
}
