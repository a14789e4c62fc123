import type { AuditEvent } from "turnpike/contracts";
import { aboutText, partiesText, principalText } from "../display/index.ts";
import { eventFits } from "../admin-contract/index.ts";
import type { OperatorFlags, PageFlags } from "./connection.ts";
import { type Column, renderTable, withMore, withTenant } from "./table.ts";

/** Which rows of the audit log are shown. */
export interface ListFlags extends OperatorFlags, PageFlags {
  tenant?: string;
  from?: string;
  until?: string;
  actor?: string;
  type?: string;
  outcome?: string;
  trace?: string;
  resource?: string;
  tool?: string;
  grant?: string;
  reason?: string;
  text?: string;
  follow?: boolean;
}

/** A row of the audit log. */
export interface AuditRow {
  strand: number;
  sequence: number;
  event: AuditEvent;
}

/** The query of a list with these flags. */
export function queryOf(flags: ListFlags) {
  const { tenant: namespaceId, limit, cursor } = flags;
  return { namespaceId, ...filterOf(flags), limit, cursor };
}

/** Whether a row fits the flags, as the host would say. */
export function fits({ event }: AuditRow, flags: ListFlags): boolean {
  return eventFits(event, filterOf(flags));
}

function filterOf({ from, until, actor, type, outcome, trace, resource, tool, grant, reason, text }: ListFlags) {
  return { from, until, actor, type, outcome, traceId: trace, resource, tool, grant, reason, text };
}

/** The columns of the audit log. */
export const auditColumns: readonly Column<Pick<AuditRow, "sequence" | "event">>[] = [
  { heading: "ROW", value: ({ sequence }) => String(sequence) },
  { heading: "AT", value: ({ event }) => event.at },
  { heading: "TYPE", value: ({ event }) => event.type },
  { heading: "OUTCOME", value: ({ event }) => event.outcome },
  { heading: "ACTOR", value: ({ event }) => principalText(event.actor), shrinks: 1 },
  { heading: "WHAT", value: ({ event }) => whatText(event), shrinks: 2 },
  { heading: "WHY", value: ({ event }) => event.reason ?? event.grantId ?? "", shrinks: 1 },
  { heading: "TRACE", value: ({ event }) => event.traceId },
];

/** Rows for people, and how to see the next page. */
export function eventTable(rows: readonly AuditRow[], cursor: string | undefined, flags: ListFlags): string {
  if (rows.length === 0) return "Nothing in the audit log fits.";
  const columns = withTenant(flags, ({ event }) => event.namespaceId, auditColumns);
  return withMore(renderTable(columns, rows), cursor);
}

/** What an event is about. Of an escalation that is its id, with which it can be shown. */
function whatText({ tool, metadata, ...event }: AuditEvent): string {
  const escalation = metadata?.["escalation"];
  const words = [aboutText(event), tool, typeof escalation === "string" && escalation];
  const parties = partiesText(metadata);
  return [words.filter(Boolean).join(" "), ...(parties === "" ? [] : [`(${parties})`])].join(" ");
}
