/**
 * A place in every strand of a trail: the number of the last row that was told, by strand. A strand that is not named has
 * not begun yet, and is told from its first row.
 */
export type TrailCursor = ReadonlyMap<number, number>;

const placeText = /^(\d{1,9})\.(\d{1,15})$/;

/** A cursor as text, such as `0.123,1.45`. */
export function formatCursor(cursor: TrailCursor): string {
  // A trail without rows has a cursor too.
  const places = [...new Map([[0, 0], ...cursor])].toSorted(([one], [other]) => one - other);
  return places.map(([strand, sequence]) => `${strand}.${sequence}`).join(",");
}

/** The cursor that a text is; undefined when it is none. */
export function parseCursor(text: string): TrailCursor | undefined {
  const cursor = new Map<number, number>();
  for (const place of text.split(",")) {
    const [, strand, sequence] = placeText.exec(place) ?? [];
    if (strand === undefined || sequence === undefined || cursor.has(Number(strand))) return undefined;
    cursor.set(Number(strand), Number(sequence));
  }
  return cursor;
}
