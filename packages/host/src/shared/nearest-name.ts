/** The known name that was probably meant, or undefined when none is near. */
export function nearestName(name: string, known: Iterable<string>): string | undefined {
  let nearest: { name: string; edits: number } | undefined;
  for (const candidate of known) {
    const edits = editsBetween(name.toLowerCase(), candidate.toLowerCase());
    // Any two short names are only a few edits apart.
    const most = Math.min(name.length, candidate.length) < shortLength ? 1 : maxEdits;
    if (edits <= most && edits < (nearest?.edits ?? Number.POSITIVE_INFINITY)) nearest = { name: candidate, edits };
  }
  return nearest?.name;
}

const maxEdits = 2;
const shortLength = 4;
/** No name of a setting is longer, and longer texts would take time. */
const maxLength = 100;

/** How many letters have to be added, removed or replaced to get from one text to the other. */
function editsBetween(from: string, to: string): number {
  if (from.length > maxLength || Math.abs(from.length - to.length) > maxEdits) return Number.POSITIVE_INFINITY;
  let row = Array.from({ length: to.length + 1 }, (_, place) => place);
  for (const [place, letter] of Array.from(from).entries()) {
    const next = [place + 1];
    for (let column = 0; column < to.length; column += 1) {
      const replaced = (row[column] ?? 0) + (letter === to[column] ? 0 : 1);
      next.push(Math.min(replaced, (row[column + 1] ?? 0) + 1, (next[column] ?? 0) + 1));
    }
    row = next;
  }
  return row[to.length] ?? 0;
}
