import type { AdminOutput } from "turnpike-host/admin-contract";

type ReachEntry = AdminOutput<"readReach">["reach"][number];

/** A place that can be reached, or that leads to one. */
export interface Place {
  /** Its steps behind the place above it, with slashes. */
  name: string;
  /** The whole of it, as `namespace/step/step`. */
  resource: string;
  entries: ReachEntry[];
  children: Place[];
}

/** The reach as a tree of places. Steps without an entry and without a fork are drawn as one. */
export function reachTree(entries: readonly ReachEntry[]): Place[] {
  const root: Place = { name: "", resource: "", entries: [], children: [] };
  for (const entry of entries) {
    let at = root;
    for (const name of [entry.namespace, ...entry.path]) {
      let next = at.children.find((child) => child.name === name);
      if (next === undefined) {
        next = { name, resource: at === root ? name : `${at.resource}/${name}`, entries: [], children: [] };
        at.children.push(next);
      }
      at = next;
    }
    at.entries.push(entry);
  }
  return root.children.map(joined);
}

function joined(place: Place): Place {
  const [only, ...others] = place.children;
  if (place.entries.length === 0 && only !== undefined && others.length === 0)
    return joined({ ...only, name: `${place.name}/${only.name}` });
  return { ...place, children: place.children.map(joined) };
}
