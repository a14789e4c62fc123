import { sql, type Transaction } from "kysely";
import { columnText } from "../base/index.ts";
import { type Database, livingHosts, type Schema } from "../storage/index.ts";
import { reachedLimit, type Admission, type TurnLimits, type TurnOwner, type TurnSlots } from "./turn-slots.ts";

/** The advisory lock under which turns are admitted, one host after the other. */
const admissionLock = 7444;
const cleanMs = 1000;

interface Waiting {
  id: string;
  owner: TurnOwner;
  resolve(admission: Admission): void;
  reject(error: unknown): void;
}

/** The places for turns of all hosts on one PostgreSQL: a row for each turn that runs. */
export async function sharedTurnSlots(
  { db, hostId }: Database,
  limits: TurnLimits,
  onError: (error: unknown) => void,
): Promise<TurnSlots> {
  await db.deleteFrom("running_turns").where("host_id", "not in", livingHosts).execute();

  /** The rows of this host that stand for a turn, or may soon. */
  const own = new Set<string>();
  let cleaning: NodeJS.Timeout | undefined;
  /** A row without a turn would take a place for as long as this host lives: it is removed in the end. */
  const cleanSoon = (): void => {
    clearTimeout(cleaning);
    cleaning = setTimeout(() => {
      const rows = db.deleteFrom("running_turns").where("host_id", "=", hostId);
      const lost = own.size > 0 ? rows.where("id", "not in", [...own]) : rows;
      void lost.execute().catch(cleanSoon);
    }, cleanMs).unref();
  };
  const release = async (id: string): Promise<void> => {
    own.delete(id);
    try {
      await db.deleteFrom("running_turns").where("id", "=", id).execute();
    } catch (error) {
      onError(error);
      cleanSoon();
    }
  };
  const admitBatch = async (batch: readonly Waiting[]): Promise<void> => {
    for (const { id } of batch) own.add(id);
    try {
      const refused = await db.transaction().execute((transaction) => admit(transaction, hostId, limits, batch));
      for (const { id, resolve } of batch) {
        const by = refused.get(id);
        if (by !== undefined) own.delete(id);
        resolve(by === undefined ? { kind: "admitted", release: () => release(id) } : { kind: "refused", by });
      }
    } catch (error) {
      for (const { id, reject } of batch) {
        own.delete(id);
        reject(error);
      }
      // The answer may be all that was lost.
      cleanSoon();
    }
  };

  /** Who comes meanwhile is admitted by the next transaction: a host waits for the lock on one connection only. */
  let waiting: Waiting[] = [];
  let isAdmitting = false;
  const admitWaiting = async (): Promise<void> => {
    if (isAdmitting) return;
    isAdmitting = true;
    while (waiting.length > 0) {
      const batch = waiting;
      waiting = [];
      await admitBatch(batch);
    }
    isAdmitting = false;
  };
  return {
    admit: (owner) =>
      new Promise((resolve, reject) => {
        waiting.push({ id: crypto.randomUUID(), owner: columnsOf(owner), resolve, reject });
        void admitWaiting();
      }),
  };
}

function columnsOf({ namespaceId, credentialId }: TurnOwner): TurnOwner {
  return { namespaceId: columnText(namespaceId), credentialId: columnText(credentialId) };
}

/** A host that stops in the middle keeps the lock for seconds only; who waits for it is refused before that. */
async function lock(transaction: Transaction<Schema>): Promise<void> {
  await sql`select set_config('lock_timeout', '2s', true),
    set_config('idle_in_transaction_session_timeout', '5s', true)`.execute(transaction);
  await sql`select pg_advisory_xact_lock(${admissionLock}, 0)`.execute(transaction);
}

/** Takes places for those that find room, in their order, and says of the others which limit they met. */
async function admit(
  transaction: Transaction<Schema>,
  hostId: number,
  limits: TurnLimits,
  batch: readonly Waiting[],
): Promise<Map<string, keyof TurnLimits>> {
  await lock(transaction);
  const rows = await transaction
    .selectFrom("running_turns")
    .select(["namespace_id as namespaceId", "credential_id as credentialId"])
    .where(({ or, eb }) => or([eb("host_id", "=", hostId), eb("host_id", "in", livingHosts)]))
    .execute();
  const running: TurnOwner[] = rows;
  const refused = new Map<string, keyof TurnLimits>();
  const admitted: Schema["running_turns"][] = [];
  for (const { id, owner } of batch) {
    const by = reachedLimit(running, owner, limits);
    if (by !== undefined) refused.set(id, by);
    else {
      running.push(owner);
      admitted.push({ id, host_id: hostId, namespace_id: owner.namespaceId, credential_id: owner.credentialId });
    }
  }
  if (admitted.length > 0) await transaction.insertInto("running_turns").values(admitted).execute();
  return refused;
}
