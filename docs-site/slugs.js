/** Ids of headings as GitHub makes them, so that a link works in both places; a second heading of a name gets a number. */
export function slugs() {
  const taken = new Map();
  return (text) => {
    const base = text
      .toLowerCase()
      .replaceAll(/[^\p{Letter}\p{Mark}\p{Number}\p{Connector_Punctuation} -]/gu, "")
      .replaceAll(" ", "-");
    const times = taken.get(base) ?? 0;
    taken.set(base, times + 1);
    return times === 0 ? base : `${base}-${times}`;
  };
}
