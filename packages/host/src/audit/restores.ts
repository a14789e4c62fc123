import type { TenantHead } from "../ledger/index.ts";
import {
  beginning,
  type Checkpoint,
  headsPerLine,
  type LostRows,
  type Place,
  placeBehind,
  signLine,
} from "./checkpoint.ts";
import { appendLines, isThere, readCheckpoints } from "./checkpoint-file.ts";
import type { SigningKey, VerifyingKey } from "./signing-key.ts";

/** A restore, as a file of checkpoints has it. */
interface Restore {
  at: string;
  /** The number of its first line. */
  checkpoint: number;
  /** The last row of each strand that the backup has; a strand that is not here had none. */
  rows: Map<string, number>;
}

/** Rows that the database lost, as a file of checkpoints has it. */
export interface SignedGap {
  id: string;
  /** When it was noticed. */
  at: string;
  /** The number of its first line. */
  checkpoint: number;
  chains: LostRows[];
  /** When the host wrote down that an operator accepted it; undefined before. */
  acceptedAt?: string;
}

/** What a file of checkpoints says of restores and of lost rows, in the order of its lines. */
export interface Restores {
  readonly all: readonly Pick<Restore, "at" | "checkpoint">[];
  readonly gaps: readonly Readonly<SignedGap>[];
  take(checkpoints: readonly Checkpoint[]): void;
  /**
   * Whether a row that this line signed need not be there: a backup was restored behind it that does not have the row, or an operator
   * accepted that it is lost.
   */
  isUndone(line: number, head: Pick<TenantHead, "namespaceId" | "strand" | "sequence">): boolean;
}

/** Gathers restores and losses from the lines of a file. */
export function createRestores(): Restores {
  const all: Restore[] = [];
  const gaps: (SignedGap & { rows: Map<string, number> })[] = [];
  let next: Restore | undefined;
  let nextGap: (SignedGap & { rows: Map<string, number> }) | undefined;
  return {
    all,
    gaps,
    take(checkpoints) {
      for (const { sequence, at, heads, restored, gap, accepted = [] } of checkpoints) {
        if (gap?.part === 1) nextGap = { id: gap.id, at, checkpoint: sequence, chains: [], rows: new Map() };
        for (const chain of gap?.chains ?? []) {
          nextGap?.chains.push(chain);
          nextGap?.rows.set(nameOf(chain), chain.from);
        }
        // INVARIANT: without its last line it counts for nothing, since the rows that it names are not all.
        if (nextGap !== undefined && gap?.part === gap?.of && gap !== undefined) gaps.push(nextGap);
        for (const one of gaps) if (accepted.includes(one.id)) one.acceptedAt ??= at;
        if (restored === undefined) continue;
        if (restored.part === 1) next = { at, checkpoint: sequence, rows: new Map() };
        for (const head of heads) next?.rows.set(nameOf(head), head.sequence);
        // INVARIANT: the same.
        if (next !== undefined && restored.part === restored.of) all.push(next);
      }
    },
    isUndone: (line, head) =>
      all.some(({ checkpoint, rows }) => line < checkpoint && head.sequence > (rows.get(nameOf(head)) ?? 0)) ||
      gaps.some(
        ({ checkpoint, acceptedAt, rows }) =>
          acceptedAt !== undefined &&
          line < checkpoint &&
          head.sequence > (rows.get(nameOf(head)) ?? Number.POSITIVE_INFINITY),
      ),
  };
}

/** The newest heads in a file that have to be in the database: not those from before a restore, or from before rows were lost. */
export interface NewestHeads {
  readonly heads: ReadonlyMap<string, TenantHead>;
  take(checkpoints: readonly Checkpoint[]): void;
}

export function createNewestHeads(): NewestHeads {
  const heads = new Map<string, TenantHead>();
  return {
    heads,
    take(checkpoints) {
      for (const { heads: signed, restored, gap } of checkpoints) {
        if (restored?.part === 1) heads.clear();
        // That they are missing was noticed. Whether an operator accepted it, the database says.
        for (const chain of gap?.chains ?? []) heads.delete(nameOf(chain));
        for (const head of signed) heads.set(nameOf(head), head);
      }
    },
  };
}

/** The restores in a file. */
export async function readRestores(file: string, key: VerifyingKey): Promise<Restores> {
  const restores = createRestores();
  await readCheckpoints(file, beginning, key, (checkpoints) => restores.take(checkpoints));
  return restores;
}

/** Appends to a file that a backup with these heads was restored. Returns the number of the first line that says so. */
export async function appendRestore(
  file: string,
  { at, host, heads }: { at: string; host: number; heads: readonly TenantHead[] },
  key: SigningKey,
): Promise<number> {
  let place: Place = beginning;
  if (await isThere(file)) ({ place } = await readCheckpoints(file, beginning, key, () => {}));
  const begin = place;
  const of = Math.max(1, Math.ceil(heads.length / headsPerLine));
  const lines: string[] = [];
  for (let part = 1; part <= of; part += 1) {
    const some = heads.slice((part - 1) * headsPerLine, part * headsPerLine);
    const line = await signLine(place, { at, host, heads: some, restored: { part, of } }, key);
    lines.push(line);
    place = placeBehind(line, place);
  }
  // All at once: half of them would not say which rows the backup had.
  await appendLines(file, begin, lines);
  return begin.sequence + 1;
}

/** The lines that put a loss behind a place. They are appended all at once. */
export async function signGap(
  from: Place,
  { id, at, host, chains }: { id: string; at: string; host: number; chains: readonly LostRows[] },
  key: SigningKey,
): Promise<string[]> {
  const of = Math.max(1, Math.ceil(chains.length / headsPerLine));
  const lines: string[] = [];
  let place = from;
  for (let part = 1; part <= of; part += 1) {
    const some = chains.slice((part - 1) * headsPerLine, part * headsPerLine);
    const line = await signLine(place, { at, host, heads: [], gap: { id, part, of, chains: some } }, key);
    lines.push(line);
    place = placeBehind(line, place);
  }
  return lines;
}

export function nameOf({ strand, namespaceId }: Pick<TenantHead, "namespaceId" | "strand">): string {
  return `${strand} ${namespaceId}`;
}
