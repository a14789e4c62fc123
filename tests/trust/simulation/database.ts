import type { Random } from "../../../packages/turnpike/test/random.ts";
import type { Database } from "../../../packages/host/src/storage/database.ts";
import { createHistory, type History } from "../../../packages/host/src/storage/history/history.ts";
import type { HostConnection } from "../../../packages/host/src/storage/host-connection.ts";
import { createHostWatch } from "../../../packages/host/src/storage/living-hosts.ts";
import { registerHost } from "../../../packages/host/src/storage/migrate.ts";
import { patience } from "../../../packages/host/src/storage/postgres-sessions.ts";
import { showPresence } from "../../../packages/host/src/storage/presence.ts";
import { threadDialect, type Threads } from "../../../packages/host/src/storage/sqlite/dialect.ts";
import { gatherReads } from "../../../packages/host/src/storage/sqlite/gather.ts";
import { createMutex } from "../../../packages/host/src/storage/sqlite/mutex.ts";
import type { Thread } from "../../../packages/host/src/storage/sqlite/thread.ts";
import { transact } from "../../../packages/host/src/storage/sqlite/transact.ts";
import { UnansweredCommitError, type Step, type StepResult } from "../../../packages/host/src/storage/steps.ts";
import { kyselyOver } from "../../../packages/host/test/in-process-kysely.ts";
import { connectHost } from "./host-connection.ts";
import { Link } from "./link.ts";
import { noProcess, type Owner, type Scheduler } from "./scheduler.ts";
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
  /** The process of the host is paused for some seconds, where several share a storage. */
  pauses: number;
  /** Nothing comes through between the host and the storage for some seconds, or nothing that shows others that it lives. */
  partitions: number;
}

export const noFaults: Faults = { refuses: 0, losesAnswer: 0, crashes: 0, isSlow: 0, pauses: 0, partitions: 0 };

/** What happened to storage, counted. */
export interface FaultCounts {
  refused: number;
  lost: number;
  crashes: number;
  pauses: number;
  partitions: number;
  /** Hosts that were back when another host had just taken their turns. */
  overtaken: number;
}

export const nothingHappened: FaultCounts = {
  refused: 0,
  lost: 0,
  crashes: 0,
  pauses: 0,
  partitions: 0,
  overtaken: 0,
};

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
    if (this.#owner === owner) this.clear();
  }

  /** No one has a transaction open any more. */
  clear(): void {
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
  { owner, epoch }: { owner: Owner; epoch: number },
  onCrash: () => void,
): Promise<SimulatedDatabase> {
  const { scheduler, storage, random, counts, isShared, lock, owners } = parts;
  const { beats } = storage;
  const ends = { scheduler, random, owner };
  /** The connections for statements, and the one on which the host beats. */
  const [link, beating] = [new Link(ends), new Link(ends)];
  let connection: HostConnection | undefined;
  let isCut = false;
  let hostId = -1;

  const cut = (): void => {
    isCut = true;
    if (lock.holds(owner)) storage.rollback();
    lock.release(owner);
    connection?.destroy();
    scheduler.end(owner);
  };
  const crash = (): void => {
    counts.crashes += 1;
    cut();
    scheduler.enter(noProcess);
    onCrash();
  };
  let isAway = false;
  const comeBack = (): void => {
    isAway = false;
    if (isCut) return;
    scheduler.go(owner);
    link.mend();
    beating.mend();
  };
  /** The host is away for a while. One that is in the midst of a transaction is not, because it would block all others. */
  const goAway = (fault: "pauses" | "partitions", begin: () => void): void => {
    if (isAway || lock.holds(owner) || !happens(fault)) return;
    counts[fault] += 1;
    isAway = true;
    begin();
    scheduler.setTimer(comeBack, 3000 + random.below(10_000), noProcess);
  };
  const mayGoAway = (): void => {
    goAway("pauses", () => scheduler.stop(owner));
    goAway("partitions", () => {
      beating.isCut = true;
      link.isCut = random.chance(0.75);
    });
  };
  owners.onTaken((by) => {
    if (by === hostId || !isAway || isCut || random.chance(0.3)) return;
    // There is no worse instant to be back.
    counts.overtaken += 1;
    comeBack();
  });
  const history = storage.plantInHistory(createHistory({ hostId: () => hostId, connect: (work) => work(db) }));
  /** The server to which the host is connected; undefined when it has lost its connections. */
  let server: number | undefined;
  /** The server on which it has begun a transaction. */
  let begunOn: number | undefined;
  let connecting: Promise<void> | undefined;
  /** Connects to the server that is there now, where what was acknowledged is looked for before anything is sent. */
  const connect = (): Promise<void> | undefined => {
    if (server !== undefined) return connecting;
    server = storage.server;
    const verifying = history.verify(kyselyOver(threadDialect(threadsOf(ask))), { id: String(server) });
    connecting = verifying
      .catch((error: unknown) => {
        server = undefined;
        throw error;
      })
      .finally(() => (connecting = undefined));
    return connecting;
  };
  const happens = (fault: keyof Faults): boolean => parts.faults[fault] > 0 && random.below(1000) < parts.faults[fault];

  const write = (steps: readonly Step[]): StepResult[] => {
    const first = steps[0]?.sql;
    if (first === "rollback") {
      if (lock.holds(owner)) storage.rollback();
      lock.release(owner);
      return [];
    }
    if (first === "begin immediate") {
      // A transaction that could not be ended must not swallow the next one.
      storage.rollback();
      lock.take(owner);
      begunOn = storage.server;
    }
    owners.before(hostId, steps);
    const results = storage.write(steps);
    owners.after(hostId, steps);
    if (steps.at(-1)?.sql === "commit") {
      lock.release(owner);
      begunOn = undefined;
    }
    return results;
  };

  /** Runs steps once it is their turn; settles at most once, and never when the host is gone. */
  const ask = (kind: "writer" | "reader", steps: readonly Step[]): Promise<StepResult[]> =>
    new Promise((resolve, reject) => {
      const sentTo = server;
      const settle = (end: () => void): void => {
        const settleIfThere = (): void => {
          if (!isCut) end();
        };
        if (happens("isSlow")) scheduler.add("late answer", () => link.deliver(settleIfThere), noProcess);
        else link.deliver(settleIfThere);
      };
      const attempt = (): void => {
        if (isCut) return;
        // At the worst instants: between the decision upon something and its end.
        if (isShared && kind === "writer") mayGoAway();
        // What a paused process has begun it could not end.
        const isWhole = kind === "reader" || lock.holds(owner) || steps.at(-1)?.sql === "commit";
        if (link.isCut || (scheduler.isStopped(owner) && !isWhole)) return send();
        if (kind === "writer" && !lock.isFree(owner)) return lock.wait(owner, send);
        const isRollback = steps[0]?.sql === "rollback";
        const isBegin = steps[0]?.sql === "begin immediate";
        const isOfLost = kind === "writer" && !isBegin && begunOn !== undefined && begunOn !== storage.server;
        if (sentTo !== storage.server || isOfLost) {
          if (server === sentTo) server = undefined;
          if (isRollback || steps.at(-1)?.sql === "commit") begunOn = undefined;
          settle(() => (isRollback ? resolve([]) : reject(failure("ECONNRESET"))));
          return;
        }
        if (!isRollback && happens("refuses")) {
          counts.refused += 1;
          settle(() => reject(failure("SQLITE_IOERR")));
          return;
        }
        if (!isRollback && happens("crashes") && random.chance(0.5)) return crash();
        let results: StepResult[];
        try {
          results = kind === "reader" ? storage.read(steps) : write(steps);
        } catch (error) {
          settle(() => reject(error as Error));
          return;
        }
        if (!isRollback && happens("crashes")) return crash();
        if (!isRollback && happens("losesAnswer")) {
          counts.lost += 1;
          // A client that loses the connection in the midst of a transaction has lost that as well.
          if (kind === "writer" && lock.holds(owner)) storage.rollback();
          if (kind === "writer") lock.release(owner);
          settle(() => reject(failure("ECONNRESET")));
          return;
        }
        settle(() => resolve(results));
      };
      const send = (): void => link.send(kind === "writer" ? "write" : "read", attempt);
      if (!isCut) send();
    });

  const threads = threadsOf(async (kind, steps) => {
    await connect();
    return ask(kind, steps);
  });
  const db = kyselyOver(threadDialect(threads));
  const readOne = gatherReads(threads.reader);
  hostId = await registerHost(db);
  beats.register(hostId);
  const presence = await showPresence(async () => {
    connection = await connectHost({ scheduler, beats, link: beating, hostId, lowest: () => storage.lowestEpoch() });
    if (server !== storage.server) server = undefined;
    await connect();
    return connection;
  });
  const watch = createHostWatch(
    (ids) => link.ask("poll hosts", () => beats.signsOf(ids), patience.query_timeout),
    hostId,
  );
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
    get strand() {
      return presence.strand();
    },
    isAlive: isShared ? watch : (id) => Promise.resolve(id === hostId),
    isPresent: () => !isShared || presence.isPresent(),
    isTooOld: () => presence.lowestEpoch() > epoch,
    showDrained: (isDrained) => presence.showDrained(() => storage.plantInDrained(isDrained())),
    onReturn: presence.onReturn,
    // What is signed of a loss is in files, which are not simulated.
    history: Object.create(history, { onLost: { value() {} } }) as History,
    isShared,
    close: () => Promise.resolve(),
  };
  return { database, cut };
}

type Ask = (kind: "writer" | "reader", steps: readonly Step[]) => Promise<StepResult[]>;

function threadsOf(ask: Ask): Threads {
  const threadOf = (kind: "writer" | "reader"): Thread => ({
    connect: () => ({ run: (steps) => ask(kind, steps) }),
    close: () => Promise.resolve(),
  });
  return { writer: threadOf("writer"), reader: threadOf("reader"), writing: createMutex() };
}

function failure(code: string): Error {
  return Object.assign(new Error(`simulated: ${code}`), { code });
}
