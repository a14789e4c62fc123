import { useRef, useState } from "preact/hooks";

/**
 * The rows to show while the operator is about to click one: those that were shown, each as it is now, at its place. New ones wait.
 */
export function heldRows<Row>(
  shown: readonly Row[],
  fresh: readonly Row[],
  keyOf: (row: Row) => string,
): { rows: readonly Row[]; news: number } {
  const known = new Set(shown.map(keyOf));
  const latest = new Map(fresh.map((row) => [keyOf(row), row]));
  return {
    rows: shown.map((row) => latest.get(keyOf(row)) ?? row),
    news: fresh.filter((row) => !known.has(keyOf(row))).length,
  };
}

/** Rows of a list that is live and does not move under the pointer. `hold` belongs to the element around them. */
export function useHeldRows<Row>(fresh: readonly Row[], keyOf: (row: Row) => string, listKey: string) {
  const [isHeld, setHeld] = useState(false);
  const shown = useRef<{ listKey: string; rows: readonly Row[] }>({ listKey, rows: fresh });
  const isSame = shown.current.listKey === listKey && shown.current.rows.length > 0;
  const held = isHeld && isSame ? heldRows(shown.current.rows, fresh, keyOf) : { rows: fresh, news: 0 };
  shown.current = { listKey, rows: held.rows };
  const hold = { onPointerEnter: () => setHeld(true), onPointerLeave: () => setHeld(false) };
  return { ...held, hold, showNews: () => setHeld(false) };
}
