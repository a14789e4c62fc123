import { ConfigError } from "../shared/index.ts";
import { followAdmin, requestList } from "./admin-request.ts";
import { fits, queryOf, auditColumns, type ListFlags, type AuditRow } from "./audit-rows.ts";
import { jsonText, oneLine } from "./table.ts";

/** What following prints: rows, and what is said besides them. */
interface Output {
  say(line: string): void;
  note(line: string): void;
}

/** `audit list --follow`: the newest rows that fit, oldest first, then each that comes. It ends with the process. */
export async function followAuditLog(flags: ListFlags, { say, note }: Output): Promise<void> {
  const { tenant: namespaceId } = flags;
  if (namespaceId === undefined)
    throw new ConfigError("--follow: expected together with --tenant, because each tenant has a stream of its own.");
  for (const flag of ["until", "cursor"] as const)
    if (flags[flag] !== undefined) throw new ConfigError(`--${flag}: expected it or --follow, not both.`);
  const tell = (row: AuditRow): void =>
    say(flags.json === true ? jsonText(row, 0) : lineOf(auditColumns.map(({ value }) => value(row))));
  let shown: ReadonlySet<string> | undefined;
  let isAway = false;
  const onRetry = (): void => {
    if (!isAway) note("The host does not answer. This goes on when it does.");
    isAway = true;
  };
  for await (const { event } of followAdmin(flags, { namespaceId, onRetry })) {
    if (isAway) note("The host answers again.");
    isAway = false;
    if (shown === undefined) {
      // The list is read once the stream has begun, so that no row is missed between them; some are in both.
      const { events } = await requestList(flags, "listAudit", "events", queryOf(flags));
      if (flags.json !== true) say(lineOf(auditColumns.map(({ heading }) => heading)));
      for (const row of events.toReversed()) tell(row);
      shown = new Set(events.map(nameOf));
    }
    if (event.kind !== "trail") continue;
    const { kind: _kind, ...row } = event;
    if (fits(row, flags) && !shown.has(nameOf(row))) tell(row);
  }
}

function nameOf({ strand, sequence }: AuditRow): string {
  return `${strand}.${sequence}`;
}

/** What comes next is not known, so the columns have the widths that most rows need. */
const widths = [6, 24, 21, 9, 16, 30, 20];

function lineOf(columns: readonly string[]): string {
  const cells = columns.map((cell, column) => oneLine(cell).padEnd(widths[column] ?? 0));
  return cells.join("  ").trimEnd();
}
