import { isChanged, type Box } from "./box.ts";
import type { Cut, Dimension, Extent, Joined } from "./dimension.ts";

/** Instants, cut where a box begins or ends. */
export const spanDimension: Dimension = {
  name: "span",
  isWhole: ({ from, until }) => from === -Infinity && until === Infinity,
  extentOf: ({ from, until }) => extent(from, until),
  cost: (boxes) => {
    const steps = new Map<number, number>();
    for (const { from, until } of boxes) {
      steps.set(from, (steps.get(from) ?? 0) + 1);
      steps.set(until, (steps.get(until) ?? 0) - 1);
    }
    let [sum, active] = [0, 0];
    for (const [, step] of [...steps].toSorted(([one], [other]) => one - other)) sum += active += step;
    return sum;
  },
  cut: cutSpans,
};

function cutSpans(boxes: readonly Box[]): Cut {
  const changed = boxes.filter(isChanged);
  const edges = [...new Set(boxes.flatMap(({ from, until }) => [from, until]))].toSorted((one, other) => one - other);
  const starting = new Map<number, Box[]>(edges.map((edge) => [edge, []]));
  for (const box of boxes) starting.get(box.from)?.push(box);
  const parts: Box[][] = [];
  const spans: { from: number; until: number }[] = [];
  const last = changed.reduce((latest, { until }) => Math.max(latest, until), -Infinity);
  let active: Box[] = [];
  for (const [place, [from, own]] of [...starting].entries()) {
    if (from >= last) break;
    active = [...active.filter(({ until }) => until > from), ...own];
    if (!active.some(isChanged)) continue;
    parts.push(active);
    spans.push({ from, until: edges[place + 1] as number });
  }
  return { parts, join: (chosen) => joinSpans(spans, chosen) };
}

/** Adjacent spans as one. */
function joinSpans(spans: readonly { from: number; until: number }[], chosen: readonly number[]): Joined[] {
  const runs: { from: number; until: number; parts: number[] }[] = [];
  for (const part of chosen) {
    const { from, until } = spans[part] as (typeof spans)[number];
    const run = runs.at(-1);
    if (run?.until === from) {
      run.until = until;
      run.parts.push(part);
    } else {
      runs.push({ from, until, parts: [part] });
    }
  }
  return runs.map(({ from, until, parts }) => ({ extent: extent(from, until), parts }));
}

function extent(from: number, until: number): Extent {
  return from === -Infinity && until === Infinity ? {} : { span: { from, until } };
}
