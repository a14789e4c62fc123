import { randomUUID } from "node:crypto";
import type { Kysely } from "kysely";
import type { Schema } from "../schema.ts";
import { storeGap, type Gap } from "./gaps.ts";
import { findLostChains, nameOfChain, type KnownHead } from "./lost-chains.ts";

/** The database lost rows that were durable. Nothing that has to happen at most once may begin on it. */
export class DatabaseWentBackError extends Error {
  override readonly name = "DatabaseWentBackError";

  constructor(options?: ErrorOptions) {
    super("The database went back: it lost rows that were acknowledged.", options);
  }
}

/** What a host knows to be durable, and what its database has lost of it. */
export interface History {
  /**
   * Remembers heads that the database acknowledged. `era` is the one in which they were sent. When the host came to another server
   * meanwhile, this resolves after they were looked for there, and rejects when they are not there or when that is unknown.
   */
  remember(heads: readonly KnownHead[], era: number): Promise<void> | undefined;
  /** Counts the servers that this host was connected to: a server that starts again is another one. */
  readonly era: number;
  /** Looks for everything that is remembered. Resolves with whether rows were found to be lost. Rejects when that is unknown. */
  compare(): Promise<boolean>;
  /** Says what the newest row of a chain was found to be, in a transaction that continues the chain. */
  found(chain: Pick<KnownHead, "namespaceId" | "strand">, sequence: number): void;
  /** Whether the database has lost rows and no operator has accepted that, as far as this process was told. */
  readonly isBehind: boolean;
  /** How many losses this process has noticed and stored. */
  readonly stored: number;
  /** Says whether the database has a loss that is not accepted. `asOf` is how many were stored when it was asked. */
  told(isBehind: boolean, asOf: number): void;
  /** Calls the listener with each loss, once it is stored. */
  onLost(listener: (gap: Gap) => void): void;
  /** Calls the listener with each server that has everything, or whose losses are stored. */
  onServer(listener: (server: Server) => void): void;
}

/** What is known of the server behind a connection. */
interface Server {
  /** Differs between two servers, and between two starts of one. */
  id: string;
  /** Begins anew with each promotion of a standby; undefined where the server does not tell. */
  timeline?: string | undefined;
}

/** The part of a history that is for connections. */
export interface WatchedHistory extends History {
  /** The server that was verified last. */
  readonly server: string | undefined;
  /** Resolves when the server behind a new connection has everything, or its losses are stored. Until then no caller uses it. */
  verify(db: Kysely<Schema>, server: Server): Promise<void>;
}

type Work<T> = (db: Kysely<Schema>) => Promise<T>;

/** What a history is made of. */
export interface HistoryOptions {
  hostId(): number;
  /** Runs work on a connection. */
  connect<T>(work: Work<T>): Promise<T>;
}

export function createHistory({ hostId, connect }: HistoryOptions): WatchedHistory {
  const known = new Map<string, KnownHead>();
  const listeners: ((gap: Gap) => void)[] = [];
  const serverListeners: ((server: Server) => void)[] = [];
  let server: string | undefined;
  let era = 0;
  /** A loss that is not stored yet. */
  let unstored: Pick<Gap, "id" | "at"> | undefined;
  let stored = 0;
  let isTold = false;
  let comparing = 0;
  let last: Promise<unknown> = Promise.resolve();

  /** One after the other, so that connections which are opened together compare once. */
  const inTurn = <T>(work: () => Promise<T>): Promise<T> => {
    comparing += 1;
    const mine = last.then(work, work).finally(() => (comparing -= 1));
    last = mine.catch(() => {});
    return mine;
  };
  /** INVARIANT: from the first missing row on this process claims nothing, whether or not the loss could be stored. */
  const findLoss = async (db: Kysely<Schema>): Promise<boolean> => {
    const chains = await findLostChains(db, [...known.values()]);
    if (chains.length === 0) {
      // Another server had lost rows, or was believed to; this one has all of them.
      unstored = undefined;
      return false;
    }
    unstored ??= { id: randomUUID(), at: new Date().toISOString() };
    const gap = { ...unstored, chains };
    await storeGap(db, gap, hostId());
    isTold = true;
    stored += 1;
    unstored = undefined;
    for (const chain of chains)
      if (known.get(nameOfChain(chain))?.hash === chain.hash) known.delete(nameOfChain(chain));
    for (const listener of listeners) listener(gap);
    return true;
  };
  const compare = (): Promise<boolean> => connect((db) => inTurn(() => findLoss(db)));
  const requireAll = async (): Promise<void> => {
    if (await compare()) throw new DatabaseWentBackError();
  };

  return {
    remember(heads, since) {
      for (const head of heads) known.set(nameOfChain(head), head);
      // A comparison that has begun may have missed them.
      if (since === era && comparing === 0) return undefined;
      return requireAll();
    },
    get era() {
      return era;
    },
    compare,
    found(chain, sequence) {
      const head = known.get(nameOfChain(chain));
      if (head === undefined || head.sequence <= sequence) return;
      unstored ??= { id: randomUUID(), at: new Date().toISOString() };
      compare().catch(() => {});
    },
    get isBehind() {
      return isTold || unstored !== undefined;
    },
    get stored() {
      return stored;
    },
    told(isBehind, asOf) {
      if (isBehind) isTold = true;
      // An answer from before the last loss was stored does not know of it.
      else if (asOf === stored) isTold = false;
      // A comparison that failed would otherwise be the last one, and no operator could accept a loss that is not stored.
      if (unstored !== undefined && comparing === 0) compare().catch(() => {});
    },
    onLost: (listener) => void listeners.push(listener),
    onServer: (listener) => void serverListeners.push(listener),
    get server() {
      return server;
    },
    verify: (db, found) =>
      inTurn(async () => {
        if (found.id === server) return;
        await findLoss(db);
        server = found.id;
        era += 1;
        for (const listener of serverListeners) listener(found);
      }),
  };
}
