import { type EscalationRecord, EscalationStatusSchema } from "../admin-contract/index.ts";
import type { Command } from "commander";
import { ConfigError } from "../shared/index.ts";
import { closedText, principalText, visibleText, wantsText } from "../display/index.ts";
import { requestAdmin, requestList } from "./admin-request.ts";
import { asOperator, sameHost, withPageFlags, type OperatorFlags, type PageFlags, type Show } from "./connection.ts";
import {
  approvedText,
  becameText,
  escalationText,
  isCut,
  requestedText,
  termsText,
  type ShowFlags,
} from "./escalation-text.ts";
import { readChoice, readCount, readExpiry } from "./flags.ts";
import { hintLine } from "./format.ts";
import { type Column, oneLine, renderTable, withMore, withTenant } from "./table.ts";

interface AnswerFlags extends OperatorFlags {
  tenant: string;
  ask?: string;
  wants?: string;
  turn?: string;
}

const statuses = EscalationStatusSchema.options;

/** `escalation list | show | approve | deny | withdraw`. */
export function addEscalationCommands(program: Command, show: Show): void {
  const escalations = program
    .command("escalation")
    .description("Read and answer the escalations that wait for a person.")
    .exitOverride();
  withPageFlags(
    asOperator(
      escalations.command("list"),
      "List the escalations that wait for an answer, newest first.",
      "turnpike escalation list --tenant acme",
    ),
  )
    .option("--tenant <id>", "only those of this tenant; of all that you may see unless given")
    .option("--status <status>", statuses.join(", "), (text) => readChoice("--status", text, statuses), "pending")
    .action(async (flags: OperatorFlags & PageFlags & { tenant?: string; status: string }) => {
      const { tenant: namespaceId, status, limit, cursor } = flags;
      const answer = await requestList(flags, "listEscalations", "escalations", { namespaceId, status, limit, cursor });
      show(flags, answer, escalationTable(answer.escalations, { status, cursor: answer.cursor }, flags));
    });
  asOperator(
    escalations.command("show"),
    "Show all that an escalation asks for, the grant that it rests on, who approved it so far, and its turn.",
    "turnpike escalation show q0abc --tenant acme",
  )
    .argument("[id]", "the escalation's id; or --turn")
    .requiredOption("--tenant <id>", "the tenant of the escalation")
    .option("--turn <id>", turnMeans)
    .option("--full", "long texts, lists and turns to their end")
    .action(async (given: string | undefined, flags: ShowFlags & Pick<AnswerFlags, "turn">) => {
      // Without an id the one open escalation is shown. An answered one is shown by its id only.
      const id = given ?? (await escalationOf(flags, given)).id;
      const shown = await requestAdmin(flags, "showEscalation", { namespaceId: flags.tenant, id });
      show(flags, shown, escalationText(shown, flags));
    });
  answering(
    asOperator(
      escalations.command("approve"),
      "Approve exactly the authority that an escalation requests, or the one act that it is about, once.",
      "turnpike escalation approve q0abc --tenant acme --expires 1h",
    ),
  )
    .option(
      "--expires <span or time>",
      "when that ends: a grant after 1h unless given, the approval of one act after the minutes that the host is set to",
      (text) => readExpiry("--expires", text),
    )
    .option("--uses <number>", "how often a grant may be used; the approval of one act is for one use", (text) =>
      readCount("--uses", text),
    )
    .option("--full", "print all of what is approved; needed where `show` prints only a part of it")
    .action(
      async (id: string | undefined, flags: AnswerFlags & { expires?: string; uses?: number; full?: boolean }) => {
        const { expires: expiresAt, uses: maxUses, full = false } = flags;
        const terms = { ...(expiresAt !== undefined && { expiresAt }), ...(maxUses !== undefined && { maxUses }) };
        const escalation = await escalationOf(flags, id);
        const shown = await requestAdmin(flags, "showEscalation", { namespaceId: flags.tenant, id: escalation.id });
        // A person approves only what they were shown.
        if (!full && isCut(shown)) throw new Error(tooLong(shown.escalation, flags));
        const ask = flags.ask ?? shown.escalation.ask;
        const done = await requestAdmin(flags, "approveEscalation", { ...escalation, ask, ...terms });
        show(flags, done, full ? `${requestedText(shown, full)}\n\n${becameText(done)}` : approvedText(done));
      },
    );
  answering(
    asOperator(
      escalations.command("deny"),
      "Deny an escalation.",
      "turnpike escalation deny q0abc --tenant acme --reason 'The diary stays private.'",
    ),
  )
    .requiredOption("--reason <text>", "why not")
    .action(async (id: string | undefined, flags: AnswerFlags & { reason: string }) => {
      const escalation = await escalationOf(flags, id);
      const done = await requestAdmin(flags, "denyEscalation", { ...escalation, reason: flags.reason });
      show(flags, done, `Denied ${escalation.id}.`);
    });
  answering(
    asOperator(
      escalations.command("withdraw"),
      "Withdraw an approval: of an act that has not happened yet, or of authority, whose grant is revoked.",
      "turnpike escalation withdraw q0abc --tenant acme --reason 'The invoice is a forgery.'",
    ),
    "approved",
  )
    .option("--reason <text>", "why")
    .action(async (id: string | undefined, flags: AnswerFlags & { reason?: string }) => {
      const { reason } = flags;
      const escalation = await escalationOf(flags, id, "approved");
      const terms = reason === undefined ? {} : { reason };
      const done = await requestAdmin(flags, "withdrawEscalation", { ...escalation, ...terms });
      show(flags, done, `Withdrew the approval of ${escalation.id}. The agent has to ask again.`);
    });
}

function tooLong({ id, ask }: EscalationRecord, flags: AnswerFlags): string {
  const where = [id, ...sameHost(flags), "--tenant", flags.tenant];
  const read = hintLine(["escalation", "show", ...where, "--full"]);
  const approve = hintLine(["escalation", "approve", ...where, "--ask", ask, "--full"]);
  return `Not approved: this is longer than what is shown of it, and an approval is of all of it. Read it whole: ${read}\nThen approve it: ${approve}`;
}

const turnMeans = "the turn whose one open escalation it is";

function answering(command: Command, status: "pending" | "approved" = "pending"): Command {
  return command
    .argument("[id]", "the escalation's id; or --turn, or --wants")
    .requiredOption("--tenant <id>", "the tenant of the escalation")
    .option("--turn <id>", status === "pending" ? turnMeans : "the turn whose one approved escalation it is")
    .option("--wants <text>", "the one escalation that requests exactly this, as `list` shows it under WANTS")
    .option(
      "--ask <hash>",
      "the hash of the request that was shown, `ask` in `list --json`; the current one unless given",
    );
}

/** Names the escalation and the hash of its request, so that an answer is to exactly that request. */
async function escalationOf(
  flags: AnswerFlags,
  id: string | undefined,
  status: "pending" | "approved" = "pending",
): Promise<{ namespaceId: string; id: string; ask: string }> {
  const { tenant: namespaceId, ask, wants, turn } = flags;
  if (id === undefined && wants === undefined && turn === undefined)
    throw new ConfigError(
      "escalation: expected the id of an escalation, or --turn with the turn that waits for it, or --wants with what it requests.",
    );
  const sought = id === undefined ? { status, limit: 500 } : { id };
  const { escalations } = await requestList(flags, "listEscalations", "escalations", { namespaceId, ...sought });
  const isMeant = (one: EscalationRecord): boolean =>
    (wants === undefined || wantsExactly(one, wants)) && (turn === undefined || one.executionId === turn);
  const [escalation, another] = escalations.filter(isMeant);
  const see = `See: ${listCommand(flags)}`;
  if (escalation === undefined) throw new Error(`There is no such escalation in ${oneLine(namespaceId)}. ${see}`);
  if (another !== undefined) throw new Error(`Several escalations are meant by that: name one by its id. ${see}`);
  return { namespaceId, id: escalation.id, ask: ask ?? escalation.ask };
}

/**
 * An operator who writes `--wants` has read nothing else. So an escalation with further terms, and one about an act with its
 * arguments, has to be named by its id.
 */
function wantsExactly(escalation: EscalationRecord, wants: string): boolean {
  const { requestedAuthority, approval } = escalation;
  const isAll = approval === undefined && requestedAuthority?.constraints === undefined;
  return isAll && visibleText(wantsText(escalation)) === wants;
}

function listCommand(flags: Pick<AnswerFlags, "tenant"> & OperatorFlags): string {
  return hintLine(["escalation", "list", ...sameHost(flags), "--tenant", flags.tenant]);
}

const escalationColumns: readonly Column<EscalationRecord>[] = [
  { heading: "ID", value: ({ id }) => id },
  { heading: "FROM", value: ({ requester }) => principalText(requester), shrinks: 1 },
  { heading: "TURN", value: ({ executionId = "-" }) => executionId },
  { heading: "WANTS", value: wantsText, shrinks: 1 },
  { heading: "TERMS", value: termsText, shrinks: 2 },
  { heading: "BECAUSE", value: ({ reason }) => reason, shrinks: 3 },
  {
    heading: "ANSWER",
    value: ({ answer, grantId, permitExpiresAt, expiresAt, closed }) =>
      answer ?? grantId ?? (closed ? closedText(closed) : `until ${permitExpiresAt ?? expiresAt}`),
    shrinks: 2,
  },
];

function escalationTable(
  escalations: readonly EscalationRecord[],
  { status, cursor }: { status: string; cursor: string | undefined },
  flags: OperatorFlags & { tenant?: string },
): string {
  const [first] = escalations;
  if (first === undefined) return `No escalation is ${status}.`;
  const columns = withTenant(flags, ({ namespaceId }) => namespaceId, escalationColumns);
  const table = withMore(renderTable(columns, escalations), cursor);
  if (status !== "pending") return table;
  const all = `${table}\n\nAll of the newest, and its turn so far:\n  ${showCommand(first, flags)}`;
  // A person cannot approve an act whose arguments they have not seen, or what is longer than what is shown of it.
  if (first.approval !== undefined || isCut({ escalation: first, approvalsNeeded: 1 })) return all;
  return `${all}\n\nThe newest is approved with:\n  ${approveCommand(first, flags)}`;
}

/** The command names the hash of the request. If the escalation changes meanwhile, it is not approved. */
function approveCommand({ id, ask, namespaceId }: EscalationRecord, flags: OperatorFlags): string {
  const where = [...sameHost(flags), "--tenant", namespaceId];
  return hintLine(["escalation", "approve", id, ...where, "--ask", ask]);
}

function showCommand({ id, namespaceId }: EscalationRecord, flags: OperatorFlags): string {
  return hintLine(["escalation", "show", id, ...sameHost(flags), "--tenant", namespaceId]);
}
