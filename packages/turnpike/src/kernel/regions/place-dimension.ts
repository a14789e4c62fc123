import { isChanged, type Box } from "./box.ts";
import type { Cut, Dimension, Extent, Joined } from "./dimension.ts";
import type { Place } from "./region.ts";

/** A place that boxes name. It is two parts: the place itself, and everything below it that no box names. */
interface Node {
  path: readonly string[];
  parent: Node | undefined;
  children: Map<string, Node> | undefined;
  exact: Box[];
  descendants: Box[];
}

/** Places, cut at those that boxes name. */
export const placeDimension: Dimension = {
  name: "place",
  isWhole: ({ path, scope }) => path.length === 0 && scope === "descendants",
  extentOf: ({ path, scope }) => extent({ path: [...path], scope, except: [] }),
  cost: (boxes) => {
    let sum = 0;
    forEachPart(treeOf(boxes), (_node, _below, inherited, own) => {
      sum += inherited.length + own.length;
    });
    return sum;
  },
  cut: cutPlaces,
};

function cutPlaces(boxes: readonly Box[]): Cut {
  const parts: Box[][] = [];
  const places: { node: Node; isBelow: boolean }[] = [];
  forEachPart(treeOf(boxes), (node, isBelow, inherited, own) => {
    parts.push([...inherited, ...own]);
    places.push({ node, isBelow });
  });
  return { parts, join: (chosen) => joinPlaces(places, chosen) };
}

function treeOf(boxes: readonly Box[]): Node {
  const root = newNode([], undefined);
  for (const box of boxes) {
    let node = root;
    for (const [depth, segment] of box.path.entries()) {
      node.children ??= new Map();
      let child = node.children.get(segment);
      if (child === undefined) node.children.set(segment, (child = newNode(box.path.slice(0, depth + 1), node)));
      node = child;
    }
    node[box.scope].push(box);
  }
  return root;
}

type Visit = (node: Node, isBelow: boolean, inherited: readonly Box[], own: readonly Box[]) => void;

/** Visits the parts that a changed box covers, each place before those below it. */
function forEachPart(node: Node, visit: Visit, inherited: readonly Box[] = [], isInherited = false): void {
  const below = node.descendants.length === 0 ? inherited : [...inherited, ...node.descendants];
  const isBelow = isInherited || node.descendants.some(isChanged);
  if (isBelow || node.exact.some(isChanged)) visit(node, false, below, node.exact);
  if (isBelow) visit(node, true, below, []);
  for (const child of node.children?.values() ?? []) forEachPart(child, visit, below, isBelow);
}

interface OpenPiece {
  place: Place & { except: Place[] };
  parts: number[];
}

/** The union of parts, in the order of their visits: whole subtrees, with exceptions where that is shorter. */
function joinPlaces(places: readonly { node: Node; isBelow: boolean }[], chosen: readonly number[]): Joined[] {
  const held = new Map<Node, { self?: number; below?: number }>();
  for (const part of chosen) {
    const { node, isBelow } = places[part] as (typeof places)[number];
    held.set(node, { ...held.get(node), [isBelow ? "below" : "self"]: part });
  }
  const found: OpenPiece[] = [];
  const add = (node: Node, scope: Place["scope"]): OpenPiece => {
    const piece = { place: { path: [...node.path], scope, except: [] }, parts: [] };
    found.push(piece);
    return piece;
  };
  /** The piece that holds what is below a node. */
  const open = new Map<Node, OpenPiece>();
  for (const [node, { self, below }] of held) {
    const above = node.parent && open.get(node.parent);
    if (below === undefined) {
      above?.place.except.push({ path: [...node.path], scope: "descendants" });
      add(node, "exact").parts.push(self as number);
      continue;
    }
    const piece = above ?? add(node, "descendants");
    open.set(node, piece);
    piece.parts.push(below);
    if (self === undefined) piece.place.except.push({ path: [...node.path], scope: "exact" });
    else piece.parts.push(self);
    for (const child of node.children?.values() ?? [])
      if (!held.has(child)) piece.place.except.push({ path: [...child.path], scope: "descendants" });
  }
  return found.map(({ place, parts }) => ({ extent: extent(place), parts }));
}

function extent(place: Place & { except: Place[] }): Extent {
  return place.path.length === 0 && place.scope === "descendants" && place.except.length === 0 ? {} : { place };
}

function newNode(path: readonly string[], parent: Node | undefined): Node {
  return { path, parent, children: undefined, exact: [], descendants: [] };
}
