import type { Command } from "commander";
import { ConfigError } from "../config.ts";
import { QuestionStatusSchema, type Question } from "../escalations/escalation-store.ts";
import { askHost } from "./admin-client.ts";
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
} from "./words.ts";

interface AnswerFlags extends OperatorFlags {
  tenant: string;
  ask?: string;
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
      show(flags, answer, questionTable(answer.escalations, status, answer.cursor));
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
    .argument("[id]", "the question's id; not needed when only one waits")
    .requiredOption("--tenant <id>", "the tenant it was asked in")
    .option("--ask <hash>", "the ask that was looked at (see `list --json`); what the question says now unless given");
}

/** Names the question and what it asks for, so that an answer is to exactly that. */
async function questionOf(
  flags: AnswerFlags,
  id: string | undefined,
): Promise<{ namespaceId: string; id: string; ask: string }> {
  const { tenant: namespaceId, ask } = flags;
  if (id !== undefined && ask !== undefined) return { namespaceId, id, ask };
  const wanted = id === undefined ? { status: "pending", limit: 2 } : { id };
  const { escalations } = await askHost(flags, "listEscalations", { namespaceId, ...wanted });
  const [question, another] = escalations;
  if (question === undefined)
    throw new Error(`There is no such question in ${oneLine(namespaceId)}. See: ${listCommand(flags)}`);
  if (another !== undefined)
    throw new ConfigError(`More than one question waits: name one. See: ${listCommand(flags)}`);
  return { namespaceId, id: question.id, ask: ask ?? question.ask };
}

function listCommand(flags: AnswerFlags): string {
  return commandLine(["turnpike", "escalation", "list", ...sameHost(flags), "--tenant", flags.tenant]);
}

function questionTable(questions: readonly Question[], status: string, cursor: string | undefined): string {
  if (questions.length === 0) return `No question is ${status}.`;
  const rows = questions.map(({ id, requester, requestedAuthority, purpose, reason, expiresAt, answer, grantId }) => [
    id,
    principalText(requester),
    requestedAuthority?.capabilities.map(capabilityText).join("; ") ?? "-",
    purpose,
    reason,
    answer ?? grantId ?? `until ${expiresAt}`,
  ]);
  return withMore(renderTable(["ID", "FROM", "WANTS", "FOR", "BECAUSE", "ANSWER"], rows), cursor);
}
