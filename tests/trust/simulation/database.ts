import type { Random } from "../../../packages/turnpike/test/random.ts";
import type { Database } from "../../../packages/host/src/storage/database.ts";
import { createHistory } from "../../../packages/host/src/storage/history/history.ts";
import { registerHost } from "../../../packages/host/src/storage/migrate.ts";
import { threadDialect, type Threads } from "../../../packages/host/src/storage/sqlite/dialect.ts";
import { gatherReads } from "../../../packages/host/src/storage/sqlite/gather.ts";
import { createMutex } from "../../../packages/host/src/storage/sqlite/mutex.ts";
import type { Thread } from "../../../packages/host/src/storage/sqlite/thread.ts";
import { transact } from "../../../packages/host/src/storage/sqlite/transact.ts";
import { UnansweredCommitError, type Step, type StepResult } from "../../../packages/host/src/storage/steps.ts";
import { kyselyOver } from "../../../packages/host/test/in-process-kysely.ts";
import type { Scheduler } from "./scheduler.ts";
import type { Storage } from "./storage.ts";
import type { TurnOwners } from "./turn-owners.ts";

/** How often storage does a fault, of a thousand times that it is asked something. */
export interface Faults {
  /** It refuses, and nothing has happened. */
  refuses: number;
  /** It has happened, and no one is told. */
  losesAnswer: number;
  /** The host that asked is gone, before or after it has happened. */
  crashes: number;
  /** The answer comes later than others. */
  isSlow: number;
  /** Others cannot see for some seconds that the host lives, where several share a storage; it may be cut off itself. */
  vanishes: number;
}

export const noFaults: Faults = { refuses: 0, losesAnswer: 0, crashes: 0, isSlow: 0, vanishes: 0 };

/** What happened to storage, counted. */
export interface FaultCounts {
  refused: number;
  lost: number;
  crashes: number;
  vanished: number;
  /** Hosts that were back when another host had just taken their turns. */
  overtaken: number;
}

export const nothingHappened: FaultCounts = { refused: 0, lost: 0, crashes: 0, vanished: 0, overtaken: 0 };

/** What the hosts of a world have in common. */
export interface SharedParts {
  scheduler: Scheduler;
  storage: Storage;
  random: Random;
  faults: Faults;
  counts: FaultCounts;
  isShared: boolean;
  owners: TurnOwners;
}

/** A host's hold on the storage, and the way to take it away. */
export interface SimulatedDatabase {
  database: Database;
  /** Nothing that the host asks from here on is answered, and its transaction is undone. */
  cut(): void;
}

/** The transactions of all hosts come one after the other: who has one open, and who waits. */
export class WriteLock {
  #owner: object | undefined;
  readonly #waiting: { owner: object; resume(): void }[] = [];

  isFree(owner: object): boolean {
    return this.#owner === undefined || this.#owner === owner;
  }

  take(owner: object): void {
    this.#owner = owner;
  }

  wait(owner: object, resume: () => void): void {
    this.#waiting.push({ owner, resume });
  }

  release(owner: object): void {
    if (this.#owner !== owner) return;
    this.#owner = undefined;
    for (const { resume } of this.#waiting.splice(0)) resume();
  }

  holds(owner: object): boolean {
    return this.#owner === owner;
  }
}

/** Opens the storage for one more host. `onCrash` is told when the host is to be gone. */
export async function openSimulated(
  parts: SharedParts & { lock: WriteLock },
  onCrash: () => void,
): Promise<SimulatedDatabase> {
  const { scheduler, storage, random, counts, isShared, lock, owners } = parts;
  const self = {};
  let isCut = false;
  let [hostId, strand] = [-1, -1];

  const cut = (): void => {
    isCut = true;
    if (lock.holds(self)) storage.rollback();
    lock.release(self);
    storage.living.delete(hostId);
    storage.strands.delete(strand);
  };
  const crash = (): void => {
    counts.crashes += 1;
    cut();
    onCrash();
  };
  const returns: (() => void)[] = [];
  /** Whether nothing reaches the host, or comes from it, and what waits for that to end. */
  let isCutOff = false;
  const held: (() => void)[] = [];
  const comeBack = (): void => {
    isCutOff = false;
    for (const resume of held.splice(0)) scheduler.add("late answer", resume);
    if (isCut || storage.living.has(hostId)) return;
    storage.living.add(hostId);
    for (const listener of returns) listener();
  };
  const vanish = (): void => {
    if (!storage.living.delete(hostId)) return;
    counts.vanished += 1;
    isCutOff = random.chance(0.75);
    scheduler.setTimer(comeBack, 2000 + random.below(8000));
  };
  /** One that is cut off blocks no other from writing. */
  const isHeld = (): boolean => isCutOff && !lock.holds(self);
  owners.onTaken((by) => {
    if (by === hostId || !isCutOff || isCut || random.chance(0.3)) return;
    // There is no worse instant to be back.
    counts.overtaken += 1;
    comeBack();
  });
  const happens = (fault: keyof Faults): boolean => parts.faults[fault] > 0 && random.below(1000) < parts.faults[fault];

  const write = (steps: readonly Step[]): StepResult[] => {
    const first = steps[0]?.sql;
    if (first === "rollback") {
      if (lock.holds(self)) storage.rollback();
      lock.release(self);
      return [];
    }
    if (first === "begin immediate") {
      // A transaction that could not be ended must not swallow the next one.
      storage.rollback();
      lock.take(self);
    }
    owners.before(hostId, steps);
    const results = storage.write(steps);
    owners.after(hostId, steps);
    if (steps.at(-1)?.sql === "commit") lock.release(self);
    return results;
  };

  /** Runs steps once it is their turn; settles at most once, and never when the host is gone. */
  const ask = (connection: "writer" | "reader", steps: readonly Step[]): Promise<StepResult[]> =>
    new Promise((resolve, reject) => {
      const answer = (settle: () => void): void => {
        const settleIfThere = (): void => {
          if (!isCut) settle();
        };
        if (isHeld()) held.push(settleIfThere);
        else if (happens("isSlow")) scheduler.add("late answer", settleIfThere);
        else settleIfThere();
      };
      const attempt = (): void => {
        if (isCut) return;
        if (isHeld()) return void held.push(attempt);
        if (connection === "writer" && !lock.isFree(self)) {
          lock.wait(self, () => scheduler.add("write", attempt));
          return;
        }
        const isRollback = steps[0]?.sql === "rollback";
        if (isShared && happens("vanishes")) vanish();
        if (!isRollback && happens("refuses")) {
          counts.refused += 1;
          answer(() => reject(failure("SQLITE_IOERR")));
          return;
        }
        if (!isRollback && happens("crashes") && random.chance(0.5)) return crash();
        let results: StepResult[];
        try {
          results = connection === "reader" ? storage.read(steps) : write(steps);
        } catch (error) {
          answer(() => reject(error as Error));
          return;
        }
        if (!isRollback && happens("crashes")) return crash();
        if (!isRollback && happens("losesAnswer")) {
          counts.lost += 1;
          // A client that loses the connection in the midst of a transaction has lost that as well.
          if (connection === "writer" && lock.holds(self)) storage.rollback();
          if (connection === "writer") lock.release(self);
          answer(() => reject(failure("ECONNRESET")));
          return;
        }
        answer(() => resolve(results));
      };
      if (!isCut) scheduler.add(connection === "writer" ? "write" : "read", attempt);
    });

  const threadOf = (connection: "writer" | "reader"): Thread => ({
    connect: () => ({ run: (steps) => ask(connection, steps) }),
    close: () => Promise.resolve(),
  });
  const threads: Threads = { writer: threadOf("writer"), reader: threadOf("reader"), writing: createMutex() };
  const db = kyselyOver(threadDialect(threads));
  const readOne = gatherReads(threads.reader);
  hostId = await registerHost(db);
  storage.living.add(hostId);
  // The first that no one has, as hosts of a PostgreSQL take one.
  strand = 0;
  while (storage.strands.has(strand)) strand += 1;
  storage.strands.add(strand);
  const database: Database = {
    kind: "sqlite",
    db,
    reporting: db,
    read: async <Row>(sql: string, parameters: readonly unknown[]) =>
      (await readOne({ sql: sql.replaceAll("$", "?"), rows: [parameters] })).rows as Row[],
    transact: (work) =>
      transact(threads, async (run) =>
        work((steps, end) =>
          end === undefined
            ? run(steps)
            : run(steps, end).catch((error: unknown) => {
                const isLost = (error as { code?: unknown }).code === "ECONNRESET";
                throw isLost ? new UnansweredCommitError(error) : error;
              }),
        ),
      ),
    copy: undefined,
    hostId,
    strand,
    async isAlive(id) {
      await scheduler.pause("poll hosts");
      return storage.living.has(id);
    },
    isPresent: () => !isShared || storage.living.has(hostId),
    isTooOld: () => false,
    showDrained() {},
    onReturn: (listener) => void returns.push(listener),
    history: createHistory({ hostId: () => hostId, connect: (work) => work(db) }),
    isShared,
    close: () => Promise.resolve(),
  };
  return { database, cut };
}

function failure(code: string): Error {
  return Object.assign(new Error(`simulated: ${code}`), { code });
}
