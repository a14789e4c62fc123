import { AmountsSchema, type AccessContext, type Amount, type JsonObject } from "../contracts/index.ts";
import { check, neverAborted, quietly, timestampOf } from "../internal/index.ts";
import { readAmount, writeAmount } from "./amounts.ts";
import {
  leftOf,
  type BudgetStore,
  type BudgetSum,
  type Reservation,
  type Reserved,
  type Spent,
} from "./budget-store.ts";
import { budgetWindow } from "./budget-window.ts";
import { narrowest, type GrantBudget } from "./budgets.ts";
import { callPort, reportPortError, type Ports } from "./call-port.ts";
import type { PortFailure } from "./ports.ts";
import type { Refusal } from "./refusal.ts";

/** What an act says that it costs; undefined when it names no amounts, or none that can be read. */
export type Spends = () => readonly Amount[] | undefined;

/** Reads what an act says that it costs, once, and only when a grant with budgets asks for it. What throws or fits no amounts says nothing. */
export function spendsOnce(ports: Ports, failure: PortFailure, read: () => unknown): Spends {
  let known: { amounts: readonly Amount[] | undefined } | undefined;
  return () => (known ??= { amounts: readSpends(ports, failure, read) }).amounts;
}

function readSpends(ports: Ports, failure: PortFailure, read: () => unknown): readonly Amount[] | undefined {
  let said: unknown;
  try {
    said = read();
    if (said === undefined) return undefined;
    const checked = check(AmountsSchema, said);
    if (checked.ok) return checked.value;
    throw new TypeError(`The amounts cannot be used: ${checked.message}`);
  } catch (error) {
    // A promise that is returned by mistake may reject.
    quietly(() => said);
    reportPortError(ports, error, failure);
    return undefined;
  }
}

/** The amounts in millionths by their units, those of one unit added. */
export function sumsOf(amounts: readonly Amount[]): ReadonlyMap<string, bigint> {
  const sums = new Map<string, bigint>();
  for (const { unit, amount } of amounts) sums.set(unit, (sums.get(unit) ?? 0n) + readAmount(amount));
  return sums;
}

/** What an act takes from one budget. */
interface Draw extends GrantBudget {
  readonly amount: bigint;
}

/** Everything that an act takes under a grant; undefined for nothing. */
export type Draws = readonly [Draw, ...Draw[]] | undefined;

/** What an act takes from the budgets of a grant and of those above it, or why the grant cannot carry it. */
export function drawsFrom(
  { budgets: store }: Ports,
  budgets: readonly GrantBudget[],
  spends: Spends | undefined,
): { draws: Draws } | { refusal: Refusal } {
  if (budgets.length === 0) return { draws: undefined };
  if (store === undefined) return { refusal: "budget_store_unavailable" };
  const amounts = spends?.() ?? [];
  if (amounts.length === 0) return { refusal: "amount_required" };
  const sums = sumsOf(amounts);
  const draws = narrowest(budgets).flatMap((budget) => {
    const amount = sums.get(budget.unit);
    return amount === undefined ? [] : [{ ...budget, amount }];
  });
  // In the order of the act, so that a shortage is of the first unit that is short.
  const units = [...sums.keys()];
  const [first, ...others] = draws.toSorted((one, other) => units.indexOf(one.unit) - units.indexOf(other.unit));
  return first === undefined ? { refusal: "budget_unit" } : { draws: [first, ...others] };
}

/** Whether the amounts of an act fit into what is left under a grant, and what its caller is told of that. */
interface Fit {
  fits: boolean;
  details: JsonObject;
}

/** Compares an act with what is left now; undefined when that is unknown. Takes nothing. */
export async function fitOf(
  ports: Ports,
  grantId: string,
  draws: readonly [Draw, ...Draw[]],
  context: Pick<AccessContext, "now">,
  signal: AbortSignal,
): Promise<Fit | undefined> {
  const sums = await readSums(ports, draws, context, signal);
  if (sums === undefined) return undefined;
  const short = draws.find((draw, place) => !isWithin(draw, sums[place] as BudgetSum));
  return { fits: short === undefined, details: detailsOf(grantId, short ?? draws[0], draws, sums) };
}

function isWithin({ amount, each, limit }: Draw, { taken }: BudgetSum): boolean {
  return amount <= each && amount <= leftOf(limit, taken);
}

/** Whether the act asks for more than one act may take, however much is left. */
export function exceedsEach(draws: readonly Draw[]): boolean {
  return draws.some(({ amount, each }) => amount > each);
}

async function readSums(
  ports: Ports,
  draws: readonly Draw[],
  { now }: Pick<AccessContext, "now">,
  signal: AbortSignal,
): Promise<readonly BudgetSum[] | undefined> {
  const read = (store: BudgetStore): Promise<readonly BudgetSum[]> => store.read(draws, now);
  const answer = await callStore(ports, signal, read, (sums) => readAll(sums, draws.length));
  return answer.ok ? answer.value : undefined;
}

/** What the caller is told: the least that is left of the unit under the grant that was tried, in which window, but of no grant above it. */
function detailsOf(
  grantId: string,
  { unit, amount }: Draw,
  draws: readonly Draw[],
  sums: readonly BudgetSum[],
): JsonObject {
  const ofUnit = draws.flatMap((draw, place) => {
    if (draw.unit !== unit) return [];
    const { taken, window } = sums[place] as BudgetSum;
    return [{ left: leftOf(draw.limit, taken), end: budgetWindow(draw.per, window).end ?? Infinity }];
  });
  // Of windows with as little left, the one that ends last: there is no more before.
  const least = ofUnit.reduce((best, one) =>
    one.left < best.left || (one.left === best.left && one.end > best.end) ? one : best,
  );
  const { left, end } = least;
  const resets = end === Infinity ? {} : { resetsAt: timestampOf(end) };
  return { unit, asked: writeAmount(amount), left: writeAmount(left), ...resets, grantId };
}

/** The reservations of an act. It takes its amounts once from each budget, however many grants below it carry the act. */
export function reservationsOf(draws: readonly Draw[]): Reservation[] {
  const distinct = new Map<string, Reservation>();
  for (const { namespaceId, grantId, unit, per, limit, amount } of draws)
    distinct.set(JSON.stringify([grantId, unit, per]), { namespaceId, grantId, unit, per, limit, amount });
  return [...distinct.values()];
}

export function reservedUnder(id: string, draws: readonly [Draw, ...Draw[]]): Reserved {
  return { namespaceId: draws[0].namespaceId, id, units: new Set(draws.map(({ unit }) => unit)) };
}

/** Reserves all of these amounts: undefined when that is unknown, and false when they do not fit. */
export async function reserve(
  ports: Ports,
  draws: readonly [Draw, ...Draw[]],
  { now }: Pick<AccessContext, "now">,
): Promise<Reserved | false | undefined> {
  const reserved = reservedUnder(crypto.randomUUID(), draws);
  const take = (store: BudgetStore): Promise<boolean> => store.reserve(reserved.id, reservationsOf(draws), now);
  // A reservation that is being made cannot be called back, so its end is waited for.
  const answer = await callStore(ports, neverAborted(), take, (said) => {
    if (typeof said === "boolean") return said;
    throw new TypeError("The store of budgets gave no usable answer.");
  });
  if (answer.ok) return answer.value && reserved;
  await release(ports, reserved);
  return undefined;
}

/** Gives back all that was reserved for an act that did not happen. */
export function release(ports: Ports, reserved: Reserved): Promise<void> {
  return settle(ports, reserved, nothingOf(reserved));
}

/** That nothing was spent of what was reserved. */
export function nothingOf({ units }: Reserved): Spent {
  return new Map([...units].map((unit) => [unit, 0n]));
}

/** What an effect says that it cost. When that is no amounts of reserved units, it cost all that was reserved. */
export function spentIn(ports: Ports, failure: PortFailure, { units }: Reserved, read: () => unknown): Spent {
  const amounts = readSpends(ports, failure, read) ?? [];
  const foreign = amounts.find(({ unit }) => !units.has(unit));
  if (foreign === undefined) return sumsOf(amounts);
  reportPortError(
    ports,
    new TypeError(`Nothing was reserved in ${foreign.unit}, so nothing can be spent in it.`),
    failure,
  );
  return new Map();
}

/** Gives back what was reserved when nothing comes of it. */
export async function withRelease<T>(
  ports: Ports,
  reserved: Reserved | undefined,
  work: () => Promise<T | undefined>,
): Promise<T | undefined> {
  let done: T | undefined;
  try {
    done = await work();
  } finally {
    if (done === undefined && reserved !== undefined) await release(ports, reserved);
  }
  return done;
}

/** Replaces what was reserved by what was spent. When the store does not answer, it stays reserved. */
export async function settle(ports: Ports, { namespaceId, id }: Reserved, spent: Spent): Promise<void> {
  await callStore(
    ports,
    neverAborted(),
    (store) => store.settle(namespaceId, id, spent),
    () => undefined,
  );
}

async function callStore<Said, T>(
  ports: Ports,
  signal: AbortSignal,
  call: (store: BudgetStore) => Promise<Said>,
  read: (said: Said) => T,
): ReturnType<typeof callPort<Said, T>> {
  signal.throwIfAborted();
  const { budgets: store } = ports;
  return store === undefined ? { ok: false } : callPort(ports, { port: "budgets" }, signal, () => call(store), read);
}

function readAll(sums: readonly BudgetSum[], count: number): readonly BudgetSum[] {
  const isUsable = (sum: BudgetSum | undefined): boolean =>
    typeof sum?.taken === "bigint" && sum.taken >= 0n && Number.isSafeInteger(sum.window);
  if (Array.isArray(sums) && sums.length === count && sums.every(isUsable)) return sums;
  throw new TypeError("The store of budgets gave no usable answer.");
}
