import { TurnPause } from "turnpike/runtime";
import { decideBatch, guessBatch, wantedBy } from "./decide-batch.ts";
import { inSpan } from "../observe/index.ts";
import { isOutage, UnansweredCommitError, type Database } from "../storage/index.ts";
import { createHeadLog, type HeadLog } from "./heads.ts";
import { postgresTables } from "./postgres-tables.ts";
import { sqliteTables } from "./sqlite-tables.ts";
import type { TenantHead } from "./chain.ts";
import type { NoticesOf, Outcome, Submission, Wanted, Writes } from "./submission.ts";

/** Where calls put what they must have durably. Submissions of all calls in flight share a transaction. */
export interface Ledger {
  /** Resolves when all of it is durable. Rejects when it is not, or when nobody knows: nothing may be built on it then. */
  submit(submission: Submission): Promise<Outcome>;
  /** The heads of audit chains that were committed. */
  readonly heads: HeadLog;
  /** How many submissions wait to be written. */
  readonly waiting: number;
  /** Resolves when everything submitted so far is kept or refused. */
  flush(): Promise<void>;
}

interface Waiting {
  submission: Submission;
  resolve(outcome: Outcome): void;
  reject(error: unknown): void;
}

/** What became of a batch that is durable. */
interface Committed {
  outcomes: readonly Outcome[];
  writes: Pick<Writes, "heads">;
  /** The heads that its rows went on from. */
  before: ReadonlyMap<string, TenantHead>;
}

/** A span for each call, and not for each batch: it is the part of the call's time that it waited for the disk. */
const commitSpan = (): { name: string } => ({ name: "commit" });

const maxBatch = 500;
/** How many tenants' heads are remembered. */
const maxHeads = 10_000;

const tablesOf = { sqlite: sqliteTables, postgres: postgresTables };

/** For what a run submitted behind something that was not kept: nothing of it was written. */
function notTried(cause: unknown): TurnPause {
  return new TurnPause("Something of the turn that comes before it was not kept.", { cause });
}

/** The ledger of a host on its database. While a batch commits, the next one gathers. */
export function openLedger(database: Database, noticesOf: NoticesOf = () => []): Ledger {
  const tables = tablesOf[database.kind](database);
  const heads = createHeadLog();
  const waiting: Waiting[] = [];
  let writing: Promise<void> | undefined;

  /** The heads that this host wrote last, on one strand. */
  let newest = { strand: -1, heads: new Map<string, TenantHead>() };

  /** In one go, if nothing has to be looked up: most batches claim keys that are free, and go on from heads of this host. */
  const commitUnseen = async (submissions: readonly Submission[], wanted: Wanted): Promise<Committed | undefined> => {
    const guess = guessBatch(submissions, wanted, newest.heads);
    if (guess === undefined) return undefined;
    guess.writes.notices = noticesOf(guess.writes.rows);
    return (await tables.commitGuess(guess)) ? guess : undefined;
  };
  const commitSeen = (submissions: readonly Submission[], wanted: Wanted): Promise<Committed> =>
    tables.transact(async (transaction) => {
      const found = await transaction.begin(wanted);
      const decided = decideBatch(submissions, found, wanted.strand);
      decided.writes.notices = noticesOf(decided.writes.rows);
      await transaction.commit(decided.writes);
      return { ...decided, before: found.heads };
    });
  const commit = async (batch: readonly Waiting[]): Promise<void> => {
    const submissions = batch.map(({ submission }) => submission);
    // Read once: after an outage the host may come to another strand at any time.
    const { strand } = database;
    if (newest.strand !== strand || newest.heads.size > maxHeads) newest = { strand, heads: new Map() };
    const wanted = wantedBy(submissions, strand);
    const committed = (await commitUnseen(submissions, wanted)) ?? (await commitSeen(submissions, wanted));
    const { outcomes, writes, before } = committed;
    heads.add(writes.heads.map((head) => ({ before: before.get(head.namespaceId), head })));
    for (const head of writes.heads) newest.heads.set(head.namespaceId, head);
    batch.forEach(({ resolve }, place) => resolve(outcomes[place] as Outcome));
  };
  const refuse = (batch: readonly Waiting[], error: unknown): void => {
    for (const { submission, reject } of batch) {
      const { turn } = submission;
      if (turn !== undefined) turn.line.failed ??= { write: turn, error };
      reject(error);
    }
  };
  /** INVARIANT: a batch that fails because of one submission does not fail the others, but for those of its run behind it. */
  const write = async (all: readonly Waiting[]): Promise<void> => {
    const batch = all.filter((one) => {
      const failed = one.submission.turn?.line.failed;
      if (failed !== undefined) one.reject(notTried(failed.error));
      return failed === undefined;
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
      // From the end of this poll on: whatever arrived with it shares the commit. A microtask would come before the rest.
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
    get waiting() {
      return waiting.length;
    },
    async flush() {
      await writing;
    },
  };
}
