import { samePrincipal, type Capability, type Grant, type PrincipalRef } from "../../contracts/index.ts";
import { parseInstant } from "../../internal/index.ts";
import { maxDelegationLinks } from "../chain.ts";
import { isAtOrBelow } from "../match.ts";
import { addHolding, type BoxGroup, type Holder } from "./box.ts";
import { dimensions, divide, type Allowance, type Piece } from "./divide.ts";
import { holdingsOf, type Holding } from "./holding.ts";
import { InstantTexts } from "./instant-texts.ts";
import { regionOf } from "./region-of.ts";
import type { Region } from "./region.ts";
import { isWider, type Carriers } from "./verdict.ts";

const [maxRegions, maxPieces] = [10_000, 200_000];

/** Whose reach, or the reach to what place. */
export interface EverQuestion {
  /** From this instant on. */
  at: string;
  /** Who acts; every principal without it. */
  actor?: PrincipalRef | undefined;
  /** Where; everywhere without it. */
  place?: { namespace: string; path: readonly string[] } | undefined;
  action?: string | undefined;
  /** Grants that were requested, and that are issued once a person approves. */
  requested?: readonly Grant[];
}

/** Requests that could be carried: by a grant that is held, by one that its holder may hand on, or after a person's approval. */
export interface EverRegion extends Omit<Region, "subject"> {
  /** Who acts; `*` is any principal, as the holder chooses. */
  subject: PrincipalRef | "*";
  how: "held" | "derived" | "approval";
  /** The shortest chain of grants that leads there, from the first to the last. */
  way: string[];
}

/** What could ever be reached. */
export interface EverReach {
  reach: EverRegion[];
  /** There are more regions than these. */
  more?: true | undefined;
}

/**
 * Everything that a principal could ever do, or all who could ever reach a place, as the grants are: what is held now or
 * later, what holders may hand on, and what waits for a person's approval. It goes in small steps, like `compareGrantsInSteps`, and throws
 * the same errors.
 *
 * @example
 * import { everReachInSteps } from "turnpike/kernel";
 *
 * const steps = everReachInSteps([grant], { at: context.now, actor: grant.subject });
 * let step = steps.next();
 * while (step.done !== true) step = steps.next();
 * console.log(step.value.reach[0]?.how, step.value.reach[0]?.way); // held [ 'grant-1' ]
 */
export function* everReachInSteps(
  grants: readonly Grant[],
  { at, actor, place, action, requested = [] }: EverQuestion,
): Generator<undefined, EverReach> {
  const start = parseInstant(at);
  if (start === undefined) throw new TypeError("Expected `at` to be an RFC 3339 date-time.");
  if (!Array.isArray(grants)) throw new TypeError("Expected a list of grants.");
  const tenant = (grants[0] ?? requested[0])?.namespaceId;
  const texts = new InstantTexts(at);
  const held = new Map<string, BoxGroup>();
  const handedOn = new Map<string, BoxGroup>();
  const asked = new Map<string, BoxGroup>();
  const holdings = new Map<string, Holding>();
  const isActor = ({ grant }: Holding): boolean => actor === undefined || samePrincipal(grant.subject, actor);
  const partOf = (holding: Holding) => {
    texts.learn(holding.grant);
    const capabilities = holding.grant.capabilities.flatMap((one) => narrowed(one, place, action));
    return { holding, from: Math.max(holding.from, start), capabilities };
  };
  for (const holding of yield* holdingsOf(grants, tenant)) {
    yield;
    holdings.set(holding.grant.id, holding);
    const part = partOf(holding);
    if (part.from >= holding.until) continue;
    if (isActor(holding)) {
      addHolding(held, "after", part);
      // What is held need not be handed on.
      if (actor !== undefined) for (const side of ["before", "after"] as const) addHolding(handedOn, side, part);
    }
    const authority = holding.grant.subject;
    const holder: Holder = { subject: actor ?? authority, authority };
    if (mayBeHandedOn(holding)) addHolding(handedOn, "after", { ...part, holder });
  }
  for (const holding of yield* holdingsOf(requested, tenant))
    if (isActor(holding)) addHolding(asked, "after", partOf(holding));

  const answer: EverReach = { reach: [] };
  const allowance: Allowance = { pieces: maxPieces };
  const add = function* (groups: ReadonlyMap<string, BoxGroup>, howOf: HowOf): Generator<undefined> {
    const ordered = [...groups].toSorted(([one], [other]) => (one < other ? -1 : 1));
    for (const [, group] of ordered) {
      for (const piece of yield* divide(group.boxes, dimensions, allowance)) {
        const how = howOf(piece);
        if (how === undefined) continue;
        if (answer.reach.length === maxRegions) return void (answer.more = true);
        const region = regionOf(group, piece, texts);
        const subject = how === "derived" && actor === undefined ? "*" : region.subject;
        answer.reach.push({ ...region, subject, how, way: wayTo(piece.by, holdings) });
      }
    }
    if (allowance.pieces <= 0) answer.more = true;
  };
  yield* add(held, ({ verdict }) =>
    verdict.terms.every(({ approval }) => approval !== undefined) ? "approval" : "held",
  );
  yield* add(handedOn, ({ verdict }) => (verdict.kind === "opened" || isWider(verdict) ? "derived" : undefined));
  yield* add(asked, () => "approval");
  return answer;
}

type HowOf = (piece: Piece) => EverRegion["how"] | undefined;

/** Whether its holder may issue a grant under it that counts. */
function mayBeHandedOn({ grant: { constraints }, links }: Holding): boolean {
  return (constraints.delegationDepth ?? 0) >= 1 && constraints.maxUses === undefined && links < maxDelegationLinks;
}

/** The capability at the place and for the action alone; none when it does not cover them. */
function narrowed(capability: Capability, place: EverQuestion["place"], action: string | undefined): Capability[] {
  const { resource, actions, scope } = capability;
  const isCovered =
    place === undefined ||
    (resource.namespace === place.namespace &&
      isAtOrBelow(place.path, resource.path) &&
      (scope === "descendants" || resource.path.length === place.path.length));
  if (!isCovered || (action !== undefined && !actions.includes(action) && !actions.includes("*"))) return [];
  return [
    {
      ...capability,
      ...(place && { resource: { ...resource, path: [...place.path] }, scope: "exact" }),
      ...(action !== undefined && { actions: [action] }),
    },
  ];
}

/**
 * The shortest of the chains of these grants, with the grant itself. Where one of them needs no approval, it is one of those: to what may
 * be handed on without an approval, a grant that is held and needs one does not lead.
 */
function wayTo(by: Carriers, holdings: ReadonlyMap<string, Holding>): string[] {
  const ids = [...by.keys()].toSorted();
  const atOnce = ids.filter((id) => by.get(id) === true);
  const found = (atOnce.length > 0 ? atOnce : ids).flatMap((id) => holdings.get(id) ?? []);
  let nearest: Holding | undefined;
  for (const holding of found) if (nearest === undefined || holding.links < nearest.links) nearest = holding;
  const way: string[] = [];
  for (let one = nearest; one !== undefined; one = holdings.get(one.grant.parentId ?? "")) way.unshift(one.grant.id);
  return way;
}
