import { areFree, type Box } from "./box.ts";
import type { Terms } from "./region.ts";

/** What becomes of some requests, and on which terms. */
export interface Verdict {
  kind: "opened" | "closed" | "changed";
  terms: readonly Terms[];
  was: readonly Terms[];
  /** Equal for equal verdicts. */
  key: string;
}

/** The verdict on requests that all of these boxes carry; undefined when nothing changes for them. */
export function verdictOn(boxes: readonly Box[]): { verdict: Verdict; by: readonly string[] } | undefined {
  const [was, is] = [carriersOf(boxes, "before"), carriersOf(boxes, "after")];
  if (was.key === is.key) return undefined;
  const key = `${was.key}>${is.key}`;
  if (is.terms.length === 0) return { verdict: { kind: "closed", terms: was.terms, was: [], key }, by: was.by };
  const kind = was.terms.length === 0 ? "opened" : "changed";
  return { verdict: { kind, terms: is.terms, was: was.terms, key }, by: is.by };
}

/** Each act needed a person's approval, and needs none now. */
export function isWider({ was, terms }: Pick<Verdict, "was" | "terms">): boolean {
  return was.every(({ approval }) => approval !== undefined) && terms.some(({ approval }) => approval === undefined);
}

interface Carriers {
  terms: readonly Terms[];
  by: readonly string[];
  key: string;
}

const none: Carriers = { terms: [], by: [], key: "" };

function carriersOf(boxes: readonly Box[], side: "before" | "after"): Carriers {
  const carrying = boxes.filter((box) => box[side].length > 0);
  const [first] = carrying;
  if (first === undefined) return none;
  if (carrying.length === 1) return { terms: [first.terms], by: first[side], key: keyOf(first.terms) };
  const by = [...new Set(carrying.flatMap((box) => box[side]))];
  if (carrying.some((box) => areFree(box.terms))) return { terms: [{}], by, key: "{}" };
  const unguarded = new Set<string>();
  for (const box of carrying) if (box.terms.approval === undefined) for (const id of box[side]) unguarded.add(id);
  const terms = new Map<string, Terms>();
  for (const box of carrying) {
    // A grant that carries an act by one of its capabilities without an approval needs none for it.
    const isOwn = box.terms.approval === undefined || box[side].some((id) => !unguarded.has(id));
    if (isOwn) terms.set(keyOf(box.terms), box.terms);
  }
  const keys = [...terms.keys()].toSorted();
  return { terms: keys.map((key) => terms.get(key) as Terms), by, key: keys.join() };
}

function keyOf(terms: Terms): string {
  return areFree(terms) ? "{}" : JSON.stringify(terms);
}
