import { sql, type Transaction } from "kysely";
import { columnText } from "../shared/index.ts";
import { advisoryLocks, stepOf, type Database, type Schema } from "../storage/index.ts";
import { createAbsentHostRemoval } from "./absent-hosts.ts";
import { reachedLimit, type Admission, type TurnLimits, type TurnOwner, type TurnSlots } from "./turn-slots.ts";

const repairMs = 1000;
const pollMs = 1000;

type Row = Schema["running_turns"];

interface Waiting {
  row: Row;
  resolve(admission: Admission): void;
  reject(error: unknown): void;
}

/** The slots for turns of all hosts on one PostgreSQL: one row for each running turn. */
export async function sharedTurnSlots(
  database: Database,
  limits: TurnLimits,
  onError: (error: unknown) => void,
): Promise<TurnSlots> {
  const { db, hostId } = database;
  const removeAbsent = createAbsentHostRemoval(database);
  let polling: NodeJS.Timeout | undefined;
  const poll = async (): Promise<void> => {
    // A poll that fails is repeated after the next admission.
    const areLeft = await removeAbsent().catch(() => false);
    polling = undefined;
    if (areLeft) pollSoon();
  };
  const pollSoon = (): void => {
    polling ??= setTimeout(() => void poll(), pollMs).unref();
  };

  const running = new Map<string, Row>();
  /** Rows of this host that may exist without a turn. Each would take a slot for as long as the host lives. */
  const lost = new Set<string>();
  /** Makes the rows of this host match its turns. The lock prevents a lost admission from being written afterwards. */
  const repair = async (): Promise<void> => {
    const gone = [...lost];
    const rows = [...running.values()];
    await db.transaction().execute(async (transaction) => {
      await lock(transaction);
      if (gone.length > 0) await transaction.deleteFrom("running_turns").where("id", "in", gone).execute();
      if (rows.length === 0) return;
      const missing = transaction.insertInto("running_turns").values(rows);
      await missing.onConflict((conflict) => conflict.column("id").doNothing()).execute();
    });
    for (const id of gone) lost.delete(id);
    // A turn that ended meanwhile may have removed its row before it was put back.
    const ended = rows.filter(({ id }) => !running.has(id));
    for (const { id } of ended) lost.add(id);
    if (ended.length > 0) repairSoon();
  };
  let repairing: NodeJS.Timeout | undefined;
  const repairSoon = (): void => {
    repairing ??= setTimeout(() => {
      repairing = undefined;
      void repair().catch(repairSoon);
    }, repairMs).unref();
  };
  // Another host that considered this one dead has removed the rows of its turns.
  database.onReturn(() => void repair().catch(repairSoon));
  if (await removeAbsent()) pollSoon();

  const release = async (id: string): Promise<void> => {
    running.delete(id);
    try {
      await db.deleteFrom("running_turns").where("id", "=", id).execute();
    } catch (error) {
      onError(error);
      lost.add(id);
      repairSoon();
    }
  };
  const admitBatch = async (batch: readonly Waiting[]): Promise<void> => {
    try {
      const counts = await admit(database, limits, batch);
      for (const [place, { row, resolve }] of batch.entries()) {
        const found = counts[place];
        if (found === undefined) throw new Error("The running turns were not counted.");
        const by = reachedLimit(found, limits);
        if (by === undefined) running.set(row.id, row);
        resolve(by === undefined ? { kind: "admitted", release: () => release(row.id) } : { kind: "refused", by });
      }
      if (counts.some(({ others }) => others > 0)) pollSoon();
    } catch (error) {
      for (const { row, reject } of batch) {
        // Perhaps only the answer was lost, and the row exists.
        lost.add(row.id);
        reject(error);
      }
      repairSoon();
    }
  };

  /** Turns that arrive meanwhile are admitted by the next transaction, so a host waits for the lock on one connection only. */
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
        waiting.push({ row: rowOf(hostId, owner), resolve, reject });
        void admitWaiting();
      }),
  };
}

function rowOf(hostId: number, { namespaceId, credentialId }: TurnOwner): Row {
  return {
    id: crypto.randomUUID(),
    host_id: hostId,
    namespace_id: columnText(namespaceId),
    credential_id: columnText(credentialId),
  };
}

/** A host that stalls holds the lock for seconds only. Hosts that wait for the lock give up before that. */
async function lock(transaction: Transaction<Schema>): Promise<void> {
  await sql`select set_config('lock_timeout', '2s', true),
    set_config('idle_in_transaction_session_timeout', '5s', true)`.execute(transaction);
  await sql`select pg_advisory_xact_lock(${advisoryLocks.admission}, 0)`.execute(transaction);
}

/** What ran before a turn, of which so many on other hosts. */
type Counts = TurnLimits & { others: number };

/** Takes slots for the turns of a batch in their order, while there are any, in one round trip. The lock is held while it runs. */
async function admit(
  { db, transact }: Database,
  { all, tenant, credential }: TurnLimits,
  batch: readonly Waiting[],
): Promise<readonly Counts[]> {
  const isLocked = [
    sql`select set_config('lock_timeout', '2s', true)`,
    sql`select pg_advisory_xact_lock(${advisoryLocks.admission}, 0)`,
  ];
  const areAdmitted = batch.flatMap(({ row: { id, host_id, namespace_id, credential_id } }) => {
    const ofTenant = sql`namespace_id = ${namespace_id}`;
    const ofCredential = sql`${ofTenant} and credential_id = ${credential_id}`;
    return [
      sql`select count(*) as "all", count(*) filter (where ${ofTenant}) as tenant,
        count(*) filter (where ${ofCredential}) as credential,
        count(*) filter (where host_id <> ${host_id}) as others from running_turns`,
      // INVARIANT: a turn has a row only if there was a slot for it, by the limits of `reachedLimit`.
      sql`insert into running_turns (id, host_id, namespace_id, credential_id)
        select cast(${id} as text), cast(${host_id} as integer), cast(${namespace_id} as text), cast(${credential_id} as text)
        where (select count(*) from running_turns) < ${all}
          and (select count(*) from running_turns where ${ofTenant}) < ${tenant}
          and (select count(*) from running_turns where ${ofCredential}) < ${credential}`,
    ];
  });
  const steps = [...isLocked, ...areAdmitted].map((query) => stepOf(query.compile(db)));
  const results = await transact((run) => run(steps, "commit"));
  const counted = results.slice(isLocked.length).filter((_, place) => place % 2 === 0);
  return counted.flatMap(({ rows }) => rows) as unknown as Counts[];
}
