import { type Question, QuestionStatusSchema } from "../management/index.ts";
import type { Command } from "commander";
import { ConfigError } from "../base/index.ts";
import { askHost } from "./admin-request.ts";
import { asOperator, sameHost, withPages, type OperatorFlags, type PageFlags, type Show } from "./connection.ts";
import { oneLine, renderTable, withMore } from "./table.ts";
import {
  capabilityText,
  commandLine,
  constraintsText,
  principalText,
  readChoice,
  readCount,
  readExpiry,
} from "./format.ts";

interface AnswerFlags extends OperatorFlags {
  tenant: string;
  ask?: string;
  wants?: string;
}

const statuses = QuestionStatusSchema.options;

/** `escalation list | approve | deny`. */
export function addEscalationCommands(program: Command, show: Show): void {
  const escalations = program
    .command("escalation")
    .description("Read and answer the questions that turns ended with.")
    .exitOverride();
  withPages(
    asOperator(
      escalations.command("list"),
      "List the questions that wait for an answer, newest first.",
      "turnpike escalation list --tenant acme",
    ),
  )
    .requiredOption("--tenant <id>", "the tenant they were asked in")
    .option("--status <status>", statuses.join(", "), (text) => readChoice("--status", text, statuses), "pending")
    .action(async (flags: OperatorFlags & PageFlags & { tenant: string; status: string }) => {
      const { tenant: namespaceId, status, limit, cursor } = flags;
      const answer = await askHost(flags, "listEscalations", { namespaceId, status, limit, cursor });
      show(flags, answer, questionTable(answer.escalations, { status, cursor: answer.cursor }, flags));
    });
  answering(
    asOperator(
      escalations.command("approve"),
      "Issue exactly what a question asks for, once, for its one purpose and until it expires.",
      "turnpike escalation approve q0abc --tenant acme --expires 1h --uses 1",
    ),
  )
    .option("--expires <span or time>", "when the grant ends; after 1h unless given", (text) =>
      readExpiry("--expires", text),
    )
    .option("--uses <number>", "how often it may be used", (text) => readCount("--uses", text))
    .action(async (id: string | undefined, flags: AnswerFlags & { expires?: string; uses?: number }) => {
      const { expires: expiresAt = readExpiry("--expires", "1h"), uses: maxUses } = flags;
      const question = await questionOf(flags, id);
      const done = await askHost(flags, "approveEscalation", {
        ...question,
        expiresAt,
        ...(maxUses !== undefined && { maxUses }),
      });
      const { grant } = done;
      const may = grant.capabilities.map(capabilityText).join("; ");
      const text = `Approved. ${principalText(grant.subject)} may ${may}, ${constraintsText(grant.constraints)} (${grant.id}).`;
      show(flags, done, oneLine(text));
    });
  answering(
    asOperator(
      escalations.command("deny"),
      "Close a question with a no.",
      "turnpike escalation deny q0abc --tenant acme --reason 'The diary stays private.'",
    ),
  )
    .requiredOption("--reason <text>", "why not")
    .action(async (id: string | undefined, flags: AnswerFlags & { reason: string }) => {
      const question = await questionOf(flags, id);
      const done = await askHost(flags, "denyEscalation", { ...question, reason: flags.reason });
      show(flags, done, `Denied ${question.id}.`);
    });
}

function answering(command: Command): Command {
  return command
    .argument("[id]", "the question's id; or --wants")
    .requiredOption("--tenant <id>", "the tenant it was asked in")
    .option("--wants <text>", "the one question that wants exactly this, as `list` shows it")
    .option("--ask <hash>", "the ask that was looked at (see `list --json`); what the question says now unless given");
}

/** Names the question and what it asks for, so that an answer is to exactly that. */
async function questionOf(
  flags: AnswerFlags,
  id: string | undefined,
): Promise<{ namespaceId: string; id: string; ask: string }> {
  const { tenant: namespaceId, ask, wants } = flags;
  if (id === undefined && wants === undefined)
    throw new ConfigError("escalation: expected the id of a question, or --wants with what it asks for.");
  const sought = id === undefined ? { status: "pending", limit: 500 } : { id };
  const { escalations } = await askHost(flags, "listEscalations", { namespaceId, ...sought });
  const [question, another] = escalations.filter((one) => wants === undefined || wantsExactly(one, wants));
  const see = `See: ${listCommand(flags)}`;
  if (question === undefined) throw new Error(`There is no such question in ${oneLine(namespaceId)}. ${see}`);
  if (another !== undefined) throw new Error(`Several questions want that: name one by its id. ${see}`);
  return { namespaceId, id: question.id, ask: ask ?? question.ask };
}

/** Whoever says what is wanted has seen that and nothing else: a question with terms of its own is named by its id. */
function wantsExactly({ requestedAuthority }: Question, wants: string): boolean {
  return requestedAuthority?.constraints === undefined && wantsText(requestedAuthority) === wants;
}

function wantsText(request: Question["requestedAuthority"]): string {
  return request?.capabilities.map(capabilityText).join("; ") ?? "-";
}

function listCommand(flags: AnswerFlags): string {
  return commandLine(["turnpike", "escalation", "list", ...sameHost(flags), "--tenant", flags.tenant]);
}

function questionTable(
  questions: readonly Question[],
  { status, cursor }: { status: string; cursor: string | undefined },
  flags: OperatorFlags & { tenant: string },
): string {
  const [first] = questions;
  if (first === undefined) return `No question is ${status}.`;
  const rows = questions.map((question) => [
    question.id,
    principalText(question.requester),
    wantsText(question.requestedAuthority),
    termsOf(question),
    question.reason,
    question.answer ?? question.grantId ?? `until ${question.expiresAt}`,
  ]);
  const table = withMore(renderTable(["ID", "FROM", "WANTS", "TERMS", "BECAUSE", "ANSWER"], rows), cursor);
  return status === "pending" ? `${table}\n\nThe newest is approved with:\n  ${approveCommand(first, flags)}` : table;
}

/** Under what an approval would put the grant: whose it is, for what, and what else was asked for. */
function termsOf({ reviewer, authority, purpose, requestedAuthority }: Question): string {
  const { purposes: _asked, ...others } = requestedAuthority?.constraints ?? {};
  const terms = [
    `of ${principalText(reviewer)}`,
    `by ${principalText(authority)}`,
    `for ${purpose}`,
    constraintsText(others),
  ];
  return terms.filter(Boolean).join(", ");
}

/** Names what was looked at: a question that asks for something else by then is not approved. */
function approveCommand({ id, ask }: Question, flags: OperatorFlags & { tenant: string }): string {
  const where = [...sameHost(flags), "--tenant", flags.tenant];
  return commandLine(["turnpike", "escalation", "approve", id, ...where, "--ask", ask]);
}
