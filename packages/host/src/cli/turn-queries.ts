import type { Command } from "commander";
import { TurnStatusSchema, type TurnEvent, type TurnState, type TurnStatus } from "turnpike/contracts";
import type { OperatedTurn } from "../admin-contract/index.ts";
import { ConfigError } from "../shared/index.ts";
import { partiesText, principalText } from "../display/index.ts";
import { requestAdmin } from "./admin-request.ts";
import {
  asCallerOrOperator,
  openCaller,
  sameHost,
  sameHostAsCaller,
  withPageFlags,
  type CallerOrOperatorFlags,
  type PageFlags,
  type Show,
} from "./connection.ts";
import { checkedPrincipal, readChoice, readInstant } from "./flags.ts";
import { hintLine } from "./format.ts";
import { type Column, oneLine, renderTable, withMore, withTenant } from "./table.ts";
import { answeredBy, eventLine, noteText, resultText, stateText, waitingText } from "./timeline.ts";

interface OneFlags extends CallerOrOperatorFlags {
  actor?: string;
}

interface ListFlags extends CallerOrOperatorFlags, PageFlags {
  status?: TurnStatus[];
  actor?: string;
  from?: string;
  until?: string;
  allTenants?: boolean;
}

const statuses = TurnStatusSchema.options;

/** `turn show | list`: those of the caller, and with `--tenant` those of all callers. */
export function addTurnQueries(turn: Command, show: Show): void {
  withActor(
    asCallerOrOperator(
      turn.command("show"),
      "Show where a turn is and what it came to; to operators, also what has happened in it so far.",
      "turnpike turn show turn-0abc --tenant acme",
    ),
  ).action(async (id: string, flags: OneFlags) => {
    if (isOperators(flags)) {
      const found = await requestAdmin(flags, "inspectTurn", nameOf(flags, id));
      const list = hintLine(["escalation", "list", ...sameHost(flags), "--tenant", found.namespaceId]);
      const more = found.state.escalation === undefined ? "" : `\nAnswer it: ${list}`;
      return show(flags, found, `${operatedText(found)}\n${shownText(found.state, found.events)}${more}`);
    }
    const state = await openCaller(flags).client.turn(id);
    const follow = hintLine(["turn", "follow", id, ...sameHostAsCaller(flags)]);
    const waits = state.escalation === undefined ? "" : `\n${answeredBy()}`;
    const more = state.completedAt === undefined ? `${waits}\nFollow it: ${follow}` : "";
    show(flags, state, `${shownText(state, state.result?.events ?? [])}${more}`);
  });
  withPageFlags(
    asCallerOrOperator(
      turn.command("list"),
      "List turns, newest first.",
      "turnpike turn list --status running,waiting",
    ),
  )
    .option("--all-tenants", "those of every tenant that you may see, for operators")
    .option("--status <statuses>", `${statuses.join(", ")}; several with commas`, readStatuses)
    .option("--actor <kind:id>", "with --tenant: only those that this principal started", checkedPrincipal("--actor"))
    .option("--from <time>", "for operators: started not before, RFC 3339", (text) => readInstant("--from", text))
    .option("--until <time>", "for operators: started before, RFC 3339", (text) => readInstant("--until", text))
    .action(async (flags: ListFlags) => {
      if (flags.allTenants === true && flags.actor !== undefined)
        throw new ConfigError("--actor: expected together with --tenant, because actors belong to a tenant.");
      if (isOperators(flags) || isOfAll(flags)) return listAsOperator(flags, show);
      for (const flag of ["from", "until"] as const)
        if (flags[flag] !== undefined)
          throw new ConfigError(`--${flag}: expected together with --tenant or --all-tenants.`);
      const { limit, cursor: before } = flags;
      const answer = await openCaller(flags).client.turns({ statuses: flags.status, limit, before });
      show(flags, answer, tableText(ownColumns, answer.turns, answer.next));
    });
}

/** `turn cancel`. */
export function addTurnCancel(turn: Command, show: Show): void {
  withActor(
    asCallerOrOperator(
      turn.command("cancel"),
      "End a turn before its next step.",
      "turnpike turn cancel turn-0abc --tenant acme",
    ),
  ).action(async (id: string, flags: OneFlags) => {
    if (isOperators(flags)) {
      const found = await requestAdmin(flags, "cancelAnyTurn", nameOf(flags, id));
      return show(flags, found, cancelledText(found.state));
    }
    const state = await openCaller(flags).client.cancelTurn(id);
    show(flags, state, cancelledText(state));
  });
}

function withActor(command: Command): Command {
  return command
    .argument("<id>", "the turn's id")
    .option("--actor <kind:id>", "with --tenant: whose, if several used the id", checkedPrincipal("--actor"));
}

/** Whether the turns of all tenants are meant: with the flag, or when the only token is an operator's. */
function isOfAll({ allTenants, token = process.env["TURNPIKE_TOKEN"], place }: ListFlags): boolean {
  const isOperator = process.env["TURNPIKE_ADMIN_TOKEN"] !== undefined || place?.context?.kind === "operator";
  return allTenants === true || (token === undefined && isOperator);
}

/** Whether the operator's form is meant. */
function isOperators({ tenant, token, actor }: OneFlags): boolean {
  if (tenant === undefined && actor !== undefined)
    throw new ConfigError("--actor: expected together with --tenant; without it, turns are your own.");
  if (tenant !== undefined && token !== undefined)
    throw new ConfigError("--token: with --tenant this acts as an operator. Set TURNPIKE_ADMIN_TOKEN instead.");
  return tenant !== undefined;
}

function nameOf({ tenant: namespaceId, actor }: OneFlags, executionId: string) {
  return { namespaceId, executionId, actor };
}

async function listAsOperator(flags: ListFlags, show: Show): Promise<void> {
  const { tenant: namespaceId, from, until, limit, cursor: before } = flags;
  const filter = { actor: flags.actor, status: flags.status?.join(","), from, until };
  const answer = await requestAdmin(flags, "listAllTurns", { namespaceId, ...filter, limit, before });
  const columns = withTenant(flags, (turn) => turn.namespaceId, operatedColumns);
  show(flags, answer, tableText(columns, answer.turns, answer.next));
}

function turnColumns<Row>(stateOf: (row: Row) => TurnState, ...behindId: readonly Column<Row>[]): Column<Row>[] {
  return [
    { heading: "ID", value: (row) => stateOf(row).executionId },
    ...behindId,
    { heading: "STATUS", value: (row) => stateOf(row).status },
    // Thousandths of a second are of no use here.
    { heading: "STARTED", value: (row) => stateOf(row).startedAt.replace(/\.\d+Z$/, "Z") },
    { heading: "CALLS", value: (row) => String(stateOf(row).toolCalls) },
    { heading: "NOTE", value: (row) => noteText(stateOf(row)), shrinks: 2 },
  ];
}

const ownColumns = turnColumns((state: TurnState) => state);

const operatedColumns = turnColumns(({ state }: OperatedTurn) => state, {
  heading: "BY",
  value: ({ actor }) => principalText(actor),
  shrinks: 1,
});

function tableText<Row>(columns: readonly Column<Row>[], rows: readonly Row[], next: string | undefined): string {
  if (rows.length === 0) return "No such turn.";
  return withMore(renderTable(columns, rows), next);
}

function operatedText({ namespaceId, actor, triedBy, isAsync, hostId, state }: OperatedTurn): string {
  const host = hostId === undefined ? "no host runs it" : `host ${hostId} runs it`;
  const facts = [
    `Tenant ${namespaceId}`,
    `started by ${principalText(actor)}`,
    ...(triedBy === undefined ? [] : [partiesText({ triedBy })]),
    isAsync ? "asynchronous" : "with its caller",
    ...(state.status === "running" ? [host] : []),
  ];
  return oneLine(`${facts.join(", ")}.`);
}

function shownText(state: TurnState, events: readonly TurnEvent[]): string {
  const { escalation, result, startedAt } = state;
  return [
    stateText(state),
    ...events.map((event) => eventLine(event, startedAt)),
    ...(escalation === undefined ? [] : [waitingText(escalation)]),
    ...(result === undefined ? [] : [resultText(result)]),
  ].join("\n");
}

function cancelledText(state: TurnState): string {
  return state.completedAt === undefined
    ? oneLine(`Cancelled ${state.executionId}: it ends before its next step.`)
    : stateText(state);
}

function readStatuses(text: string): TurnStatus[] {
  return text.split(",").map((status) => readChoice("--status", status, statuses) as TurnStatus);
}
