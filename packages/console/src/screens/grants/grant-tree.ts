import type { GrantEntry } from "turnpike-host/admin-contract";
import { grantText, needsApproval, principalText } from "../../shared/words.ts";

/** One node of the delegation tree: an issuer, a grant, or the parent of grants that was not read. */
export interface TreeNode {
  key: string;
  kind: "issuer" | "grant" | "unread";
  /** Who it is about, or the id of a grant that was not read. */
  title: string;
  entry?: GrantEntry;
  /** Whether it is shown only because a node below it matches the filter. */
  isContext: boolean;
  children: TreeNode[];
  /** How many grants are below it. */
  below: number;
}

export function grantKey(id: string): string {
  return `grant ${id}`;
}

/** The grants as trees: each issuer with what they gave out of their own right, and below that what was derived from it. */
export function forestOf(
  entries: readonly GrantEntry[],
  isWanted: (entry: GrantEntry) => boolean = () => true,
): TreeNode[] {
  const known = new Set(entries.map(({ grant }) => grant.id));
  const children = new Map<string | undefined, GrantEntry[]>();
  for (const entry of entries) {
    const { parentId } = entry.grant;
    const siblings = children.get(parentId);
    if (siblings === undefined) children.set(parentId, [entry]);
    else siblings.push(entry);
  }
  const placed = new Set<string>();
  const grow = (entry: GrantEntry): TreeNode[] => {
    const { id, subject } = entry.grant;
    // Parents that go round in a circle are no tree.
    if (placed.has(id)) return [];
    placed.add(id);
    const below = (children.get(id) ?? []).flatMap(grow);
    const wanted = isWanted(entry);
    if (!wanted && below.length === 0) return [];
    const node = { key: grantKey(id), kind: "grant" as const, title: principalText(subject), entry };
    return [{ ...node, isContext: !wanted, children: below, below: countOf(below) }];
  };
  const roots = new Map<string, TreeNode>();
  const plant = (kind: "issuer" | "unread", title: string, entry: GrantEntry): void => {
    const grown = grow(entry);
    if (grown.length === 0) return;
    const key = `${kind} ${title}`;
    const root = roots.get(key) ?? { key, kind, title, isContext: false, children: [], below: 0 };
    root.children.push(...grown);
    root.below = countOf(root.children);
    roots.set(key, root);
  };
  for (const entry of children.get(undefined) ?? []) plant("issuer", principalText(entry.grant.issuer), entry);
  for (const entry of entries) {
    const { parentId } = entry.grant;
    if (parentId !== undefined && !known.has(parentId)) plant("unread", parentId, entry);
  }
  for (const entry of entries) if (!placed.has(entry.grant.id)) plant("unread", entry.grant.parentId ?? "", entry);
  return [...roots.values()];
}

function countOf(nodes: readonly TreeNode[]): number {
  return nodes.reduce((sum, { kind, below }) => sum + below + (kind === "grant" ? 1 : 0), 0);
}

/** What the operator opened and closed by hand, and of which nodes they wanted to see more children. */
export interface Folding {
  toggled: ReadonlySet<string>;
  /** How many children of a node are shown, where that was changed. */
  shown: ReadonlyMap<string, number>;
}

export const unfolded: Folding = { toggled: new Set(), shown: new Map() };

/** Up to so many grants are all shown at first; of more, so many of each parent. */
const [fewGrants, firstChildren] = [40, 10];

/** One row of the tree as it is shown. */
export interface TreeRow {
  key: string;
  kind: TreeNode["kind"] | "more";
  depth: number;
  parent: string | undefined;
  node: TreeNode;
  isOpen: boolean;
  /** Of a row that represents further children: how many. */
  more: number;
}

/** The rows that are shown, from top to bottom. What is selected is always among them. */
export function rowsOf(forest: readonly TreeNode[], { toggled, shown }: Folding, selected?: string): TreeRow[] {
  const isSmall = countOf(forest) <= fewGrants;
  const way = new Set(selected === undefined ? [] : wayTo(forest, selected));
  const rows: TreeRow[] = [];
  const add = (node: TreeNode, depth: number, parent: string | undefined): void => {
    const { key, kind, children } = node;
    const opensFirst = isSmall || depth === 0;
    const isOnWay = way.has(key) && key !== selected;
    const isOpen = children.length > 0 && (isOnWay || (toggled.has(key) ? !opensFirst : opensFirst));
    rows.push({ key, kind, depth, parent, node, isOpen, more: 0 });
    if (!isOpen) return;
    const limit = shown.get(key) ?? (isSmall ? Infinity : firstChildren);
    const visible = children.filter((child, place) => place < limit || way.has(child.key));
    for (const child of visible) add(child, depth + 1, key);
    const more = children.length - visible.length;
    if (more > 0) rows.push({ key: `more ${key}`, kind: "more", depth: depth + 1, parent: key, node, isOpen, more });
  };
  for (const root of forest) add(root, 0, undefined);
  return rows;
}

/** The keys from a root down to a node; empty when there is no such node. */
function wayTo(nodes: readonly TreeNode[], key: string): string[] {
  for (const node of nodes) {
    if (node.key === key) return [key];
    const way = wayTo(node.children, key);
    if (way.length > 0) return [node.key, ...way];
  }
  return [];
}

/** The rows above one up to its root, and itself: what lights up together. */
export function chainOf(rows: readonly TreeRow[], key: string | undefined): Set<string> {
  const byKey = new Map(rows.map((row) => [row.key, row]));
  const chain = new Set<string>();
  for (let row = byKey.get(key ?? ""); row !== undefined; row = byKey.get(row.parent ?? "")) chain.add(row.key);
  return chain;
}

/** What a key does in the tree: where the focus goes, or which node opens or closes. */
export function moveIn(
  rows: readonly TreeRow[],
  at: string,
  key: string,
): { focus: string } | { toggle: string } | undefined {
  const place = rows.findIndex((row) => row.key === at);
  const row = rows[place];
  if (row === undefined) return undefined;
  const hasChildren = row.kind !== "more" && row.node.children.length > 0;
  const to = (target: string | undefined) => (target === undefined ? undefined : { focus: target });
  switch (key) {
    case "ArrowDown":
      return to(rows[place + 1]?.key);
    case "ArrowUp":
      return to(rows[place - 1]?.key);
    case "Home":
      return to(rows[0]?.key);
    case "End":
      return to(rows.at(-1)?.key);
    case "ArrowRight":
      if (!hasChildren) return undefined;
      return row.isOpen ? to(rows[place + 1]?.key) : { toggle: at };
    case "ArrowLeft":
      return hasChildren && row.isOpen ? { toggle: at } : to(row.parent);
    default:
      return undefined;
  }
}

/** The text beside the name of a grant: whether it needs approval, and its state unless it is live. */
export function marksOf({ grant, state }: GrantEntry): string {
  return [needsApproval(grant) && "needs approval", state !== "live" && state].filter(Boolean).join(" · ");
}

/** The line below the name of a node. */
export function lineOf({ kind, entry, below }: TreeNode): string {
  if (entry !== undefined) return grantText(entry.grant);
  return kind === "issuer" ? `issuer · ${below} ${below === 1 ? "grant" : "grants"}` : "not read";
}

/** The label that a screen reader reads for a row: the visible texts in their order, then what the picture shows by other means. */
export function rowLabel({ kind, node, more }: TreeRow): string {
  if (kind === "more") return `${more} more`;
  const { title, entry, below, isContext } = node;
  if (entry === undefined) return `${title} ${lineOf(node)}`;
  const seen = [title, marksOf(entry), lineOf(node)].filter((part) => part !== "").join(" ");
  const state = entry.state === "live" ? ", live" : "";
  const filter = isContext ? ", does not match the filter" : "";
  return `${seen}${state}${filter}, grant ${entry.grant.id}${below === 0 ? "" : `, ${below} below`}`;
}
