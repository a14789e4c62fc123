import { isChanged, type Box } from "./box.ts";
import type { Cut, Dimension, Extent, Names } from "./dimension.ts";

/** A dimension of names, of which boxes have some or all. There is always one more name than those that boxes have. */
export function nameDimension(name: "owner" | "actions" | "purposes"): Dimension {
  return {
    name,
    isWhole: (box) => box[name] === undefined,
    extentOf: (box) => {
      const names = box[name];
      return names === undefined ? {} : extent(name, { isExcluding: false, names: [...names].toSorted() });
    },
    cost: (boxes) => {
      const all = namesToCut(name, boxes);
      const parts = all.names.size + (all.withRest ? 1 : 0);
      return boxes.reduce((sum, box) => sum + (box[name]?.size ?? parts), 0);
    },
    cut: (boxes) => cutNames(name, boxes),
  };
}

type Name = "owner" | "actions" | "purposes";

/** The names that are cut out, and whether all other names are a part as well. */
function namesToCut(name: Name, boxes: readonly Box[]): { names: Set<string>; withRest: boolean } {
  const withRest = boxes.some((box) => box[name] === undefined && isChanged(box));
  const names = new Set<string>();
  for (const box of boxes) if (withRest || isChanged(box)) for (const one of box[name] ?? []) names.add(one);
  return { names, withRest };
}

function cutNames(name: Name, boxes: readonly Box[]): Cut {
  const { names, withRest } = namesToCut(name, boxes);
  const byName = new Map<string, Box[]>([...names].toSorted().map((one) => [one, []]));
  const rest: Box[] = [];
  for (const box of boxes) {
    const own = box[name];
    if (own === undefined) for (const part of [...byName.values(), rest]) part.push(box);
    else for (const one of own) byName.get(one)?.push(box);
  }
  const ordered = [...byName.keys()];
  const parts = [...byName.values()];
  if (withRest) parts.push(rest);
  return {
    parts,
    join: (chosen) => {
      const isExcluding = withRest && chosen.includes(ordered.length);
      const held = new Set(chosen.map((part) => ordered[part]));
      const said = { isExcluding, names: ordered.filter((one) => held.has(one) !== isExcluding) };
      return [{ extent: extent(name, said), parts: chosen }];
    },
  };
}

function extent(name: Name, names: Names): Extent {
  return names.isExcluding && names.names.length === 0 ? {} : { [name]: names };
}
