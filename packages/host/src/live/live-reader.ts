import type { TailRow } from "../audit/index.ts";
import { formatCursor, type TrailCursor } from "./trail-cursor.ts";
import type { TenantWatch } from "./tenant-watch.ts";

/** One event for a reader: a `LiveEvent` as JSON, and the cursor behind it. */
export interface ToldEvent {
  data: string;
  /** Absent for those who are told of no rows. */
  cursor?: string;
}

/** Somebody who follows a tenant. */
export interface LiveReader {
  /** What is new, once there is something. Undefined at the end: the reader may hear no more, or the host stops. */
  next(): Promise<ToldEvent[] | undefined>;
  close(): void;
}

export interface ReaderOptions {
  /** From where on rows of the trail, and turns, are told; undefined for somebody who is told of neither. */
  from: TrailCursor | undefined;
  /** Whether the reader may still hear anything. Throws when that cannot be established. */
  stands(): Promise<boolean>;
  onClose(): void;
}

/** So many characters of rows are told at once: as much is kept for a reader who takes nothing. A longer row comes alone. */
const maxTold = 100_000;

/** Opens a reader of a watch. Nothing is read ahead of it: a slow one costs little memory. */
export function openReader(watch: TenantWatch, { from, stands, onClose }: ReaderOptions): LiveReader {
  const places = from && new Map(from);
  let waiting: number | undefined;
  let lastChange = watch.lastChange;
  let isClosed = false;
  let wake = (): void => {};
  const leave = watch.listen(() => wake());

  const cursor = (): Pick<ToldEvent, "cursor"> => (places === undefined ? {} : { cursor: formatCursor(places) });
  const gather = async (): Promise<ToldEvent[]> => {
    const told: ToldEvent[] = [];
    const rows = places === undefined ? [] : await readRows(watch, places);
    const tell = (data: string): void => void told.push({ data, ...cursor() });
    if (watch.waiting !== undefined && watch.waiting !== waiting) {
      waiting = watch.waiting;
      tell(JSON.stringify({ kind: "waiting", count: waiting }));
    }
    if (places === undefined) return told;
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
  const orElse = async <T>(reading: Promise<T>, otherwise: T): Promise<T> => {
    try {
      return await reading;
    } catch (error) {
      watch.fail(error);
      return otherwise;
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
      for (;;) {
        const { looks } = watch;
        // INVARIANT: nothing is told to somebody of whom it is not known that they may hear it.
        const mayHear = await orElse<boolean | undefined>(stands(), undefined);
        if (mayHear === false) close();
        // While the database fails nothing is told, and nothing is lost: the next look finds it.
        const told = mayHear === true ? await orElse(gather(), []) : [];
        // oxlint-disable-next-line typescript/no-unnecessary-condition -- it was closed meanwhile
        if (isClosed) return undefined;
        if (told.length > 0) return told;
        if (watch.looks === looks) await new Promise<void>((resolve) => (wake = resolve));
      }
    },
    close,
  };
}

/** A page of each strand that has news, in the order of time. What retention removed meanwhile is not there. */
async function readRows(watch: TenantWatch, places: TrailCursor): Promise<TailRow[]> {
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
