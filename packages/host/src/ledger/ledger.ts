import { decideBatch, wantedBy } from "./decide-batch.ts";
import { isOutage, UnansweredCommitError, type Database } from "../storage/index.ts";
import { createHeadLog, type HeadLog } from "./heads.ts";
import { postgresTables } from "./postgres-tables.ts";
import { sqliteTables } from "./sqlite-tables.ts";
import type { Outcome, Submission } from "./submission.ts";

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

const maxBatch = 500;

const tablesOf = { sqlite: sqliteTables, postgres: postgresTables };

/** The ledger of a host on its database. While a batch commits, the next one gathers. */
export function openLedger(database: Database): Ledger {
  const tables = tablesOf[database.kind](database);
  const heads = createHeadLog();
  const waiting: Waiting[] = [];
  let writing: Promise<void> | undefined;

  const commit = async (batch: readonly Waiting[]): Promise<void> => {
    const submissions = batch.map(({ submission }) => submission);
    // Read once: after an outage the host may come to another strand at any time.
    const { strand } = database;
    const { outcomes, continued } = await tables.transact(async (transaction) => {
      const found = await transaction.begin(wantedBy(submissions, strand));
      const decided = decideBatch(submissions, found, strand);
      await transaction.commit(decided.writes);
      return {
        outcomes: decided.outcomes,
        continued: decided.writes.heads.map((head) => ({ before: found.heads.get(head.namespaceId), head })),
      };
    });
    heads.add(continued);
    batch.forEach(({ resolve }, place) => resolve(outcomes[place] as Outcome));
  };
  const refuse = (batch: readonly Waiting[], error: unknown): void => {
    for (const { reject } of batch) reject(error);
  };
  /** INVARIANT: a batch that fails because of one submission does not fail the others. */
  const write = async (batch: readonly Waiting[]): Promise<void> => {
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
    submit(submission) {
      return new Promise((resolve, reject) => {
        waiting.push({ submission, resolve, reject });
        writing ??= writeAll();
      });
    },
    get waiting() {
      return waiting.length;
    },
    async flush() {
      await writing;
    },
  };
}
