import type { TailRow } from "../audit/index.ts";
import { formatCursor, type AuditCursor } from "./audit-cursor.ts";
import { noneWithdrawn, type TenantWatch } from "./tenant-watch.ts";

/** One event for a reader: a `LiveEvent` as JSON, and the cursor behind it. */
export interface ToldEvent {
  data: string;
  /** Absent for those who are told of no rows. */
  cursor?: string;
}

/** One client that follows a tenant. */
export interface LiveReader {
  /**
   * What is new, once there is something; nothing when 15 seconds have passed and the tenant can be read. While it cannot, this
   * waits. Undefined at the end: the reader may hear no more, or the host stops.
   */
  next(): Promise<ToldEvent[] | undefined>;
  close(): void;
}

export interface ReaderOptions {
  /** From where on rows of the audit log, and turns, are sent; undefined for a reader who may see neither. */
  from: AuditCursor | undefined;
  /** Whether the reader may still hear anything. Throws when that cannot be established. */
  isStillAdmitted(): Promise<boolean>;
  onClose(): void;
}

/** How long nothing is new before the reader is told that. */
const silenceMs = 15_000;
/** So many characters of rows are sent at once: as much is buffered for a reader who takes nothing. A longer row comes alone. */
const maxTold = 100_000;

/** Opens a reader of a watch. Nothing is read ahead of it: a slow one costs little memory. */
export function openReader(watch: TenantWatch, { from, isStillAdmitted, onClose }: ReaderOptions): LiveReader {
  const places = from && new Map(from);
  let waiting: number | undefined;
  let withdrawn = noneWithdrawn;
  let lastChange = watch.lastChange;
  let isClosed = false;
  let wake = (): void => {};
  const leave = watch.listen(() => wake());

  const cursor = (): Pick<ToldEvent, "cursor"> => (places === undefined ? {} : { cursor: formatCursor(places) });
  const gather = async (): Promise<ToldEvent[]> => {
    const told: ToldEvent[] = [];
    // From the same poll as the rows.
    const seen = { waiting: watch.waiting, withdrawn: watch.withdrawn };
    const rows = places === undefined ? [] : await readRows(watch, places);
    const tell = (data: string): void => void told.push({ data, ...cursor() });
    if (seen.waiting !== undefined && seen.waiting !== waiting) {
      ({ waiting } = seen);
      tell(JSON.stringify({ kind: "waiting", count: waiting }));
    }
    if (places === undefined) return told;
    if (seen.withdrawn !== withdrawn) {
      ({ withdrawn } = seen);
      tell(withdrawn);
    }
    for (const turn of watch.changesBehind(lastChange)) tell(JSON.stringify(turn));
    ({ lastChange } = watch);
    let size = 0;
    for (const { strand, sequence, content } of rows) {
      size += content.length;
      // The rest is told next: the places say how far the reader is.
      if (size > maxTold && size > content.length) break;
      places.set(strand, sequence);
      tell(`{"kind":"trail","strand":${strand},"sequence":${sequence},"event":${content}}`);
    }
    return told;
  };
  const orNothing = async <T>(reading: Promise<T>): Promise<T | undefined> => {
    try {
      return await reading;
    } catch (error) {
      watch.fail(error);
      return undefined;
    }
  };
  const close = (): void => {
    if (isClosed) return;
    isClosed = true;
    leave();
    wake();
    onClose();
  };
  return {
    async next() {
      const askedAt = performance.now();
      for (;;) {
        const { polls } = watch;
        // INVARIANT: nothing is sent to a reader unless it is established that they may still read it.
        const mayHear = await orNothing(isStillAdmitted());
        if (mayHear === false) close();
        // While the database fails nothing is sent, and nothing is lost: the next poll finds it.
        const told = mayHear === true && watch.isRead ? await orNothing(gather()) : undefined;
        // oxlint-disable-next-line typescript/no-unnecessary-condition -- it was closed meanwhile
        if (isClosed) return undefined;
        // INVARIANT: an empty answer follows only a read that succeeded: the reader takes it for proof that nothing happened.
        if (told !== undefined && (told.length > 0 || performance.now() - askedAt >= silenceMs)) return told;
        if (watch.polls === polls) await new Promise<void>((resolve) => (wake = resolve));
      }
    },
    close,
  };
}

/** A page of each strand that has news, in the order of time. What retention removed meanwhile is not there. */
async function readRows(watch: TenantWatch, places: AuditCursor): Promise<TailRow[]> {
  const behind = [...watch.heads].filter(([strand, head]) => head > (places.get(strand) ?? 0));
  return mergeByTime(await Promise.all(behind.map(([strand]) => watch.rowsBehind(strand, places.get(strand) ?? 0))));
}

/** The rows of each page stay in their order, whatever their clocks said. */
function mergeByTime(pages: readonly (readonly TailRow[])[]): TailRow[] {
  const rest = pages.map((page) => [...page].toReversed());
  const merged: TailRow[] = [];
  for (;;) {
    const first = rest
      .filter((page) => page.length > 0)
      .toSorted((one, other) => compare(one, other))[0]
      ?.pop();
    if (first === undefined) return merged;
    merged.push(first);
  }
}

function compare(one: readonly TailRow[], other: readonly TailRow[]): number {
  return (one.at(-1)?.at ?? "") < (other.at(-1)?.at ?? "") ? -1 : 1;
}
