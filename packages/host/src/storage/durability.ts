import { sql, type Kysely } from "kysely";
import type { Schema } from "./schema.ts";

interface Settings {
  fsync: string;
  commit: string;
  /** Standbys that confirm nothing before a commit is acknowledged. */
  behind: number;
}

/** What each setting of a PostgreSQL server means for writes that were acknowledged. */
const risks: readonly { isSet(settings: Settings): boolean; says(settings: Settings): string }[] = [
  {
    isSet: ({ fsync }) => fsync === "off",
    says: () =>
      "fsync is off: when the machine of PostgreSQL stops, what was acknowledged can be lost, or all of it damaged. Set fsync to on.",
  },
  {
    isSet: ({ commit }) => commit === "off",
    says: () =>
      "synchronous_commit is off: when PostgreSQL stops, what was acknowledged just before is lost. Set synchronous_commit to on.",
  },
  {
    isSet: ({ behind }) => behind > 0,
    says: ({ behind }) =>
      `${behind === 1 ? "A standby of PostgreSQL confirms" : `${behind} standbys of PostgreSQL confirm`} nothing before a commit is ` +
      "acknowledged: a failover to it loses what it has not received. Name it in synchronous_standby_names.",
  },
];

/** How the settings of a PostgreSQL server let acknowledged rows be lost, as sentences; none where they cannot be read. */
export async function listDurabilityRisks(db: Kysely<Schema>): Promise<string[]> {
  try {
    const { rows } = await settingsSql.execute(db);
    return rows.flatMap((row) => {
      const settings = { ...row, behind: Number(row.behind) };
      return risks.filter(({ isSet }) => isSet(settings)).map(({ says }) => says(settings));
    });
  } catch {
    return [];
  }
}

/** Without a privilege the state of a standby is null. Readers of a logical slot are no standbys. */
const settingsSql = sql<Settings>`select current_setting('fsync') as fsync, current_setting('synchronous_commit') as commit,
  (select count(*) from pg_stat_replication as standby
    where (coalesce(sync_state, case when current_setting('synchronous_standby_names') = '' then 'async' else 'sync' end) = 'async'
        or current_setting('synchronous_commit') in ('off', 'local'))
      and not exists (select 1 from pg_replication_slots as slot
        where slot.active_pid = standby.pid and slot.slot_type = 'logical')) as behind`;
