import { principalKey, type Capability, type PrincipalRef, type Scope } from "../../contracts/index.ts";
import { asBudgets } from "../budgets.ts";
import type { Holding } from "./holding.ts";
import type { Terms } from "./region.ts";

/** Everything that capabilities of equal content carry, on the same terms. An absent set means every value. */
export interface Box {
  path: readonly string[];
  scope: Scope;
  owner: ReadonlySet<string> | undefined;
  actions: ReadonlySet<string> | undefined;
  purposes: ReadonlySet<string> | undefined;
  from: number;
  until: number;
  terms: Terms;
  /** The grants that have it before, and after. */
  before: readonly string[];
  after: readonly string[];
}

/** Whether the box is there only before, or only after: requests outside of such boxes are decided as before. */
export function isChanged({ before, after }: Box): boolean {
  return before.length === 0 || after.length === 0;
}

/** What a grant asks for when this capability of it carries an act. */
function termsOf({ grant, budgets }: Holding, { approval }: Capability): Terms {
  const { maxUses } = grant.constraints;
  return {
    ...(approval !== undefined && { approval }),
    ...(maxUses !== undefined && { maxUses }),
    ...(budgets.length > 0 && { budgets: asBudgets(budgets) }),
  };
}

/** Whether such terms let everything happen at once, always. */
export function areFree(terms: Terms): boolean {
  return Object.keys(terms).length === 0;
}

export type Side = "before" | "after";

interface OpenBox extends Box {
  before: string[];
  after: string[];
}

/** Who acts, and on whose grants. */
export interface Holder {
  subject: PrincipalRef;
  authority: PrincipalRef;
}

/** The boxes of one subject, authority and resource namespace. */
export class BoxGroup {
  readonly holder: Holder;
  readonly namespace: string;
  readonly #boxes = new Map<string, OpenBox>();

  constructor(holder: Holder, namespace: string) {
    this.holder = holder;
    this.namespace = namespace;
  }

  get boxes(): Box[] {
    return [...this.#boxes.values()];
  }

  add(side: Side, holding: Holding, capability: Capability, from: number): void {
    const { grant, until } = holding;
    const { resource, scope } = capability;
    const owner = resource.owner && principalKey(resource.owner);
    const actions = capability.actions.includes("*") ? undefined : ascending(capability.actions);
    const purposes = grant.constraints.purposes && ascending(grant.constraints.purposes);
    const terms = termsOf(holding, capability);
    // JSON writes what is unbounded as null, which is unambiguous: `from` is never Infinity, and `until` never -Infinity.
    const key = JSON.stringify([resource.path, scope, owner, actions, purposes, from, until, terms]);
    let box = this.#boxes.get(key);
    if (box === undefined) {
      box = {
        path: resource.path,
        scope,
        owner: owner === undefined ? undefined : new Set([owner]),
        actions: actions && new Set(actions),
        purposes: purposes && new Set(purposes),
        from,
        until,
        terms,
        before: [],
        after: [],
      };
      this.#boxes.set(key, box);
    }
    if (box[side].at(-1) !== grant.id) box[side].push(grant.id);
  }
}

function ascending(names: readonly string[]): readonly string[] {
  return names.length === 1 ? names : [...new Set(names)].toSorted();
}

/** What is sorted into groups: some capabilities of a holding, its own unless others are given, from an instant on. */
interface HoldingPart {
  holding: Holding;
  from: number;
  holder?: Holder;
  capabilities?: readonly Capability[];
}

/** Sorts what holdings carry into groups between which nothing overlaps. */
export function addHolding(groups: Map<string, BoxGroup>, side: Side, part: HoldingPart): void {
  const { holding, from } = part;
  const { subject, issuer } = holding.grant;
  const { holder = { subject, authority: issuer }, capabilities = holding.grant.capabilities } = part;
  const holderKey = JSON.stringify([principalKey(holder.subject), principalKey(holder.authority)]);
  for (const capability of capabilities) {
    const { namespace } = capability.resource;
    const key = `${holderKey}${namespace}`;
    let group = groups.get(key);
    if (group === undefined) groups.set(key, (group = new BoxGroup(holder, namespace)));
    group.add(side, holding, capability, from);
  }
}
