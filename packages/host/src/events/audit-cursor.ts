/**
 * A place in every strand of an audit log: the number of the last row that was sent, by strand. A strand that is not named has
 * not begun yet, and is sent from its first row.
 */
export type AuditCursor = ReadonlyMap<number, number>;

const placeText = /^(\d{1,9})\.(\d{1,15})$/;

/** A cursor as text, such as `0.123,1.45`. */
export function formatCursor(cursor: AuditCursor): string {
  // An audit log without rows has a cursor too.
  const places = [...new Map([[0, 0], ...cursor])].toSorted(([one], [other]) => one - other);
  return places.map(([strand, sequence]) => `${strand}.${sequence}`).join(",");
}

/** The cursor that a text is; undefined when it is none. */
export function parseCursor(text: string): AuditCursor | undefined {
  const cursor = new Map<number, number>();
  for (const place of text.split(",")) {
    const [, strand, sequence] = placeText.exec(place) ?? [];
    if (strand === undefined || sequence === undefined || cursor.has(Number(strand))) return undefined;
    cursor.set(Number(strand), Number(sequence));
  }
  return cursor;
}
