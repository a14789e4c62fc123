import { sql, type RawBuilder } from "kysely";
import { z } from "zod";
import { positive } from "../base/index.ts";
import type { ReplayStore } from "../ledger/index.ts";
import { removeOldEscalations } from "./old-escalations.ts";
import { forgetEndedTurns } from "./old-turns.ts";
import { fewRows, freePages, livingHosts, type Database, type Schema } from "../storage/index.ts";

export const RetentionSettingsSchema = z.strictObject({
  turnsDays: positive.default(30).describe("days for which the journal of a turn is kept after it ended"),
  auditDays: positive
    .optional()
    .describe("days for which audit rows are kept before they are exported; for ever unless set"),
  auditFolder: z.string().min(1).optional().describe("folder of the exports; audit-exports beside the database"),
  endedGrantsDays: positive.default(365).describe("days for which a grant is kept after it expired or was revoked"),
  messagesDays: positive.default(90).describe("days for which a message is kept after it was acknowledged"),
  escalationsDays: positive.default(365).describe("days for which an escalation is kept after it expired"),
});

interface Settings {
  replay: { keepResultsDays: number; keepReadsHours: number };
  retention: z.infer<typeof RetentionSettingsSchema>;
  escalations: { refusalMinutes: number };
}

/** One kind of row, and how long it is kept. */
export interface RetentionKind {
  name: string;
  keepMs: number;
  /** Removes rows from before an instant, at most so many, in one short transaction; returns how many. */
  removeSome(before: string, most: number): Promise<number>;
}

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const dayMs = 24 * hourMs;

/** Everything that is kept for a time. */
export function retentionKinds(
  { replay, retention, escalations: { refusalMinutes } }: Settings,
  database: Database,
  { forgetResults }: Pick<ReplayStore, "forgetResults">,
): RetentionKind[] {
  const rowsOf = (table: keyof Schema, isOld: (before: string) => RawBuilder<boolean>): RetentionKind["removeSome"] => {
    return async (before, most) => {
      const old = database.db.deleteFrom(table).where(fewRows(database, table, isOld(before), most));
      return Number((await old.executeTakeFirst()).numDeletedRows);
    };
  };
  return [
    {
      name: "results of reads",
      keepMs: replay.keepReadsHours * hourMs,
      removeSome: (before, most) => forgetResults("reads", before, most),
    },
    {
      name: "journals of turns",
      keepMs: retention.turnsDays * dayMs,
      removeSome: (before, most) => forgetEndedTurns(database, before, most),
    },
    {
      name: "results",
      keepMs: replay.keepResultsDays * dayMs,
      removeSome: (before, most) => forgetResults("writes", before, most),
    },
    {
      name: "messages",
      keepMs: retention.messagesDays * dayMs,
      // One that was never acknowledged stays: an inbox has a limit for them.
      removeSome: rowsOf("messages", (before) => sql`acknowledged_at < ${before}`),
    },
    {
      name: "escalations",
      // A no that is gone would not count any more.
      keepMs: Math.max(retention.escalationsDays * dayMs, refusalMinutes * minuteMs),
      removeSome: (before, most) => removeOldEscalations(database, before, most),
    },
    {
      name: "messages to webhooks",
      // One is sent or given up within a day, unless no host is left that would.
      keepMs: 7 * dayMs,
      removeSome: rowsOf("outbox", (before) => sql`created_at < ${before}`),
    },
    {
      name: "what webhooks were told",
      keepMs: 7 * dayMs,
      removeSome: rowsOf("webhook_history", (before) => sql`finished_at < ${before}`),
    },
    {
      name: "sessions",
      keepMs: 0,
      removeSome: rowsOf("sessions", (before) => sql`expires_at < ${before}`),
    },
    {
      name: "one-time codes",
      keepMs: 0,
      removeSome: rowsOf("one_time_codes", (before) => sql`expires_at < ${before}`),
    },
    {
      name: "hosts",
      keepMs: dayMs,
      removeSome: rowsOf("hosts", (before) => sql`started_at < ${before} and ${isGone(database)}`),
    },
    // The last: what the others removed is free by now.
    { name: "free pages", keepMs: 0, removeSome: (_before, most) => freePages(database, most) },
  ];
}

/** SQL: whether a row of `hosts` is of one that has ended, and nothing refers to it. Its id is never given again. */
function isGone({ kind, hostId }: Database): RawBuilder<boolean> {
  const living = kind === "postgres" ? sql`id in ${livingHosts}` : sql`false`;
  return sql`id <> ${hostId} and not ${living}
    and not exists (select 1 from turns where turns.host_id = hosts.id and turns.status = 'running')
    and not exists (select 1 from running_turns where running_turns.host_id = hosts.id)
    and not exists (select 1 from replay where replay.host_id = hosts.id and replay.finished_at is null)`;
}
