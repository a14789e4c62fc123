import type { Command } from "commander";
import { AuditEventTypeSchema, AuditOutcomeSchema, type AuditEvent } from "turnpike/contracts";
import type { AdminOutput } from "../management/index.ts";
import { requestAdmin, requestList } from "./admin-request.ts";
import { ConfigError } from "../base/index.ts";
import type { ExportVerdict } from "./audit-exports.ts";
import type { FileVerdict } from "./checkpoint-copies.ts";
import { asOperator, withPageFlags, type OperatorFlags, type PageFlags, type Show } from "./connection.ts";
import { renderTable, withMore } from "./table.ts";
import { checkedPrincipal, readChoice, readInstant } from "./flags.ts";
import { principalText, resourceText } from "./format.ts";

interface ListFlags extends OperatorFlags, PageFlags {
  tenant: string;
  from?: string;
  until?: string;
  actor?: string;
  type?: string;
  outcome?: string;
  trace?: string;
}

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

/** `audit list | verify | export | checkpoint | key`. */
export function addAuditCommands(program: Command, show: Show): void {
  const broken = (flags: VerifyFlags & { tenant: string }, answer: object, { why }: { why: string }): Error => {
    if (flags.json === true) show(flags, answer, "");
    return new Error(`The audit trail of ${flags.tenant} is broken: ${why.replace(/\.$/, "")}.`);
  };
  const audit = program.command("audit").description("Read and verify the audit trail.").exitOverride();
  withPageFlags(
    asOperator(
      audit.command("list"),
      "Read the audit trail, newest first.",
      "turnpike audit list --tenant acme --outcome denied --actor agent:assistant",
    ),
  )
    .requiredOption("--tenant <id>", "whose trail")
    .option("--from <time>", "not before, RFC 3339", (text) => readInstant("--from", text))
    .option("--until <time>", "before, RFC 3339", (text) => readInstant("--until", text))
    .option("--actor <kind:id>", "only what this principal did", checkedPrincipal("--actor"))
    .option("--type <type>", "only events of this type, such as tool.invoked", (text) =>
      readChoice("--type", text, types),
    )
    .option("--outcome <outcome>", outcomes.join(", "), (text) => readChoice("--outcome", text, outcomes))
    .option("--trace <id>", "only what happened in this trace")
    .action(async (flags: ListFlags) => {
      const { tenant: namespaceId, from, until, actor, type, outcome, trace: traceId, limit, cursor } = flags;
      const query = { namespaceId, from, until, actor, type, outcome, traceId, limit, cursor };
      const answer = await requestList(flags, "listAudit", "events", query);
      show(flags, answer, eventTable(answer.events, answer.cursor));
    });
  asOperator(
    audit.command("verify"),
    "Check that no row of the trail was changed or removed.",
    "turnpike audit verify --tenant acme",
  )
    .option("--tenant <id>", "whose trail")
    .option("--checkpoint <file>", "hold the rows against the checkpoints in this file too")
    .option("--file <file>", "verify an export; with --tenant, also that the trail goes on from it")
    .option("--key <file>", "the public key that the file is trusted by; the host's own unless given")
    .action(async (given: VerifyFlags) => {
      if (given.file !== undefined) {
        const { verifyExportFile } = await import("./audit-exports.ts");
        const verdict = await verifyExportFile(given, given.file);
        return show(given, verdict, exportText(verdict));
      }
      const flags = { ...given, tenant: requireTenant(given) };
      // The file is read first, because it may know a tenant of which the host has nothing left.
      const kept = flags.checkpoint === undefined ? undefined : await verifyFile(flags, flags.checkpoint);
      if (kept?.broken) throw broken(flags, { isWhole: false, kept }, kept.broken);
      const trail = await verifyTrail(flags);
      const answer = { ...trail, ...(kept && { kept }) };
      if (trail.broken) throw broken(flags, answer, trail.broken);
      show(flags, answer, wholeText(flags, answer));
    });
  asOperator(
    audit.command("export"),
    "Copy a tenant's trail to a file that can be verified by itself. Removes nothing.",
    "turnpike audit export --tenant acme --out acme.jsonl",
  )
    .requiredOption("--tenant <id>", "whose trail")
    .requiredOption("--out <file>", "the file, which must not be there yet")
    .option("--before <time>", "only rows from before, RFC 3339", (text) => readInstant("--before", text))
    .option("--key <file>", "the public key that it has to be signed by; the host's own unless given")
    .action(async (flags: ExportFlags) => {
      const { exportToFile } = await import("./audit-exports.ts");
      const verdict = await exportToFile(flags, flags.out);
      show(flags, verdict, exportText(verdict));
    });
  asOperator(
    audit.command("checkpoint"),
    "Sign the heads of all trails now, and copy the host's checkpoints to a file.",
    "turnpike audit checkpoint --out /mnt/elsewhere/checkpoints.jsonl",
  )
    .requiredOption("--out <file>", "the file; when it has checkpoints already, those that came since are appended")
    .option("--key <file>", "the public key that they have to be signed by; the host's own unless given")
    .action(async (flags: OperatorFlags & { out: string; key?: string }) => {
      const { copyCheckpoints } = await import("./checkpoint-copies.ts");
      const copied = await copyCheckpoints(flags, flags.out);
      const { added, sequence, key } = copied;
      show(flags, copied, `Added ${added} to ${flags.out}, up to checkpoint ${sequence}, signed by the key ${key}.`);
    });
  asOperator(
    audit.command("key"),
    "Show the public key of the one that the host signs checkpoints with.",
    "turnpike audit key > audit-key.pub.pem",
  ).action(async (flags: OperatorFlags) => {
    const answer = await requestAdmin(flags, "readAuditKey", {});
    show(flags, answer, answer.publicKey.trimEnd());
  });
}

/** How many rows one request verifies: less than a second's work. */
const rowsAtOnce = 10_000;
const progressMs = 1000;

/** Verifies a trail part by part, and says once a second how far it has come, unless scripts read the answer. */
async function verifyTrail(flags: VerifyFlags & { tenant: string }): Promise<AdminOutput<"verifyAudit">> {
  const verified: Pick<Verified, "rows" | "heads" | "broken"> = { rows: 0, heads: [] };
  let saidAt = performance.now();
  let cursor: string | undefined;
  for (;;) {
    const part = await requestAdmin(flags, "verifyAudit", { namespaceId: flags.tenant, rows: rowsAtOnce, cursor });
    verified.rows += part.rows;
    verified.heads.push(...part.heads);
    if (part.broken !== undefined) verified.broken ??= part.broken;
    ({ cursor } = part);
    if (cursor === undefined) return { ...part, ...verified };
    if (flags.json === true || performance.now() - saidAt < progressMs) continue;
    saidAt = performance.now();
    process.stderr.write(`${counted(verified.rows, "row")} verified so far.\n`);
  }
}

function requireTenant({ tenant }: VerifyFlags): string {
  if (tenant !== undefined) return tenant;
  throw new ConfigError("required option '--tenant <id>' not specified: whose trail? Or verify an export with --file.");
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
  { rows, heads, exported = [], checkpoints, kept }: Verified,
): string {
  return [
    `The audit trail of ${tenant} is whole: ${counted(rows, "row")}.`,
    ...exported.map(
      ({ strand, sequence, until }) =>
        `Exported and removed from strand ${strand}: ${counted(sequence, "row")}, up to ${until}.`,
    ),
    ...heads.map(({ strand, sequence, hash }) => `Head of strand ${strand}: row ${sequence}, ${hash}.`),
    `Held against ${counted(checkpoints, "signed head")} of the host's checkpoints.`,
    ...(kept
      ? [`Held against ${counted(kept.heads, "signed head")} of ${kept.file}, signed by the key ${kept.key}.`]
      : []),
  ].join("\n");
}

function counted(count: number, what: string): string {
  return `${count} ${what}${count === 1 ? "" : "s"}`;
}

/** What an event is about. Of an escalation that is its id, with which it can be shown. */
function whatText({ action, resource, tool, metadata }: AuditEvent): string {
  const escalation = metadata?.["escalation"];
  const words = [action, resource && resourceText(resource), tool, typeof escalation === "string" && escalation];
  return words.filter(Boolean).join(" ");
}

function eventTable(rows: readonly { sequence: number; event: AuditEvent }[], cursor: string | undefined): string {
  if (rows.length === 0) return "Nothing on the trail fits.";
  const cells = rows.map(({ sequence, event }) => [
    String(sequence),
    event.at,
    event.type,
    event.outcome,
    principalText(event.actor),
    whatText(event),
    event.reason ?? event.grantId ?? "",
    event.traceId,
  ]);
  return withMore(renderTable(["ROW", "AT", "TYPE", "OUTCOME", "ACTOR", "WHAT", "WHY", "TRACE"], cells), cursor);
}
