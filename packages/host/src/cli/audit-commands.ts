import type { Command } from "commander";
import { AuditEventTypeSchema, AuditOutcomeSchema, type AuditEvent } from "turnpike/contracts";
import type { AdminOutput } from "../management/index.ts";
import { requestAdmin, requestList } from "./admin-request.ts";
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
  tenant: string;
  checkpoint?: string;
  key?: string;
}

type Verified = AdminOutput<"verifyAudit"> & { kept?: FileVerdict };

/** `audit list | verify | checkpoint | key`. */
export function addAuditCommands(program: Command, show: Show): void {
  const broken = (flags: VerifyFlags, answer: object, { why }: { why: string }): Error => {
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
    .requiredOption("--tenant <id>", "whose trail")
    .option("--checkpoint <file>", "hold the rows against the checkpoints in this file too")
    .option("--key <file>", "the public key that --checkpoint is trusted by; the host's own unless given")
    .action(async (flags: VerifyFlags) => {
      // The file is read first, because it may know a tenant of which the host has nothing left.
      const kept = flags.checkpoint === undefined ? undefined : await verifyFile(flags, flags.checkpoint);
      if (kept?.broken) throw broken(flags, { isWhole: false, kept }, kept.broken);
      const trail = await verifyTrail(flags);
      const answer = { ...trail, ...(kept && { kept }) };
      if (trail.broken) throw broken(flags, answer, trail.broken);
      show(flags, answer, wholeText(flags, answer));
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
async function verifyTrail(flags: VerifyFlags): Promise<AdminOutput<"verifyAudit">> {
  const verified: Pick<Verified, "rows" | "heads"> = { rows: 0, heads: [] };
  let saidAt = performance.now();
  let cursor: string | undefined;
  for (;;) {
    const part = await requestAdmin(flags, "verifyAudit", { namespaceId: flags.tenant, rows: rowsAtOnce, cursor });
    verified.rows += part.rows;
    verified.heads.push(...part.heads);
    ({ cursor } = part);
    if (cursor === undefined) return { ...part, ...verified };
    if (flags.json === true || performance.now() - saidAt < progressMs) continue;
    saidAt = performance.now();
    process.stderr.write(`${counted(verified.rows, "row")} verified so far.\n`);
  }
}

async function verifyFile(flags: VerifyFlags, file: string): Promise<FileVerdict> {
  const { verifyAgainstFile } = await import("./checkpoint-copies.ts");
  return verifyAgainstFile(flags, file);
}

function wholeText({ tenant }: VerifyFlags, { rows, heads, checkpoints, kept }: Verified): string {
  return [
    `The audit trail of ${tenant} is whole: ${counted(rows, "row")}.`,
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

function eventTable(rows: readonly { sequence: number; event: AuditEvent }[], cursor: string | undefined): string {
  if (rows.length === 0) return "Nothing on the trail fits.";
  const cells = rows.map(({ sequence, event }) => [
    String(sequence),
    event.at,
    event.type,
    event.outcome,
    principalText(event.actor),
    [event.action, event.resource && resourceText(event.resource), event.tool].filter(Boolean).join(" "),
    event.reason ?? event.grantId ?? "",
    event.traceId,
  ]);
  return withMore(renderTable(["ROW", "AT", "TYPE", "OUTCOME", "ACTOR", "WHAT", "WHY", "TRACE"], cells), cursor);
}
