import { sql, type Transaction } from "kysely";
import { columnText } from "../shared/index.ts";
import { advisoryLocks, type Database, type Schema } from "../storage/index.ts";
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

const lockSql = "select pg_advisory_xact_lock($1::integer, 0)";
const waitSql = "select set_config('lock_timeout', $1, true)";
const longestWait = "2s";

/** A host that stalls holds the lock for seconds only. Hosts that wait for the lock give up before that. */
async function lock(transaction: Transaction<Schema>): Promise<void> {
  await sql`select set_config('lock_timeout', ${longestWait}, true),
    set_config('idle_in_transaction_session_timeout', '5s', true)`.execute(transaction);
  await sql`select pg_advisory_xact_lock(${advisoryLocks.admission}, 0)`.execute(transaction);
}

/** Counts the turns that run, and adds one if there is a slot for it. */
const admitSql = `with counts as materialized (select count(*) as "all", count(*) filter (where namespace_id = $3) as tenant,
    count(*) filter (where namespace_id = $3 and credential_id = $4) as credential,
    count(*) filter (where host_id <> $2) as others from running_turns),
  admitted as (insert into running_turns (id, host_id, namespace_id, credential_id)
    select $1::text, $2::integer, $3::text, $4::text from counts
    where "all" < $5::bigint and tenant < $6::bigint and credential < $7::bigint)
  select * from counts`;

/** What ran before a turn, of which so many on other hosts. */
type Counts = TurnLimits & { others: number };

/** Takes slots for the turns of a batch in their order, while there are any, in one round trip. The lock is held while it runs. */
async function admit(
  { transact }: Database,
  { all, tenant, credential }: TurnLimits,
  batch: readonly Waiting[],
): Promise<readonly Counts[]> {
  const steps = [
    { sql: waitSql, rows: [[longestWait]] },
    { sql: lockSql, rows: [[advisoryLocks.admission]] },
    {
      sql: admitSql,
      rows: batch.map(({ row }) => {
        const { id, host_id, namespace_id, credential_id } = row;
        return [id, host_id, namespace_id, credential_id, all, tenant, credential];
      }),
    },
  ];
  const results = await transact((run) => run(steps, "commit"));
  return (results.at(-1)?.rows ?? []) as unknown as Counts[];
}
