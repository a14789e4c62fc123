import type { Database } from "../storage/index.ts";

/** When credentials were last used. */
export interface CredentialUses {
  /** Notes a use in memory: no call waits for it. */
  note(id: string, now: Date): void;
  /** Stores the uses noted since the last write, to the minute. A use that could not be stored stays noted for the next write. */
  write(): Promise<void>;
}

const minuteMs = 60_000;
/** How many ids one statement names. */
const atOnce = 500;

export function createCredentialUses({ db }: Pick<Database, "db">): CredentialUses {
  /** The minute of the last use of each. */
  let noted = new Map<string, number>();
  return {
    note(id, now) {
      const minute = Math.floor(now.getTime() / minuteMs);
      if ((noted.get(id) ?? -1) < minute) noted.set(id, minute);
    },
    async write() {
      const written = noted;
      noted = new Map();
      try {
        for (const minute of new Set(written.values())) {
          const ids = [...written].flatMap(([id, at]) => (at === minute ? id : []));
          await writeMinute({ db }, ids, new Date(minute * minuteMs).toISOString());
        }
      } catch (error) {
        for (const [id, minute] of written) if ((noted.get(id) ?? -1) < minute) noted.set(id, minute);
        throw error;
      }
    },
  };
}

/** Another host may have written a later use. */
async function writeMinute({ db }: Pick<Database, "db">, ids: readonly string[], at: string): Promise<void> {
  for (let start = 0; start < ids.length; start += atOnce)
    await db
      .updateTable("credentials")
      .set({ last_used_at: at })
      .where("id", "in", ids.slice(start, start + atOnce))
      .where((row) => row.or([row("last_used_at", "is", null), row("last_used_at", "<", at)]))
      .execute();
}
