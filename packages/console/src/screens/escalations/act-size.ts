import type { ActRow } from "turnpike-host/display";

/** A larger act is not shown whole at first, because people do not read a wall of text. It cannot be approved before it is shown whole. */
const [mostRows, mostCharacters] = [40, 1200];

/** One argument as it is shown at first, and how many characters of it are left out. */
export interface ShortRow extends ActRow {
  left: number;
}

/** The arguments of an act as they are shown at first, and how many are left out. */
export function shortAct(rows: readonly ActRow[]): { rows: ShortRow[]; left: number; isCut: boolean } {
  const shown = rows.slice(0, mostRows).map(({ name, value }) => {
    // Never cuts a surrogate pair in half.
    const start = value.slice(0, mostCharacters).replace(/[\uD800-\uDBFF]$/, "");
    return value.length > mostCharacters
      ? { name, value: start, left: value.length - start.length }
      : { name, value, left: 0 };
  });
  const left = rows.length - shown.length;
  return { rows: shown, left, isCut: left > 0 || shown.some((row) => row.left > 0) };
}
