/** Where instants are placed in a picture that is 100 wide. Long spans in which nothing happened are drawn short. */
export interface TimeScale {
  place(at: number): number;
  gaps: readonly { from: number; to: number; ms: number }[];
}

/** Nothing happened for this long, and for this part of the whole: that is a gap. */
const [gapMs, gapShare, gapWidth] = [5000, 0.2, 8];

/** The scale of a picture that has to show all of these instants. */
export function timeScale(instants: readonly number[]): TimeScale {
  const times = [...new Set(instants)].toSorted((one, other) => one - other);
  const [first = 0, last = 0] = [times[0], times.at(-1)];
  const spans = times.slice(1).map((to, place) => ({ from: times[place] ?? to, to }));
  const isGap = ({ from, to }: { from: number; to: number }): boolean =>
    to - from >= gapMs && to - from >= (last - first) * gapShare;
  const gapCount = spans.filter(isGap).length;
  const busy = spans.filter((span) => !isGap(span)).reduce((sum, { from, to }) => sum + to - from, 0);
  // Without anything else to show, the gaps have all the room.
  const widthOfGap = busy === 0 && gapCount > 0 ? 100 / gapCount : gapWidth;
  const perMs = busy === 0 ? 0 : (100 - widthOfGap * gapCount) / busy;
  const places = new Map<number, number>([[first, 0]]);
  let x = 0;
  for (const span of spans) places.set(span.to, (x += isGap(span) ? widthOfGap : (span.to - span.from) * perMs));
  const place = (at: number): number => places.get(at) ?? (at <= first ? 0 : 100);
  const gaps = spans.filter(isGap).map(({ from, to }) => ({ from: place(from), to: place(to), ms: to - from }));
  return { place, gaps };
}
