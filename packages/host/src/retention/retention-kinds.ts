import { sql, type RawBuilder } from "kysely";
import { z } from "zod";
import { positive } from "../shared/index.ts";
import type { ReplayStore } from "../ledger/index.ts";
import { removeOldEscalations } from "./old-escalations.ts";
import { forgetEndedTurns } from "./old-turns.ts";
import { limitRows, freePages, livingHosts, lockedHosts, type Database, type Schema } from "../storage/index.ts";

export const RetentionSettingsSchema = z.strictObject({
  turnsDays: positive.default(30).describe("days for which the journal of a turn is retained after it ended"),
  auditDays: positive
    .optional()
    .describe("days for which audit rows are retained before they are exported; for ever unless set"),
  auditFolder: z.string().min(1).optional().describe("folder of the exports; audit-exports beside the database"),
  endedGrantsDays: positive.default(365).describe("days for which a grant is retained after it expired or was revoked"),
  messagesDays: positive.default(90).describe("days for which a message is retained after it was acknowledged"),
  escalationsDays: positive.default(365).describe("days for which an escalation is retained after it expired"),
});

interface Settings {
  replay: { keepResultsDays: number; keepReadsHours: number };
  retention: z.infer<typeof RetentionSettingsSchema>;
  escalations: { refusalMinutes: number; expireHours: number };
}

/** One kind of row, and how long it is retained. */
export interface RetentionKind {
  name: string;
  retainMs: number;
  /** Removes up to `most` rows from before an instant in one short transaction. Returns how many. */
  removeSome(before: string, most: number): Promise<number>;
}

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const dayMs = 24 * hourMs;

/** Every kind of row that is retained for a limited time. */
export function retentionKinds(
  { replay, retention, escalations: { refusalMinutes, expireHours } }: Settings,
  database: Database,
  { forgetResults }: Pick<ReplayStore, "forgetResults">,
): RetentionKind[] {
  const rowsOf = (table: keyof Schema, isOld: (before: string) => RawBuilder<boolean>): RetentionKind["removeSome"] => {
    return async (before, most) => {
      const old = database.db.deleteFrom(table).where(limitRows(database, table, isOld(before), most));
      return Number((await old.executeTakeFirst()).numDeletedRows);
    };
  };
  return [
    {
      name: "results of reads",
      retainMs: replay.keepReadsHours * hourMs,
      removeSome: (before, most) => forgetResults("reads", before, most),
    },
    {
      name: "journals of turns",
      retainMs: retention.turnsDays * dayMs,
      removeSome: (before, most) => forgetEndedTurns(database, before, most),
    },
    {
      name: "results",
      retainMs: replay.keepResultsDays * dayMs,
      removeSome: (before, most) => forgetResults("writes", before, most),
    },
    {
      name: "outcomes of acts",
      retainMs: replay.keepResultsDays * dayMs,
      async removeSome(before, most) {
        const old = limitRows(database, "acts", sql`completed_at < ${before} and outcome is not null`, most);
        const { numUpdatedRows } = await database.db
          .updateTable("acts")
          .set({ outcome: null })
          .where(old)
          .executeTakeFirst();
        return Number(numUpdatedRows);
      },
    },
    {
      name: "acts that waited",
      // An escalation expires so long after its act was asked about last, at the latest.
      retainMs: expireHours * hourMs,
      removeSome: rowsOf("waiting_acts", (before) => sql`asked_at < ${before}`),
    },
    {
      name: "messages",
      retainMs: retention.messagesDays * dayMs,
      // A message that was never acknowledged remains: an inbox has a limit for them.
      removeSome: rowsOf("messages", (before) => sql`acknowledged_at < ${before}`),
    },
    {
      name: "escalations",
      // A denial that was removed would no longer count.
      retainMs: Math.max(retention.escalationsDays * dayMs, refusalMinutes * minuteMs),
      removeSome: (before, most) => removeOldEscalations(database, before, most),
    },
    {
      name: "messages to webhooks",
      // A message is sent or given up within a day, as long as a host runs.
      retainMs: 7 * dayMs,
      removeSome: rowsOf("outbox", (before) => sql`created_at < ${before}`),
    },
    {
      name: "what webhooks were told",
      retainMs: 7 * dayMs,
      removeSome: rowsOf("webhook_history", (before) => sql`finished_at < ${before}`),
    },
    {
      name: "sessions",
      retainMs: 0,
      removeSome: rowsOf("sessions", (before) => sql`expires_at < ${before}`),
    },
    {
      name: "one-time codes",
      retainMs: 0,
      removeSome: rowsOf("one_time_codes", (before) => sql`expires_at < ${before}`),
    },
    {
      name: "what clients ask people for",
      retainMs: 0,
      removeSome: rowsOf("authorization_requests", (before) => sql`expires_at < ${before}`),
    },
    {
      name: "codes of clients",
      // One that comes again is noticed for a day.
      retainMs: dayMs,
      removeSome: rowsOf("authorization_codes", (before) => sql`expires_at < ${before}`),
    },
    {
      name: "refresh tokens",
      retainMs: dayMs,
      removeSome: rowsOf("connection_tokens", (before) => sql`expires_at < ${before}`),
    },
    {
      name: "clients that no one uses",
      retainMs: dayMs,
      removeSome: rowsOf("oauth_clients", (before) => sql`created_at < ${before} and used_at is null`),
    },
    {
      name: "what counted once",
      retainMs: 0,
      removeSome: rowsOf("used_once", (before) => sql`expires_at < ${before}`),
    },
    {
      name: "hosts",
      retainMs: dayMs,
      removeSome: rowsOf("hosts", (before) => sql`started_at < ${before} and ${isGone(database)}`),
    },
    // This is last, because the others have freed pages by now.
    { name: "free pages", retainMs: 0, removeSome: (_before, most) => freePages(database, most) },
  ];
}

/**
 * SQL: whether the host of a row of `hosts` has ended and nothing refers to it. Its id is never used again. One that is paused may have
 * a day: it beats into its row when it is back.
 */
function isGone({ kind, hostId }: Database): RawBuilder<boolean> {
  const living =
    kind === "postgres"
      ? sql`(id in ${livingHosts} or id in ${lockedHosts}
          or (ended_at is null and coalesce(beat_at, 0) > extract(epoch from clock_timestamp()) - 86400))`
      : sql`false`;
  return sql`id <> ${hostId} and not ${living}
    and not exists (select 1 from turns where turns.host_id = hosts.id and turns.status = 'running')
    and not exists (select 1 from running_turns where running_turns.host_id = hosts.id)
    and not exists (select 1 from replay where replay.host_id = hosts.id and replay.finished_at is null
      and replay.kind not in ('act', 'outcome'))`;
}
