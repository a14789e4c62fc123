import type { TenantHead } from "../ledger/index.ts";
import { beginning, type Checkpoint, headsPerLine, type Place, placeBehind, signLine } from "./checkpoint.ts";
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

/** What a file of checkpoints says of restores, in the order of its lines. */
export interface Restores {
  readonly all: readonly Pick<Restore, "at" | "checkpoint">[];
  take(checkpoints: readonly Checkpoint[]): void;
  /** Whether a restore came behind this line and took the row away that it signed: then the row need not be there. */
  isUndone(line: number, head: Pick<TenantHead, "namespaceId" | "strand" | "sequence">): boolean;
}

/** Gathers restores from the lines of a file. */
export function createRestores(): Restores {
  const all: Restore[] = [];
  let next: Restore | undefined;
  return {
    all,
    take(checkpoints) {
      for (const { sequence, at, heads, restored } of checkpoints) {
        if (restored === undefined) continue;
        if (restored.part === 1) next = { at, checkpoint: sequence, rows: new Map() };
        for (const head of heads) next?.rows.set(nameOf(head), head.sequence);
        // INVARIANT: without its last line a restore counts for nothing, since the rows that it names are not all.
        if (next !== undefined && restored.part === restored.of) all.push(next);
      }
    },
    isUndone: (line, head) =>
      all.some(({ checkpoint, rows }) => line < checkpoint && head.sequence > (rows.get(nameOf(head)) ?? 0)),
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
  // All at once: of half of them nobody could tell which rows the backup had.
  await appendLines(file, begin, lines);
  return begin.sequence + 1;
}

function nameOf({ strand, namespaceId }: Pick<TenantHead, "namespaceId" | "strand">): string {
  return `${strand} ${namespaceId}`;
}
