import { actRows, requestText } from "turnpike-host/display";
import type { EscalationRecord } from "turnpike-host/admin-contract";
import { partiesText } from "../../shared/words.ts";
import { shortAct } from "./act-size.ts";

/** The escalations of one card: a single one, or several that differ only in their arguments. */
export type Batch = readonly [EscalationRecord, ...EscalationRecord[]];

/** Acts with more arguments are read one by one. */
const mostColumns = 8;

/** Groups open escalations that differ only in the arguments of the same tool. A group is at the place of its first one. */
export function batchesOf(rows: readonly EscalationRecord[]): Batch[] {
  const batches = new Map<string, [EscalationRecord, ...EscalationRecord[]]>();
  for (const row of rows) {
    const key = batchKey(row) ?? `alone ${row.id}`;
    const batch = batches.get(key);
    if (batch === undefined) batches.set(key, [row]);
    else batch.push(row);
  }
  return [...batches.values()];
}

/** A key that the escalations of one batch share; undefined for one that is answered alone. */
export function batchKey(row: EscalationRecord): string | undefined {
  const { status, approval, requester, reviewer, authority, purpose, reason, approvals } = row;
  if (status !== "pending" || approval?.act.kind !== "tool") return undefined;
  // The principals that tried it or asked about it are shown only beside a single escalation.
  if (partiesText(row) !== "") return undefined;
  const { act, grantId, request } = approval;
  const rows = actRows(act);
  // In a batch every argument is shown whole.
  if (rows.length > mostColumns || shortAct(rows).isCut) return undefined;
  const { action, resource } = request;
  const { path: _path, ...place } = resource;
  const who = { requester, reviewer, authority, purpose, reason, approvals };
  return JSON.stringify([act.tool, grantId, action, place, who]);
}

/** The table of a batch: a column for each argument that one of them has, and what each needs where that differs. */
export function batchTable(batch: readonly EscalationRecord[]): {
  columns: string[];
  rows: { escalation: EscalationRecord; cells: (string | undefined)[]; needs: string | undefined }[];
} {
  const told = batch.map((escalation) => {
    const { approval } = escalation;
    const values = new Map(approval ? actRows(approval.act).map(({ name, value }) => [name, value]) : []);
    return { escalation, values, needs: approval === undefined ? "" : requestText(approval.request) };
  });
  const columns = [...new Set(told.flatMap(({ values }) => [...values.keys()]))];
  const isOneNeed = new Set(told.map(({ needs }) => needs)).size === 1;
  return {
    columns,
    rows: told.map(({ escalation, values, needs }) => ({
      escalation,
      cells: columns.map((name) => values.get(name)),
      needs: isOneNeed ? undefined : needs,
    })),
  };
}
