import type { Command } from "commander";
import { AuditEventTypeSchema, AuditOutcomeSchema, type AuditEvent } from "turnpike/contracts";
import { askHost } from "./admin-client.ts";
import { asOperator, withPages, type OperatorFlags, type PageFlags, type Show } from "./connection.ts";
import { renderTable, withMore } from "./table.ts";
import { checkedPrincipal, principalText, readChoice, readInstant, resourceText } from "./words.ts";

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

/** `audit list | verify`. */
export function addAuditCommands(program: Command, show: Show): void {
  const audit = program.command("audit").description("Read and verify the audit trail.").exitOverride();
  withPages(
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
      const answer = await askHost(flags, "listAudit", query);
      show(flags, answer, eventTable(answer.events, answer.cursor));
    });
  asOperator(
    audit.command("verify"),
    "Check that no row of the trail was changed or removed.",
    "turnpike audit verify --tenant acme",
  )
    .requiredOption("--tenant <id>", "whose trail")
    .action(async (flags: OperatorFlags & { tenant: string }) => {
      const answer = await askHost(flags, "verifyAudit", { namespaceId: flags.tenant });
      if (answer.isWhole) return show(flags, answer, `The audit trail of ${flags.tenant} is whole.`);
      if (flags.json === true) show(flags, answer, "");
      throw new Error(
        `The audit trail of ${flags.tenant} is broken: row ${String(answer.firstBroken)} was changed or removed.`,
      );
    });
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
