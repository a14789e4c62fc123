import { type AdminOutput, type EscalationRecord, EscalationStatusSchema } from "../management/index.ts";
import type { Command } from "commander";
import { ConfigError } from "../base/index.ts";
import { requestAdmin, requestList } from "./admin-request.ts";
import { asOperator, sameHost, withPageFlags, type OperatorFlags, type PageFlags, type Show } from "./connection.ts";
import { oneLine, renderTable, withMore } from "./table.ts";
import { readChoice, readCount, readExpiry } from "./flags.ts";
import { capabilityText, commandLine, constraintsText, isPasteable, principalText } from "./format.ts";

interface AnswerFlags extends OperatorFlags {
  tenant: string;
  ask?: string;
  wants?: string;
}

const statuses = EscalationStatusSchema.options;

/** `escalation list | approve | deny`. */
export function addEscalationCommands(program: Command, show: Show): void {
  const escalations = program
    .command("escalation")
    .description("Read and answer the escalations that turns ended with.")
    .exitOverride();
  withPageFlags(
    asOperator(
      escalations.command("list"),
      "List the escalations that wait for an answer, newest first.",
      "turnpike escalation list --tenant acme",
    ),
  )
    .requiredOption("--tenant <id>", "the tenant of the escalations")
    .option("--status <status>", statuses.join(", "), (text) => readChoice("--status", text, statuses), "pending")
    .action(async (flags: OperatorFlags & PageFlags & { tenant: string; status: string }) => {
      const { tenant: namespaceId, status, limit, cursor } = flags;
      const answer = await requestList(flags, "listEscalations", "escalations", { namespaceId, status, limit, cursor });
      show(flags, answer, escalationTable(answer.escalations, { status, cursor: answer.cursor }, flags));
    });
  answering(
    asOperator(
      escalations.command("approve"),
      "Issue exactly what an escalation requests, once, for its one purpose and until it expires.",
      "turnpike escalation approve q0abc --tenant acme --expires 1h --uses 1",
    ),
  )
    .option("--expires <span or time>", "when the grant ends; after 1h unless given", (text) =>
      readExpiry("--expires", text),
    )
    .option("--uses <number>", "how often it may be used", (text) => readCount("--uses", text))
    .action(async (id: string | undefined, flags: AnswerFlags & { expires?: string; uses?: number }) => {
      const { expires: expiresAt, uses: maxUses } = flags;
      const escalation = await escalationOf(flags, id);
      const done = await requestAdmin(flags, "approveEscalation", {
        ...escalation,
        ...(expiresAt !== undefined && { expiresAt }),
        ...(maxUses !== undefined && { maxUses }),
      });
      show(flags, done, oneLine(approvedText(done)));
    });
  answering(
    asOperator(
      escalations.command("deny"),
      "Close an escalation with a no.",
      "turnpike escalation deny q0abc --tenant acme --reason 'The diary stays private.'",
    ),
  )
    .requiredOption("--reason <text>", "why not")
    .action(async (id: string | undefined, flags: AnswerFlags & { reason: string }) => {
      const escalation = await escalationOf(flags, id);
      const done = await requestAdmin(flags, "denyEscalation", { ...escalation, reason: flags.reason });
      show(flags, done, `Denied ${escalation.id}.`);
    });
}

/** What an approval came to: a grant, a permit, or the need for another yes. */
function approvedText({ escalation, grant }: AdminOutput<"approveEscalation">): string {
  const from = principalText(escalation.requester);
  if (escalation.status === "pending") return `Approved by you. A second person has to approve it, too.`;
  if (grant === undefined)
    return `Approved. ${from} may do it once, until ${escalation.permitExpiresAt ?? "it lapses"}.`;
  const may = grant.capabilities.map(capabilityText).join("; ");
  return `Approved. ${from} may ${may}, ${constraintsText(grant.constraints)} (${grant.id}).`;
}

function answering(command: Command): Command {
  return command
    .argument("[id]", "the escalation's id; or --wants")
    .requiredOption("--tenant <id>", "the tenant of the escalation")
    .option("--wants <text>", "the one escalation that requests exactly this, as `list` shows it under WANTS")
    .option(
      "--ask <hash>",
      "the hash of the request that was looked at, `ask` in `list --json`; the current one unless given",
    );
}

/** Names the escalation and the hash of its request, so that an answer is to exactly that request. */
async function escalationOf(
  flags: AnswerFlags,
  id: string | undefined,
): Promise<{ namespaceId: string; id: string; ask: string }> {
  const { tenant: namespaceId, ask, wants } = flags;
  if (id === undefined && wants === undefined)
    throw new ConfigError("escalation: expected the id of an escalation, or --wants with what it requests.");
  const sought = id === undefined ? { status: "pending", limit: 500 } : { id };
  const { escalations } = await requestList(flags, "listEscalations", "escalations", { namespaceId, ...sought });
  const [escalation, another] = escalations.filter((one) => wants === undefined || wantsExactly(one, wants));
  const see = `See: ${listCommand(flags)}`;
  if (escalation === undefined) throw new Error(`There is no such escalation in ${oneLine(namespaceId)}. ${see}`);
  if (another !== undefined) throw new Error(`Several escalations request that: name one by its id. ${see}`);
  return { namespaceId, id: escalation.id, ask: ask ?? escalation.ask };
}

/** An operator who writes `--wants` has read nothing else. So an escalation with further terms has to be named by its id. */
function wantsExactly({ requestedAuthority }: EscalationRecord, wants: string): boolean {
  return requestedAuthority?.constraints === undefined && wantsText(requestedAuthority) === wants;
}

function wantsText(request: EscalationRecord["requestedAuthority"]): string {
  return request?.capabilities.map(capabilityText).join("; ") ?? "-";
}

function listCommand(flags: AnswerFlags): string {
  return commandLine(["turnpike", "escalation", "list", ...sameHost(flags), "--tenant", flags.tenant]);
}

function escalationTable(
  escalations: readonly EscalationRecord[],
  { status, cursor }: { status: string; cursor: string | undefined },
  flags: OperatorFlags & { tenant: string },
): string {
  const [first] = escalations;
  if (first === undefined) return `No escalation is ${status}.`;
  const rows = escalations.map((escalation) => [
    escalation.id,
    principalText(escalation.requester),
    escalation.executionId ?? "-",
    wantsText(escalation.requestedAuthority),
    termsOf(escalation),
    escalation.reason,
    escalation.answer ?? escalation.grantId ?? `until ${escalation.expiresAt}`,
  ]);
  const table = withMore(renderTable(["ID", "FROM", "TURN", "WANTS", "TERMS", "BECAUSE", "ANSWER"], rows), cursor);
  if (status !== "pending") return table;
  const { executionId } = first;
  const isKnown = executionId !== undefined && isPasteable(executionId);
  const turn = isKnown ? `\n\nThe turn of the newest, so far:\n  ${turnCommand(executionId, first, flags)}` : "";
  return `${table}${turn}\n\nThe newest is approved with:\n  ${approveCommand(first, flags)}`;
}

/** The terms that the grant of an approval would have: owner, authority, purpose, and what else was requested. */
function termsOf({ reviewer, authority, purpose, requestedAuthority }: EscalationRecord): string {
  const { purposes: _purposes, ...others } = requestedAuthority?.constraints ?? {};
  const terms = [
    `of ${principalText(reviewer)}`,
    `by ${principalText(authority)}`,
    `for ${purpose}`,
    constraintsText(others),
  ];
  return terms.filter(Boolean).join(", ");
}

/** The command names the hash of the request. If the escalation changes meanwhile, it is not approved. */
function approveCommand({ id, ask }: EscalationRecord, flags: OperatorFlags & { tenant: string }): string {
  const where = [...sameHost(flags), "--tenant", flags.tenant];
  return commandLine(["turnpike", "escalation", "approve", id, ...where, "--ask", ask]);
}

/** Names the actor, too: another one may have used the same id. */
function turnCommand(
  executionId: string,
  { requester }: EscalationRecord,
  flags: OperatorFlags & { tenant: string },
): string {
  const where = [...sameHost(flags), "--tenant", flags.tenant, "--actor", principalText(requester)];
  return commandLine(["turnpike", "turn", "show", executionId, ...where]);
}
