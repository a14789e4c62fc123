import { OutdatedReadsError } from "turnpike/kernel";
import { TurnPause } from "turnpike/runtime";
import { decideBatch, decideOptimistically, wantedBy } from "./decide-batch.ts";
import { inSpan } from "../telemetry/index.ts";
import {
  createRevisions,
  currentBasis,
  DatabaseWentBackError,
  isOutage,
  UnansweredCommitError,
  type Database,
  type Revisions,
} from "../storage/index.ts";
import { createHeadLog, type HeadLog } from "./heads.ts";
import { createKnownUses } from "./known-uses.ts";
import { postgresTables } from "./postgres-tables.ts";
import { sqliteTables } from "./sqlite-tables.ts";
import type { TenantHead } from "./chain.ts";
import type { NoticesOf, Outcome, Submission, Wanted, Writes } from "./submission.ts";

/** Writes what calls need to be durable. Submissions of all calls in flight share a transaction. */
export interface Ledger {
  /** Resolves when all of it is durable. Rejects when it is not, or when that is unknown: then the call must not continue. */
  submit(submission: Submission): Promise<Outcome>;
  /** Confirms what the running call rests on, without writing. Throws an `OutdatedReadsError` when that is outdated. */
  confirm(): Promise<void>;
  /** The heads of audit chains that were committed. */
  readonly heads: HeadLog;
  /** How many submissions wait to be written. */
  readonly waiting: number;
  /** Resolves when everything submitted so far is written or refused. */
  flush(): Promise<void>;
}

interface Waiting {
  submission: Submission;
  resolve(outcome: Outcome): void;
  reject(error: unknown): void;
}

/** The outcome of a batch that is durable. */
interface Committed {
  outcomes: readonly Outcome[];
  writes: Pick<Writes, "heads" | "uses">;
  /** The nonces of claims that another host has ended. */
  fenced: ReadonlySet<string>;
  /** The heads before its rows. */
  before: ReadonlyMap<string, TenantHead>;
}

/** Each call has a span of its own for the time that it waited for the disk. */
const commitSpan = (): { name: string } => ({ name: "commit" });

const maxBatch = 500;
/** How many tenants' heads are remembered. */
const maxHeads = 10_000;

const tablesOf = { sqlite: sqliteTables, postgres: postgresTables };

/** The revisions that a batch was decided on, as far as that is not confirmed. */
function assumedBy(submissions: readonly Submission[]): ReadonlySet<number> {
  const assumed = new Set<number>();
  for (const { basis } of submissions) if (basis?.isOpen === true) assumed.add(basis.revision);
  return assumed;
}

/** Refuses what a run submits after a failed write of its own. Nothing of it is written. */
function notTried(cause: unknown): TurnPause {
  return new TurnPause("An earlier write of the turn failed, so this one was not made.", { cause });
}

/** The ledger of a host on its database. While a batch commits, the next one gathers. */
export function openLedger(
  database: Database,
  noticesOf: NoticesOf = () => [],
  revisions: Pick<Revisions, "ask"> = createRevisions(database),
): Ledger {
  const { history, hostId } = database;
  /** Whether the batch that is written takes an id. Batches are written one after the other. */
  let isClaiming = false;
  /**
   * INVARIANT: no id is taken on a database that lost rows. This is checked within the transaction: a new connection looks for lost rows
   * first, so only then is the answer known.
   */
  const requireWhole = (): void => {
    if (isClaiming && history.isBehind) throw new DatabaseWentBackError();
  };
  const transact: Database["transact"] = (work) =>
    database.transact((run) => {
      requireWhole();
      return work(run);
    });
  const tables = tablesOf[database.kind]({ transact, hostId });
  const heads = createHeadLog();
  const waiting: Waiting[] = [];
  let writing: Promise<void> | undefined;

  /** The heads that this host wrote last, on one strand. */
  let newest = { strand: -1, heads: new Map<string, TenantHead>() };
  const knownUses = createKnownUses();

  /**
   * Commits a batch without reading first: most batches claim free keys, continue chains of this host, take uses that no other host
   * takes meanwhile, and rest on a revision that is still the newest.
   */
  const commitWithoutReading = async (
    submissions: readonly Submission[],
    wanted: Wanted,
  ): Promise<Committed | undefined> => {
    const [revision] = assumedBy(submissions);
    const optimistic = decideOptimistically(submissions, wanted, { heads: newest.heads, uses: knownUses }, revision);
    if (optimistic === undefined) return undefined;
    optimistic.writes.notices = noticesOf(optimistic.writes.rows);
    const fenced = await tables.commitOptimistic(optimistic);
    if (fenced === undefined) return undefined;
    if (revision !== undefined) for (const { basis } of submissions) basis?.settle(revision);
    return { ...optimistic, fenced };
  };
  const commitSeen = (submissions: readonly Submission[], wanted: Wanted): Promise<Committed> =>
    tables.transact(async (transaction) => {
      const found = await transaction.begin(wanted);
      for (const namespaceId of wanted.tenants)
        history.found({ namespaceId, strand: wanted.strand }, found.heads.get(namespaceId)?.sequence ?? 0);
      requireWhole();
      knownUses.read(wanted.uses, found.used);
      const decided = decideBatch(submissions, found, wanted.strand);
      decided.writes.notices = noticesOf(decided.writes.rows);
      const fenced = await transaction.commit(decided.writes);
      return { ...decided, fenced, before: found.heads };
    });
  /** Settles what submissions were decided on, and answers those for which it is outdated. Returns the others. */
  const refuseOutdated = async (batch: readonly Waiting[]): Promise<readonly Waiting[]> => {
    if (!batch.some(({ submission: { basis } }) => basis?.isOpen)) return batch;
    const revision = await revisions.ask();
    return batch.filter(({ submission: { basis }, resolve }) => {
      basis?.settle(revision);
      if (basis?.isOutdated === true) resolve({ kind: "outdated" });
      return basis?.isOutdated !== true;
    });
  };
  const commit = async (all: readonly Waiting[]): Promise<void> => {
    const batch = assumedBy(all.map(({ submission }) => submission)).size > 1 ? await refuseOutdated(all) : all;
    if (batch.length === 0) return;
    const submissions = batch.map(({ submission }) => submission);
    // Read once, because after an outage the host may get another strand at any time.
    const { strand } = database;
    if (newest.strand !== strand || newest.heads.size > maxHeads) newest = { strand, heads: new Map() };
    const wanted = wantedBy(submissions, strand);
    const { era } = history;
    isClaiming = wanted.claims.length + wanted.begins.length > 0;
    const committed = await commitWithoutReading(submissions, wanted);
    if (committed !== undefined) return finish(batch, committed, era);
    const left = await refuseOutdated(batch);
    return left.length < batch.length ? commit(left) : finish(batch, await commitSeen(submissions, wanted), era);
  };
  const finish = async (
    batch: readonly Waiting[],
    { outcomes, writes, before, fenced }: Committed,
    era: number,
  ): Promise<void> => {
    heads.add(writes.heads.map((head) => ({ before: before.get(head.namespaceId), head })));
    for (const head of writes.heads) newest.heads.set(head.namespaceId, head);
    knownUses.wrote(writes.uses);
    // The batch was committed. If the host came to another server meanwhile, it is acknowledged only once its rows were found there.
    await history.remember(writes.heads, era)?.catch((cause: unknown) => {
      throw new UnansweredCommitError(cause);
    });
    batch.forEach(({ submission: { ending }, resolve }, place) => {
      const outcome = outcomes[place] as Outcome;
      const isFenced = outcome.kind === "written" && ending !== undefined && fenced.has(ending.nonce);
      resolve(isFenced ? { ...outcome, isFenced: true } : outcome);
    });
  };
  const refuse = (batch: readonly Waiting[], error: unknown): void => {
    for (const { submission, reject } of batch) {
      const { turn, basis } = submission;
      // The call fails now, so it is not tried again, even if what it rests on is outdated.
      basis?.confirm();
      if (turn !== undefined) turn.line.failed ??= { write: turn, error };
      reject(error);
    }
  };
  /** INVARIANT: one failing submission does not fail the rest of its batch, except for later ones of the same run. */
  const write = async (all: readonly Waiting[]): Promise<void> => {
    const batch = all.filter((one) => {
      const { turn, basis } = one.submission;
      const failed = turn?.line.failed;
      if (failed !== undefined) one.reject(notTried(failed.error));
      else if (basis?.isOutdated === true) one.resolve({ kind: "outdated" });
      return failed === undefined && basis?.isOutdated !== true;
    });
    if (batch.length === 0) return;
    try {
      await commit(batch);
    } catch (error) {
      if (batch.length === 1 || isOutage(error) || error instanceof UnansweredCommitError) return refuse(batch, error);
      const middle = Math.ceil(batch.length / 2);
      await write(batch.slice(0, middle));
      await write(batch.slice(middle));
    }
  };
  const writeAll = async (): Promise<void> => {
    while (waiting.length > 0) {
      // Waits for the end of this poll phase, so that everything that arrived in it shares the commit. A microtask would be too early.
      await new Promise(setImmediate);
      const batch = waiting.splice(0, maxBatch);
      await write(batch);
    }
    writing = undefined;
  };

  return {
    heads,
    submit: (submission) =>
      inSpan(commitSpan, () => {
        return new Promise((resolve, reject) => {
          waiting.push({ submission, resolve, reject });
          writing ??= writeAll();
        });
      }),
    async confirm() {
      const basis = currentBasis();
      if (basis?.isOpen === true) basis.settle(await revisions.ask());
      if (basis?.isOutdated === true) throw new OutdatedReadsError();
    },
    get waiting() {
      return waiting.length;
    },
    async flush() {
      await writing;
    },
  };
}
