import type { AuditStore, TailRow } from "../audit/index.ts";
import type { EscalationStore } from "../escalations/index.ts";
import { actorOf, type LiveTurnRow, type TurnJournalStore } from "../turns/index.ts";
import type { LiveEvent } from "../management/index.ts";
import { compareTurns, missingFrom, type SeenTurns } from "./turn-changes.ts";

/** Where a watch looks. */
interface WatchedStores {
  audit: Pick<AuditStore, "headsOf" | "listRowsBehind">;
  escalations: Pick<EscalationStore, "countPendingOf">;
  turns: Pick<TurnJournalStore, "listLive" | "findLive">;
}

export interface WatchOptions {
  stores: WatchedStores;
  namespaceId: string;
  pollMs: number;
  clock(): Date;
  /** Called with the first of several failures. */
  onFailure(error: unknown): void;
}

type TurnChange = Extract<LiveEvent, { kind: "turn" }>;

/** What is new in a tenant, looked up once for everybody who follows it. */
export interface TenantWatch {
  /** The last row of each strand. */
  readonly heads: ReadonlyMap<number, number>;
  /** How many escalations wait; undefined before the first look. */
  readonly waiting: number | undefined;
  /** How often it has looked. */
  readonly looks: number;
  /** The number of the newest change of a turn. */
  readonly lastChange: number;
  /** The turns that changed behind a change: each once, as it is now. */
  changesBehind(change: number): TurnChange[];
  /** Rows of a strand behind one of them. Those who ask for the same rows share one query. */
  rowsBehind(strand: number, sequence: number): Promise<TailRow[]>;
  /** Reports that something could not be read for a reader. */
  fail(error: unknown): void;
  /** Calls the listener after every look, also after one that failed. Returns the function that ends it. */
  listen(listener: () => void): () => void;
  /** Resolves when it has looked for the last time. */
  close(): Promise<void>;
}

/** So many rows are read at once. */
const pageRows = 100;
/** So many pages are kept for others until the next look, and so many changes of turns for slow readers. */
const [maxPages, maxChanges] = [20, 1000];
/** How late a turn that has ended may come to light: clocks of hosts differ, and a commit takes time. */
const lateMs = 10_000;

/** Looks at a tenant again and again until it is closed. */
export function watchTenant({ stores, namespaceId, pollMs, clock, onFailure }: WatchOptions): TenantWatch {
  const listeners = new Set<() => void>();
  const pages = new Map<string, Promise<TailRow[]>>();
  const changes = new Map<string, { change: number; turn: TurnChange }>();
  let heads = new Map<number, number>();
  let waiting: number | undefined;
  let seen: SeenTurns | undefined;
  let [looks, lastChange] = [0, 0];
  let [isFailing, isClosed] = [false, false];

  const look = async (): Promise<void> => {
    const now = clock();
    const ends = await stores.audit.headsOf(namespaceId);
    const counts = await stores.escalations.countPendingOf([namespaceId], now.toISOString());
    const listed = await stores.turns.listLive(namespaceId, new Date(now.getTime() - lateMs).toISOString());
    const missing = await stores.turns.findLive(missingFrom(seen ?? new Map(), listed));
    const compared = compareTurns(seen ?? new Map(), listed, missing);
    // What there is at the first look is no news.
    if (seen !== undefined) for (const row of compared.changed) keepChange(row);
    ({ seen } = compared);
    waiting = counts.get(namespaceId);
    // INVARIANT: no page that was read before these heads is used with them.
    heads = new Map(ends.map(({ strand, sequence }) => [strand, sequence]));
    pages.clear();
  };
  const keepChange = (row: LiveTurnRow): void => {
    lastChange += 1;
    // The newest is last, and the one that nobody asked for longest goes.
    changes.delete(row.id);
    changes.set(row.id, { change: lastChange, turn: changeOf(row) });
    const [oldest] = changes.keys();
    if (changes.size > maxChanges && oldest !== undefined) changes.delete(oldest);
  };
  const fail = (error: unknown): void => {
    if (!isFailing) onFailure(error);
    isFailing = true;
  };
  let timer: ReturnType<typeof setTimeout> | undefined;
  const poll = async (): Promise<void> => {
    try {
      await look();
      isFailing = false;
    } catch (error) {
      pages.clear();
      fail(error);
    }
    looks += 1;
    for (const listener of listeners) listener();
    if (!isClosed) timer = setTimeout(() => (looking = poll()), pollMs).unref();
  };
  let looking = poll();

  return {
    get heads() {
      return heads;
    },
    get waiting() {
      return waiting;
    },
    get looks() {
      return looks;
    },
    get lastChange() {
      return lastChange;
    },
    changesBehind: (change) => [...changes.values()].filter((one) => one.change > change).map(({ turn }) => turn),
    rowsBehind(strand, sequence) {
      const key = `${strand}.${sequence}`;
      const shared = pages.get(key);
      if (shared !== undefined) return shared;
      const page = stores.audit.listRowsBehind(namespaceId, { strand, sequence }, pageRows);
      if (pages.size < maxPages) pages.set(key, page);
      return page;
    },
    fail,
    listen(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    close() {
      isClosed = true;
      clearTimeout(timer);
      return looking;
    },
  };
}

function changeOf(row: LiveTurnRow): TurnChange {
  const { status, events, updated_at: updatedAt } = row;
  return { kind: "turn", ...actorOf(row), status: status as TurnChange["status"], events, updatedAt };
}
