import { columnText, ConfigError } from "../shared/index.ts";
import { isThere, verifyExport, writeExport, type ExportEnd } from "../audit/index.ts";
import type { AdminOutput } from "../admin-contract/index.ts";
import { requestAdmin } from "./admin-request.ts";
import { trustedKey, type KeyFlags } from "./checkpoint-copies.ts";
import type { Report } from "./progress.ts";

/** An export that is whole, and whether the host's rows go on right behind it. */
export type ExportVerdict = Pick<ExportEnd, "namespaceId" | "at" | "before" | "from" | "heads" | "rows" | "key"> & {
  file: string;
  /** For each strand: `trail` when the host's rows go on behind the last one, `later` when other exports come between. */
  joins?: { strand: number; to: "trail" | "later" }[];
};

/** Writes an export of a tenant's audit log to a new file, and verifies what it wrote. */
export async function exportToFile(
  flags: KeyFlags & { tenant: string; before?: string },
  file: string,
  report: Report,
): Promise<ExportVerdict> {
  if (await isThere(file)) throw new ConfigError(`--out ${file}: there is such a file already. Name another.`);
  const { tenant: namespaceId, before } = flags;
  async function* pages(): AsyncGenerator<AdminOutput<"exportAudit">> {
    let page = await requestAdmin(flags, "exportAudit", { namespaceId, ...(before !== undefined && { before }) });
    let lines = page.lines.length;
    yield page;
    while (page.next !== undefined) {
      report(`${lines} rows`);
      page = await requestAdmin(flags, "exportAudit", { namespaceId, place: page.next });
      lines += page.lines.length;
      yield page;
    }
  }
  await writeExport(file, pages());
  return verdictOf(file, await verifyExport(file, await trustedKey(flags)));
}

/** Verifies an export by itself and, when a tenant is named, that the audit log of the host continues it. */
export async function verifyExportFile(flags: KeyFlags & { tenant?: string }, file: string): Promise<ExportVerdict> {
  if (!(await isThere(file))) throw new ConfigError(`--file ${file}: there is no such file.`);
  const end = await verifyExport(file, await trustedKey(flags));
  const verdict = verdictOf(file, end);
  const { tenant: namespaceId } = flags;
  if (namespaceId === undefined) return verdict;
  if (end.namespaceId !== columnText(namespaceId)) throw new Error(`${file} is of the tenant ${end.namespaceId}.`);
  if (end.heads.length === 0) return { ...verdict, joins: [] };
  const { broken } = await requestAdmin(flags, "verifyAuditHeads", { namespaceId, heads: end.heads });
  if (broken !== undefined) throw new Error(`${file} does not join the audit log of ${namespaceId}: ${broken.why}.`);
  const { exported = [] } = await requestAdmin(flags, "verifyAudit", { namespaceId });
  const joins = end.heads.map(({ strand, sequence }) => {
    const isLater = exported.some((anchor) => anchor.strand === strand && anchor.sequence > sequence);
    return { strand, to: isLater ? ("later" as const) : ("trail" as const) };
  });
  return { ...verdict, joins };
}

function verdictOf(file: string, { namespaceId, at, before, from, heads, rows, key }: ExportEnd): ExportVerdict {
  return { file, namespaceId, at, ...(before !== undefined && { before }), from, heads, rows, key };
}
