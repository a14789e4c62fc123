import type { CompiledGrant } from "./active.ts";
import { callPort, type Ports } from "./call-port.ts";
import type { Permit, UsageStore } from "./ports.ts";
import type { Refusal } from "./refusal.ts";

/** Takes the uses and permits of an act, or only checks that they are left. Each method returns undefined when they are. */
export interface Spend {
  /** Checks whether a use of a bounded grant is left. */
  check(ports: Ports, grant: CompiledGrant, signal: AbortSignal): Promise<Refusal | undefined>;
  /** A use of a bounded grant. */
  use(ports: Ports, grant: CompiledGrant, signal: AbortSignal): Promise<Refusal | undefined>;
  /** The one use of a permit. */
  permit(ports: Ports, grant: CompiledGrant, permit: Permit, signal: AbortSignal): Promise<Refusal | undefined>;
}

/** Checks whether a use is left; takes none. */
const check: Spend["check"] = (ports, { grant, maxUses = 0 }, signal) =>
  askUsage(
    ports,
    grant.id,
    signal,
    (usage) => usage.used(grant.namespaceId, grant.id),
    (used) => readCount(used) < maxUses,
  );

/** Takes one use, atomically. */
const take: Spend["use"] = (ports, { grant, maxUses = 0 }, signal) =>
  askUsage(ports, grant.id, signal, (usage) => usage.consume(grant.namespaceId, grant.id, maxUses), readBoolean);

const takePermit: Spend["permit"] = async (ports, { grant }, { id }, signal) => {
  signal.throwIfAborted();
  const { permits } = ports;
  if (permits === undefined) return "permit_store_unavailable";
  const use = (): Promise<unknown> => permits.use(grant.namespaceId, id);
  const answer = await callPort(ports, { port: "permits", id }, signal, use, readBoolean);
  if (!answer.ok) return "permit_store_unavailable";
  return answer.value ? undefined : "approval_required";
};

/** Checks, and takes nothing. */
export const peek: Spend = { check, use: check, permit: () => Promise.resolve(undefined) };

/** Takes the uses and permits. */
export const consume: Spend = { check, use: take, permit: takePermit };

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
