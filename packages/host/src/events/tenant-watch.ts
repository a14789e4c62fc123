import type { AuditStore, TailRow } from "../audit/index.ts";
import type { EscalationStore } from "../escalations/index.ts";
import { actorOf, type LiveTurnRow, type TurnJournalStore } from "../turns/index.ts";
import type { WithdrawnTool } from "../mcp-servers/index.ts";
import type { LiveEvent } from "../admin-contract/index.ts";
import { compareTurns, missingFrom, type SeenTurns } from "./turn-changes.ts";

/** The stores that a watch polls. */
interface WatchedStores {
  audit: Pick<AuditStore, "headsOf" | "listRowsBehind">;
  escalations: Pick<EscalationStore, "countPendingOf">;
  turns: Pick<TurnJournalStore, "listLive" | "findLive">;
}

export interface WatchOptions {
  stores: WatchedStores;
  /** The tools of MCP servers that a tenant may be served by, and that are withdrawn. */
  withdrawnTools(namespaceId: string): Promise<readonly WithdrawnTool[]>;
  namespaceId: string;
  pollMs: number;
  clock(): Date;
  /** Called with the first of several failures. */
  onFailure(error: unknown): void;
}

type TurnChange = Extract<LiveEvent, { kind: "turn" }>;

/** What is new in a tenant, polled once for all of its readers. */
export interface TenantWatch {
  /** The last row of each strand. */
  readonly heads: ReadonlyMap<number, number>;
  /** How many escalations wait; undefined before the first poll. */
  readonly waiting: number | undefined;
  /** Which tools are withdrawn, as the text of an event. */
  readonly withdrawn: string;
  /** How often it has polled. */
  readonly polls: number;
  /** Whether the last poll succeeded. */
  readonly isRead: boolean;
  /** The number of the newest change of a turn. */
  readonly lastChange: number;
  /** The turns that changed behind a change: each once, as it is now. */
  changesBehind(change: number): TurnChange[];
  /** Rows of a strand behind one of them. Those who ask for the same rows share one query. */
  rowsBehind(strand: number, sequence: number): Promise<TailRow[]>;
  /** Reports that something could not be read for a reader. */
  fail(error: unknown): void;
  /** Calls the listener after every poll, also after one that failed. Returns the function that ends it. */
  listen(listener: () => void): () => void;
  /** Resolves when the last poll has ended. */
  close(): Promise<void>;
}

/** So many rows are read at once. */
const pageRows = 100;
/** So many pages are cached for other readers until the next poll, and so many changes of turns for slow readers. */
const [maxPages, maxChanges] = [20, 1000];
/** How late a turn that has ended may come to light: clocks of hosts differ, and a commit takes time. */
const lateMs = 10_000;

/** Polls a tenant until it is closed. */
export function watchTenant(options: WatchOptions): TenantWatch {
  const { stores, withdrawnTools, namespaceId, pollMs, clock, onFailure } = options;
  const listeners = new Set<() => void>();
  const pages = new Map<string, Promise<TailRow[]>>();
  const changes = new Map<string, { change: number; turn: TurnChange }>();
  let heads = new Map<number, number>();
  let waiting: number | undefined;
  let withdrawn = noneWithdrawn;
  let seen: SeenTurns | undefined;
  let [polls, lastChange] = [0, 0];
  let [isRead, isFailing, isClosed] = [false, false, false];

  const readTenant = async (): Promise<void> => {
    const now = clock();
    const ends = await stores.audit.headsOf(namespaceId);
    const counts = await stores.escalations.countPendingOf([namespaceId], now.toISOString());
    const listed = await stores.turns.listLive(namespaceId, new Date(now.getTime() - lateMs).toISOString());
    const tools = await withdrawnTools(namespaceId);
    const missing = await stores.turns.findLive(missingFrom(seen ?? new Map(), listed));
    const compared = compareTurns(seen ?? new Map(), listed, missing);
    // What the first poll finds is not new.
    if (seen !== undefined) for (const row of compared.changed) recordChange(row);
    ({ seen } = compared);
    waiting = counts.get(namespaceId);
    withdrawn = withdrawnText(tools);
    // INVARIANT: no page that was read before these heads is used with them.
    heads = new Map(ends.map(({ strand, sequence }) => [strand, sequence]));
    pages.clear();
  };
  const recordChange = (row: LiveTurnRow): void => {
    lastChange += 1;
    // The newest change is last, and the oldest is dropped.
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
      await readTenant();
      [isRead, isFailing] = [true, false];
    } catch (error) {
      isRead = false;
      pages.clear();
      fail(error);
    }
    polls += 1;
    for (const listener of listeners) listener();
    if (!isClosed) timer = setTimeout(() => (polling = poll()), pollMs).unref();
  };
  let polling = poll();

  return {
    get heads() {
      return heads;
    },
    get waiting() {
      return waiting;
    },
    get withdrawn() {
      return withdrawn;
    },
    get polls() {
      return polls;
    },
    get isRead() {
      return isRead;
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
      return polling;
    },
  };
}

function withdrawnText(tools: readonly WithdrawnTool[]): string {
  const event: Extract<LiveEvent, { kind: "withdrawn" }> = {
    kind: "withdrawn",
    tools: tools.map(({ server, tool, at }) => ({ server, tool, at })),
  };
  return JSON.stringify(event);
}

/** What is told when there are none, which a new reader need not be told. */
export const noneWithdrawn = withdrawnText([]);

function changeOf(row: LiveTurnRow): TurnChange {
  const { status, events, updated_at: updatedAt } = row;
  return { kind: "turn", ...actorOf(row), status: status as TurnChange["status"], events, updatedAt };
}
