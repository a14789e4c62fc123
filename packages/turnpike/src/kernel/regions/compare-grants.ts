import type { Grant } from "../../contracts/index.ts";
import { parseInstant } from "../../internal/index.ts";
import { addHolding, type BoxGroup } from "./box.ts";
import { dimensions, divide, findOpened, type Allowance, type Piece } from "./divide.ts";
import { holdingsOf } from "./holding.ts";
import { InstantTexts } from "./instant-texts.ts";
import { regionOf } from "./region-of.ts";
import type { GrantComparison } from "./region.ts";
import { isWider } from "./verdict.ts";

/** How many regions an answer has at most, but for one that shows that something opened. */
const maxRegions = 10_000;
/** How many pieces are made before they are joined to regions. */
const maxPieces = 200_000;

export interface ComparisonOptions {
  /** Only requests at this instant or later. */
  at?: string;
}

/**
 * What becomes of all requests when the grants of a tenant change from one list to another: an exact answer, by the rules of the
 * kernel's decisions. Chains are walked within each list, and counts are taken as unspent. Throws a `TypeError` for grants of
 * several tenants, or that do not fit the contract.
 *
 * @example
 * import { compareGrants } from "turnpike/kernel";
 *
 * const { opened, closed } = compareGrants([], [grant]);
 * console.log(opened[0]?.path, opened[0]?.actions, closed.length); // [] [ 'read' ] 0
 */
export function compareGrants(
  before: readonly Grant[],
  after: readonly Grant[],
  options: ComparisonOptions = {},
): GrantComparison {
  const steps = compareGrantsInSteps(before, after, options);
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
  }
}

/**
 * Like `compareGrants`, in many small steps, so that a process that serves calls may do so between them.
 *
 * @example
 * import { compareGrantsInSteps } from "turnpike/kernel";
 *
 * const steps = compareGrantsInSteps([grant], []);
 * let step = steps.next();
 * while (step.done !== true) step = steps.next();
 * console.log(step.value.closed.length); // 1
 */
export function* compareGrantsInSteps(
  before: readonly Grant[],
  after: readonly Grant[],
  { at }: ComparisonOptions = {},
): Generator<undefined, GrantComparison> {
  const start = at === undefined ? -Infinity : parseInstant(at);
  if (start === undefined) throw new TypeError("Expected `at` to be an RFC 3339 date-time.");
  if (!Array.isArray(before) || !Array.isArray(after)) throw new TypeError("Expected two lists of grants.");
  const tenant = (before[0] ?? after[0])?.namespaceId;
  const texts = new InstantTexts(at);
  const groups = new Map<string, BoxGroup>();
  const sides = [
    ["before", before],
    ["after", after],
  ] as const;
  for (const [side, list] of sides) {
    for (const holding of yield* holdingsOf(list, tenant)) {
      yield;
      texts.learn(holding.grant);
      const from = Math.max(holding.from, start);
      if (from < holding.until) addHolding(groups, side, { holding, from });
    }
  }
  return yield* compareGroups(groups, texts);
}

function* compareGroups(
  groups: ReadonlyMap<string, BoxGroup>,
  texts: InstantTexts,
): Generator<undefined, GrantComparison> {
  const answer: GrantComparison = { opened: [], closed: [], changed: [] };
  const allowance: Allowance = { pieces: maxPieces };
  const ordered = [...groups].toSorted(([one], [other]) => (one < other ? -1 : 1)).map(([, group]) => group);
  let room = maxRegions;
  for (const group of ordered) {
    const pieces = yield* divide(group.boxes, dimensions, allowance);
    for (const piece of pieces.slice(0, room)) addRegion(answer, group, piece, texts);
    room -= Math.min(room, pieces.length);
    if (allowance.pieces > 0 && (room > 0 || pieces.length === 0)) continue;
    answer.more = true;
    break;
  }
  if (answer.more !== true || answer.opened.length > 0) return answer;
  for (const group of ordered) {
    const piece = yield* findOpened(group.boxes, dimensions);
    if (piece === undefined) continue;
    addRegion(answer, group, piece, texts);
    break;
  }
  return answer;
}

function addRegion(answer: GrantComparison, group: BoxGroup, piece: Piece, texts: InstantTexts): void {
  const { verdict } = piece;
  const region = regionOf(group, piece, texts);
  if (verdict.kind !== "changed") return void answer[verdict.kind].push(region);
  const was = verdict.was.map((terms) => ({ ...terms }));
  answer.changed.push({ ...region, was, ...(isWider(verdict) && { wider: true }) });
}
