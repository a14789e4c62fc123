import { sql } from "kysely";
import { columnText } from "../../shared/index.ts";
import { type Database, livingHosts } from "../../storage/index.ts";

/** A host that runs, and how many turns run there. */
interface LivingHost {
  id: number;
  startedAt: string;
  turns: number;
}

/** Counts turns for operators. */
export interface TurnCounts {
  /** How many turns of a tenant run, and how many wait for an answer. */
  countOf(namespaceId: string): Promise<{ running: number; waiting: number }>;
  /** The hosts that run now, in the order in which they started. */
  listHosts(): Promise<LivingHost[]>;
}

export function createTurnCounts({
  kind,
  reporting,
  hostId,
}: Pick<Database, "kind" | "reporting" | "hostId">): TurnCounts {
  return {
    async countOf(namespaceId) {
      const rows = await reporting
        .selectFrom("turns")
        .select(({ fn }) => ["status", fn.countAll().as("count")])
        .where("namespace_id", "=", columnText(namespaceId))
        .where("status", "in", ["running", "waiting"])
        .groupBy("status")
        .execute();
      const count = (status: string): number => Number(rows.find((row) => row.status === status)?.count ?? 0);
      return { running: count("running"), waiting: count("waiting") };
    },
    listHosts() {
      // An SQLite file has one host. This host always counts, also while its lock is lost to an outage.
      const living = kind === "postgres" ? sql<boolean>`id in ${livingHosts}` : sql<boolean>`false`;
      return reporting
        .selectFrom("hosts")
        .select(({ selectFrom, fn }) => [
          "id",
          "started_at as startedAt",
          selectFrom("turns")
            .select(fn.countAll<number>().as("count"))
            .where(sql<boolean>`status = 'running'`)
            .whereRef("host_id", "=", "hosts.id")
            .as("turns"),
        ])
        .where((row) => row.or([row("id", "=", hostId), living]))
        .orderBy("id")
        .execute() as Promise<LivingHost[]>;
    },
  };
}
