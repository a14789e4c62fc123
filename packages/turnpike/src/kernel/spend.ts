import type { AccessContext, JsonObject } from "../contracts/index.ts";
import type { CompiledGrant } from "./active.ts";
import { callPort, type Ports } from "./call-port.ts";
import type { Permit, UsageStore } from "./ports.ts";
import type { Refusal } from "./refusal.ts";
import { exceedsEach, fitOf, release, reserve, type Draws } from "./spending.ts";
import type { Reserved } from "./budget-store.ts";

/** Everything that an act takes when a grant carries it: a use of a bounded grant, a permit, and amounts of budgets. */
export interface Cost {
  grant: CompiledGrant;
  /** Without its use, for an act that took it already. */
  isUsed: boolean;
  draws: Draws;
  permit?: Permit | undefined;
  context: Pick<AccessContext, "now">;
}

/** What was taken, or could be; or why the grant cannot carry the act. */
export interface Taking {
  refusal?: Refusal | undefined;
  /** What the caller is told of a refusal. */
  details?: JsonObject | undefined;
  reserved?: Reserved | undefined;
}

/** Takes what an act costs, all of it or nothing, or only checks that it is left. */
export interface Spend {
  /** Checks everything but the permit. */
  check(ports: Ports, cost: Cost, signal: AbortSignal): Promise<Taking>;
  take(ports: Ports, cost: Cost, signal: AbortSignal): Promise<Taking>;
}

const check: Spend["check"] = async (ports, { grant, isUsed, draws, context }, signal) => {
  if (draws !== undefined) {
    const fit = await fitOf(ports, grant.grant.id, draws, context, signal);
    if (fit === undefined) return { refusal: "budget_store_unavailable" };
    if (!fit.fits) return { refusal: "budget_exhausted", details: fit.details };
  }
  return grant.maxUses === undefined || isUsed ? {} : { refusal: await checkUse(ports, grant, signal) };
};

const take: Spend["take"] = async (ports, cost, signal) => {
  const { draws, context } = cost;
  signal.throwIfAborted();
  if (draws === undefined) return { refusal: await takeOthers(ports, cost, signal) };
  // The amounts are reserved first, because they alone can be given back when something else is not left.
  const reserved = exceedsEach(draws) ? false : await reserve(ports, draws, context);
  if (reserved === undefined) return { refusal: "budget_store_unavailable" };
  if (reserved === false) return { refusal: "budget_exhausted" };
  try {
    signal.throwIfAborted();
    const refusal = await takeOthers(ports, cost, signal);
    if (refusal === undefined) return { reserved };
    await release(ports, reserved);
    return { refusal };
  } catch (error) {
    await release(ports, reserved);
    throw error;
  }
};

/** The permit is taken before the use, because a use that is taken without the permit is lost. */
async function takeOthers(
  ports: Ports,
  { grant, isUsed, permit }: Cost,
  signal: AbortSignal,
): Promise<Refusal | undefined> {
  const refusal = permit === undefined ? undefined : await takePermit(ports, grant, permit, signal);
  return refusal ?? (grant.maxUses === undefined || isUsed ? undefined : takeUse(ports, grant, signal));
}

/** Checks, and takes nothing. */
export const peek: Spend = { check, take: check };

/** Takes everything. */
export const consume: Spend = { check, take };

/** Checks whether a use is left; takes none. */
export function checkUse(
  ports: Ports,
  { grant, maxUses = 0 }: CompiledGrant,
  signal: AbortSignal,
): Promise<Refusal | undefined> {
  return askUsage(
    ports,
    grant.id,
    signal,
    (usage) => usage.used(grant.namespaceId, grant.id),
    (used) => readCount(used) < maxUses,
  );
}

/** Takes one use, atomically. */
export function takeUse(
  ports: Ports,
  { grant, maxUses = 0 }: CompiledGrant,
  signal: AbortSignal,
): Promise<Refusal | undefined> {
  return askUsage(ports, grant.id, signal, (usage) => usage.consume(grant.namespaceId, grant.id, maxUses), readBoolean);
}

/** Takes the one use of a permit. */
export async function takePermit(
  ports: Ports,
  { grant }: CompiledGrant,
  { id }: Permit,
  signal: AbortSignal,
): Promise<Refusal | undefined> {
  signal.throwIfAborted();
  const { permits } = ports;
  if (permits === undefined) return "permit_store_unavailable";
  const use = (): Promise<unknown> => permits.use(grant.namespaceId, id);
  const answer = await callPort(ports, { port: "permits", id }, signal, use, readBoolean);
  if (!answer.ok) return "permit_store_unavailable";
  return answer.value ? undefined : "approval_required";
}

/** Undefined when a use was left or taken. */
async function askUsage(
  ports: Ports,
  grantId: string,
  signal: AbortSignal,
  call: (usage: UsageStore) => Promise<unknown>,
  read: (said: unknown) => boolean,
): Promise<Refusal | undefined> {
  signal.throwIfAborted();
  const { usage } = ports;
  if (usage === undefined) return "usage_store_unavailable";
  const answer = await callPort(ports, { port: "usage", id: grantId }, signal, () => call(usage), read);
  if (!answer.ok) return "usage_store_unavailable";
  return answer.value ? undefined : "grant_exhausted";
}

function readCount(value: unknown): number {
  if (Number.isSafeInteger(value) && (value as number) >= 0) return value as number;
  throw new TypeError("The usage store gave no usable answer.");
}

function readBoolean(value: unknown): boolean {
  if (typeof value === "boolean") return value;
  throw new TypeError("The usage store gave no usable answer.");
}
