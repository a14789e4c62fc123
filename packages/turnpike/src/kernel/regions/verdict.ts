import { areFree, type Box, type Side } from "./box.ts";
import type { Terms } from "./region.ts";

/** What becomes of some requests, and on which terms. */
export interface Verdict {
  kind: "opened" | "closed" | "changed";
  terms: readonly Terms[];
  was: readonly Terms[];
  /** Equal for equal verdicts. */
  key: string;
}

/** The ids of grants that carry some requests, and whether each carries some of them without a person's approval. */
export type Carriers = ReadonlyMap<string, boolean>;

/** The verdict on requests that all of these boxes carry; undefined when nothing changes for them. */
export function verdictOn(boxes: readonly Box[]): { verdict: Verdict; by: Carriers } | undefined {
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

interface Carried {
  terms: readonly Terms[];
  by: Carriers;
  key: string;
}

const none: Carried = { terms: [], by: new Map(), key: "" };

function carriersOf(boxes: readonly Box[], side: Side): Carried {
  const carrying = boxes.filter((box) => box[side].length > 0);
  const [first] = carrying;
  if (first === undefined) return none;
  const by = new Map<string, boolean>();
  for (const { terms, [side]: ids } of carrying)
    for (const id of ids) by.set(id, terms.approval === undefined || by.get(id) === true);
  if (carrying.length === 1) return { terms: [first.terms], by, key: keyOf(first.terms) };
  if (carrying.some((box) => areFree(box.terms))) return { terms: [{}], by, key: "{}" };
  const terms = new Map<string, Terms>();
  for (const box of carrying) {
    // A grant that carries an act by one of its capabilities without an approval needs none for it.
    const isOwn = box.terms.approval === undefined || box[side].some((id) => by.get(id) !== true);
    if (isOwn) terms.set(keyOf(box.terms), box.terms);
  }
  const keys = [...terms.keys()].toSorted();
  return { terms: keys.map((key) => terms.get(key) as Terms), by, key: keys.join() };
}

function keyOf(terms: Terms): string {
  return areFree(terms) ? "{}" : JSON.stringify(terms);
}
