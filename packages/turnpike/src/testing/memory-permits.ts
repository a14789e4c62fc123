import { canonicalJson, parseInstant } from "../internal/index.ts";
import type { AccessContext, AuthorizationRequest } from "../contracts/index.ts";
import type { ActToApprove, PermitState, PermitStore, EscalationRef } from "../kernel/index.ts";

/** An escalation about an act, and its answer. */
export interface AskedAct extends ActToApprove, EscalationRef {
  context: AccessContext;
}

/** Permits in memory, and the answers that people would give. */
export interface MemoryPermits extends PermitStore {
  /** Everything that was asked, in its order. */
  readonly asked: readonly AskedAct[];
  /** Approves the act. Throws unless its escalation is open. */
  approve(id: string, answer: { by: string; at: string; expiresAt?: string }): void;
  /** Denies the act. Throws unless its escalation is open. */
  deny(id: string, answer: { at: string }): void;
}

/** For how long escalations wait, an approval can be used and a denial counts; and how many escalations of an actor may be open. */
export interface MemoryPermitOptions {
  escalationMs?: number;
  permitMs?: number;
  refusalMs?: number;
  maxOpen?: number;
}

interface Entry extends AskedAct {
  /** Of an approval or a denial: until when it counts. */
  until?: number;
  approvedBy?: string[];
  isUsed?: boolean;
}

/**
 * Stores escalations, permits and denials in memory.
 *
 * @example
 * import { memoryPermits } from "turnpike/testing";
 *
 * console.log(await memoryPermits().find("home", "hash", context.now)); // undefined
 */
export function memoryPermits(options: MemoryPermitOptions = {}): MemoryPermits {
  const { escalationMs = 86_400_000, permitMs = 900_000, refusalMs = 3_600_000, maxOpen = 100 } = options;
  const entries: Entry[] = [];

  const isOpen = (entry: Entry, now: number): boolean => entry.until === undefined && instant(entry.expiresAt) > now;
  const stateOf = (entry: Entry, now: number): PermitState | undefined => {
    if (isOpen(entry, now)) return { kind: "asked", escalation: { id: entry.id, expiresAt: entry.expiresAt } };
    const { until = instant(entry.expiresAt) + refusalMs, approvedBy } = entry;
    if (until <= now) return undefined;
    if (approvedBy === undefined)
      return { kind: "refused", reason: entry.until === undefined ? "approval_expired" : "approval_denied" };
    if (entry.isUsed === true) return undefined;
    const { id, grantId } = entry;
    return { kind: "permitted", permit: { id, grantId, approvedBy, expiresAt: new Date(until).toISOString() } };
  };
  const answer = (id: string, at: string): Entry => {
    const entry = entries.find((one) => one.id === id);
    if (entry === undefined || !isOpen(entry, instant(at))) throw new Error(`The escalation ${id} is not open.`);
    return entry;
  };
  return {
    asked: entries,
    find(namespaceId, hash, now) {
      const last = entries.findLast((one) => one.context.namespaceId === namespaceId && one.hash === hash);
      return Promise.resolve(last && stateOf(last, instant(now)));
    },
    waiting(context, request) {
      const place = placeOf(context, request);
      const waiting = entries.flatMap((entry) => {
        if (placeOf(entry.context, entry.request) !== place) return [];
        const state = stateOf(entry, instant(context.now));
        return state?.kind === "permitted" ? [state.permit] : [];
      });
      return Promise.resolve(waiting);
    },
    use(namespaceId, permitId) {
      const entry = entries.find((one) => one.context.namespaceId === namespaceId && one.id === permitId);
      if (entry?.approvedBy === undefined || entry.isUsed === true) return Promise.resolve(false);
      entry.isUsed = true;
      return Promise.resolve(true);
    },
    ask(context, act) {
      const now = instant(context.now);
      const actor = canonicalJson(context.actor);
      const open = entries.filter((one) => one.context.namespaceId === context.namespaceId && isOpen(one, now));
      const same = open.find(({ hash }) => hash === act.hash);
      if (same !== undefined) return Promise.resolve({ id: same.id, expiresAt: same.expiresAt });
      const last = entries.findLast((one) => one.context.namespaceId === context.namespaceId && one.hash === act.hash);
      const said = last && stateOf(last, now);
      const isOther = said?.kind === "permitted" && said.permit.grantId !== act.grantId;
      if (last !== undefined && said !== undefined && !isOther)
        return Promise.resolve({ id: last.id, expiresAt: last.expiresAt });
      if (open.filter((one) => canonicalJson(one.context.actor) === actor).length >= maxOpen)
        return Promise.resolve("full");
      const escalation = {
        id: `escalation-${entries.length + 1}`,
        expiresAt: new Date(now + escalationMs).toISOString(),
      };
      entries.push({ ...act, ...escalation, context });
      return Promise.resolve(escalation);
    },
    approve(id, { by, at, expiresAt }) {
      const entry = answer(id, at);
      entry.until = expiresAt === undefined ? instant(at) + permitMs : instant(expiresAt);
      entry.approvedBy = [by];
    },
    deny(id, { at }) {
      answer(id, at).until = instant(at) + refusalMs;
    },
  };
}

/** Who acts how, and on what, whatever exactly they do there. */
function placeOf(context: AccessContext, { resource, action }: AuthorizationRequest): string {
  const { namespaceId, actor, authority, owner, purpose } = context;
  const { namespace, path } = resource;
  return canonicalJson([namespaceId, actor, authority, owner, purpose, namespace, path, action]);
}

function instant(text: string): number {
  return parseInstant(text) ?? Number.NaN;
}
