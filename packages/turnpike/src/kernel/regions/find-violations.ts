import { principalKey, type Capability, type Grant, type PrincipalRef } from "../../contracts/index.ts";
import { parseInstant } from "../../internal/index.ts";
import { isAtOrBelow } from "../match.ts";
import { holdingsOf, type Holding } from "./holding.ts";
import { InstantTexts } from "./instant-texts.ts";
import type { Counterexample, Invariant, NeverRule, RuledActs, Violation, Violations } from "./invariant.ts";

/** How many violations an answer has at most. */
const maxViolations = 100;

/** For a grant that is good for any purpose: at least one of them is not the purpose that a rule allows. */
const anyPurposes = ["any", "other"];

export interface ViolationOptions {
  /** From this instant on. */
  at: string;
  /** Only violations in which one of these grants has a part: itself, or above another. All of them without it. */
  by?: ReadonlySet<string> | undefined;
}

/**
 * Which rules are broken by what grants of one tenant allow from an instant on: exactly, by the rules of the kernel's decisions, with
 * requests that show it. Chains are walked within the list, and uses are taken as unspent. It goes in small steps, like
 * `compareGrantsInSteps`, and throws a `TypeError` for grants of several tenants, and for grants or rules that do not fit the contract.
 *
 * @example
 * import { findViolationsInSteps } from "turnpike/kernel";
 *
 * const rule = { id: "no-agents", never: { subject: "agent:*", resource: "notes" } };
 * const steps = findViolationsInSteps([grant], [rule], { at: context.now });
 * let step = steps.next();
 * while (step.done !== true) step = steps.next();
 * console.log(step.value.violations[0]?.grantIds); // [ 'grant-1' ]
 */
export function* findViolationsInSteps(
  grants: readonly Grant[],
  invariants: readonly Invariant[],
  { at, by }: ViolationOptions,
): Generator<undefined, Violations> {
  const start = parseInstant(at);
  if (start === undefined) throw new TypeError("Expected `at` to be an RFC 3339 date-time.");
  const rules = invariants.map(compileRule);
  const texts = new InstantTexts(at);
  const active: ActiveHolding[] = [];
  const parents = new Map<string, string | undefined>();
  for (const holding of yield* holdingsOf(grants, grants[0]?.namespaceId)) {
    yield;
    texts.learn(holding.grant);
    parents.set(holding.grant.id, holding.grant.parentId);
    const from = Math.max(holding.from, start);
    if (from >= holding.until) continue;
    active.push({ ...holding, from, isChanged: by === undefined });
  }
  if (by !== undefined) for (const holding of active) holding.isChanged = restsOn(holding.grant.id, by, parents);
  const answer: Violations = { violations: [] };
  for (const { id, find } of rules) {
    for (const shares of find(active)) {
      yield;
      if (shares === undefined) continue;
      if (answer.violations.length === maxViolations) return { ...answer, more: true };
      answer.violations.push(violationOf(id, shares, texts));
    }
  }
  return answer;
}

/** A grant that counts, from the instant of the question on. */
interface ActiveHolding extends Holding {
  /** Whether it is one of those whose part in a violation is asked for. */
  isChanged: boolean;
}

/** A request that a grant carries. */
interface Share {
  holding: ActiveHolding;
  path: readonly string[];
  capability: Capability;
  action: string | undefined;
  purpose: string;
}

/** A rule, and how it finds what breaks it: the requests of a violation, or undefined after a step that found none. */
interface CompiledRule {
  id: string;
  find(active: readonly ActiveHolding[]): Iterable<readonly Share[] | undefined>;
}

function compileRule({ id, never, only, separate }: Invariant): CompiledRule {
  if (never !== undefined) {
    const acts = compileActs(never);
    return {
      id,
      find: (active) => findSingle(active, acts, (grant, { approval }) => brokenNever(never, grant, approval)),
    };
  }
  if (only !== undefined) {
    const { subjects } = only;
    const breaking = ({ subject, constraints }: Grant): string | undefined =>
      subjects.some((pattern) => fitsPrincipal(pattern, subject))
        ? undefined
        : (constraints.purposes ?? anyPurposes)[0];
    return { id, find: (active) => findSingle(active, compileActs(only), breaking) };
  }
  if (separate === undefined) throw new TypeError(`The rule ${JSON.stringify(id)} has no form.`);
  const [one, other, ...more] = separate.acts.map(compileActs);
  if (one === undefined || other === undefined || more.length > 0)
    throw new TypeError(`The rule ${JSON.stringify(id)} separates ${separate.acts.length} acts, and not two.`);
  return { id, find: (active) => findPairs(active, one, other) };
}

interface CompiledActs {
  action: string | undefined;
  namespace: string;
  path: readonly string[];
}

function compileActs({ action, resource }: RuledActs): CompiledActs {
  const [namespace = "", ...path] = resource.split("/");
  if (namespace === "" || path.includes(""))
    throw new TypeError(`Expected a namespace and a path, such as files/notes, and not ${JSON.stringify(resource)}.`);
  return { action, namespace, path };
}

/** Whether a principal is meant by `kind:id` or `kind:*`. */
function fitsPrincipal(pattern: string, principal: PrincipalRef): boolean {
  return pattern === principalKey(principal) || pattern === `${principal.kind}:*`;
}

/** The purpose of a request that breaks the rule; undefined when a grant carries none there. */
function brokenNever(
  { subject, unless }: NeverRule,
  { subject: holder, issuer, constraints }: Grant,
  approval: Capability["approval"],
): string | undefined {
  if (subject !== undefined && !fitsPrincipal(subject, holder)) return undefined;
  const { purposes = anyPurposes } = constraints;
  if (unless === undefined) return purposes[0];
  if (unless.approval !== undefined && approval === undefined) return purposes[0];
  if (unless.authority !== undefined && !fitsPrincipal(unless.authority, issuer)) return purposes[0];
  return unless.purpose === undefined ? undefined : purposes.find((purpose) => purpose !== unless.purpose);
}

/** One violation for each grant that breaks a rule by itself. */
function* findSingle(
  active: readonly ActiveHolding[],
  acts: CompiledActs,
  breaking: (grant: Grant, capability: Capability) => string | undefined,
): Generator<readonly Share[] | undefined> {
  for (const holding of active) yield holding.isChanged ? singleOf(holding, acts, breaking) : undefined;
}

function singleOf(
  holding: ActiveHolding,
  acts: CompiledActs,
  breaking: (grant: Grant, capability: Capability) => string | undefined,
): readonly Share[] | undefined {
  for (const capability of holding.grant.capabilities) {
    const path = meetingPath(capability, acts);
    if (path === undefined) continue;
    const purpose = breaking(holding.grant, capability);
    if (purpose !== undefined) return [{ holding, path, capability, action: acts.action, purpose }];
  }
  return undefined;
}

/** A path at which the capability carries some of the acts; undefined when it carries none of them. */
function meetingPath(
  { resource, scope, actions }: Capability,
  { action, namespace, path }: CompiledActs,
): readonly string[] | undefined {
  if (resource.namespace !== namespace) return undefined;
  if (action !== undefined && !actions.includes(action) && !actions.includes("*")) return undefined;
  if (isAtOrBelow(resource.path, path)) return resource.path;
  return scope === "descendants" && isAtOrBelow(path, resource.path) ? path : undefined;
}

/** What one principal may do of the two acts that a rule separates. */
interface Sides {
  one: Share[];
  other: Share[];
}

/** One violation for each principal who may do both at one instant. */
function* findPairs(
  active: readonly ActiveHolding[],
  one: CompiledActs,
  other: CompiledActs,
): Generator<readonly Share[] | undefined> {
  const bySubject = new Map<string, Sides>();
  for (const holding of active) {
    yield undefined;
    const key = principalKey(holding.grant.subject);
    let sides = bySubject.get(key);
    if (sides === undefined) bySubject.set(key, (sides = { one: [], other: [] }));
    for (const [side, acts] of [
      [sides.one, one],
      [sides.other, other],
    ] as const) {
      const share = singleOf(holding, acts, ({ constraints }) => (constraints.purposes ?? anyPurposes)[0]);
      if (share !== undefined) side.push(...share);
    }
  }
  const isChanged = ({ holding }: Share): boolean => holding.isChanged;
  for (const sides of bySubject.values())
    yield (
      meetingShares(sides.one.filter(isChanged), sides.other) ?? meetingShares(sides.one, sides.other.filter(isChanged))
    );
}

/** A share of each side that count at one instant; undefined when no two do. */
function meetingShares(one: readonly Share[], other: readonly Share[]): readonly Share[] | undefined {
  const ordered = [...one.map((share) => ({ share, side: 0 })), ...other.map((share) => ({ share, side: 1 }))].toSorted(
    (left, right) => left.share.holding.from - right.share.holding.from,
  );
  /** Of each side, the share so far that counts for longest. */
  const longest: (Share | undefined)[] = [undefined, undefined];
  for (const { share, side } of ordered) {
    const met = longest[1 - side];
    if (met !== undefined && met.holding.until > share.holding.from) return side === 0 ? [share, met] : [met, share];
    if (share.holding.until > (longest[side]?.holding.until ?? -Infinity)) longest[side] = share;
  }
  return undefined;
}

/** Whether a grant, or one above it, is among these. */
function restsOn(id: string, ids: ReadonlySet<string>, parents: ReadonlyMap<string, string | undefined>): boolean {
  for (let one: string | undefined = id; one !== undefined; one = parents.get(one)) if (ids.has(one)) return true;
  return false;
}

function violationOf(invariant: string, shares: readonly Share[], texts: InstantTexts): Violation {
  const from = Math.max(...shares.map(({ holding }) => holding.from));
  // Every instant that bounds a grant of the list was learned.
  const at = texts.of(from) as string;
  return {
    invariant,
    grantIds: [...new Set(shares.map(({ holding }) => holding.grant.id))],
    counterexample: shares.map((share) => counterexampleOf(share, at)),
  };
}

function counterexampleOf({ holding, path, capability, action, purpose }: Share, at: string): Counterexample {
  const { namespaceId, subject, issuer } = holding.grant;
  const { resource, actions } = capability;
  return {
    namespaceId,
    actor: subject,
    authority: issuer,
    owner: resource.owner ?? issuer,
    purpose,
    action: action ?? actions.find((one) => one !== "*") ?? "read",
    resource: { namespace: resource.namespace, path: [...path] },
    at,
  };
}
