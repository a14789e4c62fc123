/** How far each strand of an audit log has been heard: the number of its last row, by strand. As text it is the id of an event. */
function placesOf(cursor: string): Map<string, number> {
  return new Map(
    cursor.split(",").map((place) => {
      const [strand = "", sequence = ""] = place.split(".");
      return [strand, Number(sequence)];
    }),
  );
}

/** Whether there is a row up to one cursor that a reader at another has not heard. */
export function isBehind(cursor: string, other: string): boolean {
  const places = placesOf(cursor);
  return [...placesOf(other)].some(([strand, sequence]) => sequence > (places.get(strand) ?? 0));
}

/** The cursor from which on neither reader misses a row. A strand that one of them does not name is told from its first row. */
export function earlierCursor(cursor: string, other: string): string {
  const places = placesOf(other);
  const shared = [...placesOf(cursor)].flatMap(([strand, sequence]) => {
    const place = places.get(strand);
    return place === undefined ? [] : [`${strand}.${Math.min(sequence, place)}`];
  });
  return shared.length === 0 ? "0.0" : shared.join(",");
}

/** Whether a reader at this cursor has heard a row. */
export function isHeard(cursor: string, strand: number, sequence: number): boolean {
  return sequence <= (placesOf(cursor).get(String(strand)) ?? 0);
}

/** The cursor behind one more row. */
export function cursorBehind(cursor: string, strand: number, sequence: number): string {
  const places = placesOf(cursor).set(String(strand), sequence);
  return [...places].map(([name, place]) => `${name}.${place}`).join(",");
}
