/** What a column needs: its widest cell, the least that it can be cut to, and how soon that is done; 0 is never. */
export interface Measure {
  widest: number;
  least: number;
  shrinks: number;
}

/** A column at its place in a line of the table. */
export interface PlacedColumn {
  /** Which one of the columns it is. */
  column: number;
  width: number;
}

export const gap = "  ";
/** The prefix of the second line of a row, and of those behind it. */
export const indent = "  ";

/**
 * Arranges columns on a terminal. When they do not fit, those that shrink soonest are cut first, the widest of them most. When
 * that does not do, a row takes as many lines as it needs. A column that never shrinks and is wider than the terminal gets all
 * of a line.
 */
export function layOut(measures: readonly Measure[], columns: number): PlacedColumn[][] {
  const lines: (Measure & { column: number })[][] = [[]];
  let used = 0;
  for (const [column, { widest, least, shrinks }] of measures.entries()) {
    const most = columns - indent.length;
    const measure = { column, widest: Math.min(widest, most), least: Math.min(least, most), shrinks };
    const line = lines.at(-1) ?? [];
    const needed = used + (line.length === 0 ? 0 : gap.length) + measure.least;
    const isFull = line.length > 0 && needed > roomOf(lines.length - 1, columns);
    if (isFull) lines.push([measure]);
    else line.push(measure);
    used = isFull ? measure.least : needed;
  }
  return lines.map((line, place) => fit(line, roomOf(place, columns)));
}

function roomOf(line: number, columns: number): number {
  return line === 0 ? columns : columns - indent.length;
}

/** Takes columns from those that shrink soonest, and among them from the widest, until the line fits. */
function fit(line: readonly (Measure & { column: number })[], room: number): PlacedColumn[] {
  const cells = line.map((measure) => ({ ...measure, width: measure.widest }));
  const gaps = gap.length * (cells.length - 1);
  let excess = cells.reduce((sum, { width }) => sum + width, gaps) - room;
  while (excess > 0) {
    const [first] = cells
      .filter(({ width, least }) => width > least)
      .toSorted((one, other) => other.shrinks - one.shrinks || other.width - one.width);
    if (first === undefined) break;
    first.width -= 1;
    excess -= 1;
  }
  return cells.map(({ column, width }) => ({ column, width }));
}
