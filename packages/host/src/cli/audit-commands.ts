import type { Command } from "commander";
import { AuditEventTypeSchema, AuditOutcomeSchema } from "turnpike/contracts";
import type { AdminOutput } from "../admin-contract/index.ts";
import { requestAdmin, requestList } from "./admin-request.ts";
import { ConfigError } from "../shared/index.ts";
import { addAuditKeyRotate } from "./audit-key-rotate.ts";
import { eventTable, queryOf, type ListFlags } from "./audit-rows.ts";
import type { ExportVerdict } from "./audit-exports.ts";
import type { FileVerdict } from "./checkpoint-copies.ts";
import { asOperator, withPageFlags, type OperatorFlags, type Show } from "./connection.ts";
import { checkedPrincipal, readChoice, readInstant } from "./flags.ts";
import { withProgress, type Report } from "./progress.ts";
import { type Column, oneLine, renderTable } from "./table.ts";

const types = AuditEventTypeSchema.options;
const outcomes = AuditOutcomeSchema.options;

interface VerifyFlags extends OperatorFlags {
  tenant?: string;
  checkpoint?: string;
  file?: string;
  key?: string;
}

interface ExportFlags extends OperatorFlags {
  tenant: string;
  before?: string;
  out: string;
  key?: string;
}

type Verified = AdminOutput<"verifyAudit"> & { kept?: FileVerdict };

/** `audit list | heads | verify | export | checkpoint | key`. */
export function addAuditCommands(program: Command, show: Show): void {
  const broken = (flags: VerifyFlags & { tenant: string }, answer: object, { why }: { why: string }): Error => {
    if (flags.json === true) show(flags, answer, "");
    return new Error(`The audit log of ${flags.tenant} is broken: ${why.replace(/\.$/, "")}.`);
  };
  const audit = program.command("audit").description("Read and verify the audit log.").exitOverride();
  withPageFlags(
    asOperator(
      audit.command("list"),
      "Read the audit log, newest first. With --follow: the newest rows, then those that come, until Ctrl-C.",
      "turnpike audit list --tenant acme --outcome denied --actor agent:assistant",
    ),
  )
    .option("--tenant <id>", "whose audit log; those of all that you may see, one after the other, unless given")
    .option("--from <time>", "not before, RFC 3339", (text) => readInstant("--from", text))
    .option("--until <time>", "before, RFC 3339", (text) => readInstant("--until", text))
    .option("--actor <kind:id>", "only what this principal did", checkedPrincipal("--actor"))
    .option("--type <type>", "only events of this type, such as tool.invoked", (text) =>
      readChoice("--type", text, types),
    )
    .option("--outcome <outcome>", outcomes.join(", "), (text) => readChoice("--outcome", text, outcomes))
    .option("--trace <id>", "only what happened in this trace")
    .option("--resource <place>", "only events about it and what is below it, such as files/notes")
    .option("--tool <name>", "only events about this tool")
    .option("--grant <id>", "only events that name this grant, or a change of one that was derived from it")
    .option("--reason <code>", "only what was refused or failed for this reason, such as no_matching_grant")
    .option("--text <text>", "only events that have this anywhere in them, in letters of either case")
    .option("--follow", "go on with rows as they come; with --json: a line for each")
    .action(async (flags: ListFlags) => {
      if (flags.follow === true) {
        const { followAuditLog } = await import("./audit-follow.ts");
        const lines = (stream: NodeJS.WriteStream) => (line: string) => void stream.write(`${line}\n`);
        return followAuditLog(flags, { say: lines(process.stdout), note: lines(process.stderr) });
      }
      const answer = await requestList(flags, "listAudit", "events", queryOf(flags));
      show(flags, answer, eventTable(answer.events, answer.cursor, flags));
    });
  asOperator(
    audit.command("heads"),
    "Show where the chains of a tenant's audit log end, and the last signed checkpoint of the host.",
    "turnpike audit heads --tenant acme",
  )
    .requiredOption("--tenant <id>", "whose audit log")
    .action(async (flags: OperatorFlags & { tenant: string }) => {
      const answer = await requestAdmin(flags, "readAuditHeads", { namespaceId: flags.tenant });
      show(flags, answer, headsText(answer));
    });
  asOperator(
    audit.command("verify"),
    "Check that no row of the audit log was changed or removed.",
    "turnpike audit verify --tenant acme",
  )
    .option("--tenant <id>", "whose audit log")
    .option("--checkpoint <file>", "hold the rows against the checkpoints in this file too")
    .option("--file <file>", "verify an export; with --tenant, also that the audit log goes on from it")
    .option("--key <file>", "the public key that the file is trusted by; the host's own unless given")
    .action(async (given: VerifyFlags) => {
      if (given.file !== undefined) {
        const { verifyExportFile } = await import("./audit-exports.ts");
        const { file } = given;
        const verdict = await withProgress(`Verifying ${file}`, () => verifyExportFile(given, file), given);
        return show(given, verdict, exportText(verdict));
      }
      const flags = { ...given, tenant: requireTenant(given) };
      // The file is read first: it may be about a tenant that the host has removed.
      const ownCopy = flags.checkpoint === undefined ? undefined : await verifyFile(flags, flags.checkpoint);
      if (ownCopy?.broken) throw broken(flags, { isWhole: false, kept: ownCopy }, ownCopy.broken);
      const verifying = `Verifying the audit log of ${oneLine(flags.tenant)}`;
      const verdict = await withProgress(verifying, (report) => verifyAuditLog(flags, report), flags);
      const answer = { ...verdict, ...(ownCopy && { kept: ownCopy }) };
      if (verdict.broken) throw broken(flags, answer, verdict.broken);
      show(flags, answer, wholeText(flags, answer));
    });
  asOperator(
    audit.command("export"),
    "Copy a tenant's audit log to a file that can be verified by itself. Removes nothing.",
    "turnpike audit export --tenant acme --out acme.jsonl",
  )
    .requiredOption("--tenant <id>", "whose audit log")
    .requiredOption("--out <file>", "the file, which must not be there yet")
    .option("--before <time>", "only rows from before, RFC 3339", (text) => readInstant("--before", text))
    .option("--key <file>", "the public key that it has to be signed by; the host's own unless given")
    .action(async (flags: ExportFlags) => {
      const { exportToFile } = await import("./audit-exports.ts");
      const exporting = `Exporting the audit log of ${oneLine(flags.tenant)}`;
      const verdict = await withProgress(exporting, (report) => exportToFile(flags, flags.out, report), flags);
      show(flags, verdict, exportText(verdict));
    });
  asOperator(
    audit.command("checkpoint"),
    "Sign the heads of all audit logs now, and copy the host's checkpoints to a file.",
    "turnpike audit checkpoint --out /mnt/elsewhere/checkpoints.jsonl",
  )
    .requiredOption("--out <file>", "the file; when it has checkpoints already, those that came since are appended")
    .option("--key <file>", "the public key that they have to be signed by; the host's own unless given")
    .action(async (flags: OperatorFlags & { out: string; key?: string }) => {
      const { copyCheckpoints } = await import("./checkpoint-copies.ts");
      const copied = await withProgress("Copying checkpoints", () => copyCheckpoints(flags, flags.out), flags);
      const { added, sequence, key } = copied;
      show(flags, copied, `Added ${added} to ${flags.out}, up to checkpoint ${sequence}, signed by the key ${key}.`);
    });
  const key = asOperator(
    audit.command("key"),
    "Show the public key of the one that the host signs checkpoints with.",
    "turnpike audit key > audit-key.pub.pem",
  ).action(async (flags: OperatorFlags) => {
    const answer = await requestAdmin(flags, "readAuditKey", {});
    show(flags, answer, answer.publicKey.trimEnd());
  });
  addAuditKeyRotate(key, show);
}

/** How many rows one request verifies: less than a second's work. */
const rowsAtOnce = 10_000;

/** Verifies an audit log part by part, and reports how many rows are verified. */
async function verifyAuditLog(
  flags: VerifyFlags & { tenant: string },
  report: Report,
): Promise<AdminOutput<"verifyAudit">> {
  const verified: Pick<Verified, "rows" | "heads" | "broken"> = { rows: 0, heads: [] };
  let cursor: string | undefined;
  for (;;) {
    const part = await requestAdmin(flags, "verifyAudit", { namespaceId: flags.tenant, rows: rowsAtOnce, cursor });
    verified.rows += part.rows;
    verified.heads.push(...part.heads);
    if (part.broken !== undefined) verified.broken ??= part.broken;
    ({ cursor } = part);
    if (cursor === undefined) return { ...part, ...verified };
    report(counted(verified.rows, "row"));
  }
}

function requireTenant({ tenant }: VerifyFlags): string {
  if (tenant !== undefined) return tenant;
  throw new ConfigError(
    "required option '--tenant <id>' not specified: whose audit log? Or verify an export with --file.",
  );
}

function exportText({ file, namespaceId, from, heads, rows, key, joins }: ExportVerdict): string {
  const lines = heads.map(({ strand, sequence }) => {
    const first = (from.find((begin) => begin.strand === strand)?.sequence ?? 0) + 1;
    return `Strand ${strand}: rows ${first} to ${sequence}.${joinText(joins?.find((join) => join.strand === strand)?.to)}`;
  });
  return [`${file} is whole: ${counted(rows, "row")} of ${namespaceId}, signed by the key ${key}.`, ...lines].join(
    "\n",
  );
}

function joinText(to: "trail" | "later" | undefined): string {
  if (to === undefined) return "";
  return to === "trail" ? " The host's rows go on from there." : " The rows behind are in later exports.";
}

async function verifyFile(flags: VerifyFlags & { tenant: string }, file: string): Promise<FileVerdict> {
  const { verifyAgainstFile } = await import("./checkpoint-copies.ts");
  return verifyAgainstFile(flags, file);
}

function wholeText(
  { tenant }: { tenant: string },
  { rows, heads, exported = [], checkpoints, restores = [], gaps = [], kept: ownCopy }: Verified,
): string {
  return [
    `The audit log of ${tenant} is whole: ${counted(rows, "row")}.`,
    ...exported.map(
      ({ strand, sequence, until }) =>
        `Exported and removed from strand ${strand}: ${counted(sequence, "row")}, up to ${until}.`,
    ),
    ...heads.map(({ strand, sequence, hash }) => `Head of strand ${strand}: row ${sequence}, ${hash}.`),
    `Held against ${counted(checkpoints, "signed head")} of the host's checkpoints.`,
    ...restores.map(
      ({ at, checkpoint }) =>
        `A backup was restored ${at}, as checkpoint ${checkpoint} says: rows that came after the backup are gone.`,
    ),
    ...gaps.map(
      ({ strand, from, until, at, checkpoint, acceptedAt }) =>
        `The database lost rows ${from} to ${until} of strand ${strand}: noticed ${at}, as checkpoint ${checkpoint} says, and ` +
        (acceptedAt === undefined ? "not accepted yet." : `accepted ${acceptedAt}.`),
    ),
    ...(ownCopy
      ? [`Held against ${counted(ownCopy.heads, "signed head")} of ${ownCopy.file}, signed by the key ${ownCopy.key}.`]
      : []),
  ].join("\n");
}

function counted(count: number, what: string): string {
  return `${count} ${what}${count === 1 ? "" : "s"}`;
}

const headColumns: readonly Column<AdminOutput<"readAuditHeads">["heads"][number]>[] = [
  { heading: "STRAND", value: ({ strand }) => String(strand) },
  { heading: "ROW", value: ({ sequence }) => String(sequence) },
  { heading: "HASH", value: ({ hash }) => hash },
];

function headsText({ heads, checkpoint }: AdminOutput<"readAuditHeads">): string {
  const table = heads.length === 0 ? "There is no audit log." : renderTable(headColumns, heads);
  const last = checkpoint === undefined ? "none yet" : `number ${checkpoint.sequence}, ${checkpoint.at}`;
  return `${table}\nLast checkpoint: ${last}.`;
}
