import type { Scheduler } from "./scheduler.ts";
import type { Decision, Storage } from "./storage.ts";

/** Two tenants for each episode. They have the same ids in them, so that a query that is bound to no tenant mixes them. */
export function tenantsOf(episode: number): [string, string] {
  return [`acme-${episode}`, `umbra-${episode}`];
}

/** Whatever looks like a tenant in a text. */
export const anyTenant: RegExp = /\b(acme|umbra)-\d+\b/g;

/** What an agent may do something with, each by a grant of its own. */
export const items = {
  free: {},
  once: { maxUses: 1 },
  twice: { maxUses: 2 },
  passing: {},
  fleeting: {},
  asked: { isAsked: true },
  /** No one may, before an operator or an approval issues the grant. */
  later: { isMissing: true },
} as const satisfies Record<string, { maxUses?: number; isAsked?: true; isMissing?: true }>;
export type Item = keyof typeof items;

/** One effect outside the storage, as the tool saw its call. */
export interface Effect {
  tenant: string;
  item: Item;
  tool: string;
  /** Which payload asked for it: also the tenant whose it has to be. */
  tag: string;
  traceId: string;
  executionId: string | undefined;
  callId: string;
  /** Of a call in a turn: the place in the turn's plan. */
  slot: string;
}

/** What was promised to callers so far, and what was seen outside; tells at once what does not fit. */
export class Model {
  readonly violations: string[] = [];
  readonly effects: Effect[] = [];
  readonly counts: Record<string, number> = {};
  readonly #scheduler: Scheduler;
  readonly #storage: Storage;
  /** The step at which each request was first sent, or each call of a turn first decided upon. */
  readonly #firstSent = new Map<string, number>();
  /** The step at which it was acknowledged that a grant, or a credential, is revoked. */
  readonly #revoked = new Map<string, number>();
  /** How often an operator approved an act, whether or not they learned that it was heard. */
  readonly #approved = new Map<string, number>();

  readonly #permitted = new Set<string>();
  /**
   * Decisions that were stored when the storage went back, with those that were lost each time before: what was decided then can take
   * effect much later. And whether no operator has accepted the loss yet.
   */
  #stored: readonly Decision[] = [];
  #isBehind = false;

  constructor(scheduler: Scheduler, storage: Storage) {
    [this.#scheduler, this.#storage] = [scheduler, storage];
  }

  count(name: string): void {
    this.counts[name] = (this.counts[name] ?? 0) + 1;
  }

  violated(what: string): void {
    this.violations.push(`step ${this.#scheduler.steps}: ${what}`);
  }

  sent(key: string): void {
    if (!this.#firstSent.has(key)) this.#firstSent.set(key, this.#scheduler.steps);
  }

  revoked(tenant: string, name: string): void {
    const key = `${tenant} ${name}`;
    if (!this.#revoked.has(key)) this.#revoked.set(key, this.#scheduler.steps);
    this.count("revocations");
  }

  isRevoked(tenant: string, name: string): boolean {
    return this.#revoked.has(`${tenant} ${name}`);
  }

  /** Whether everything that was sent under a key was sent after a revocation was acknowledged. */
  isAfterRevocation(tenant: string, name: string, key: string): boolean {
    const at = this.#revoked.get(`${tenant} ${name}`);
    return at !== undefined && (this.#firstSent.get(key) ?? 0) > at;
  }

  approved(tenant: string, tag: string, slot: string): void {
    const key = `${tenant} ${tag} ${slot}`;
    this.#approved.set(key, (this.#approved.get(key) ?? 0) + 1);
    this.count("approvals");
  }

  /** Notes that an operator is about to let a tenant's agent use what it may not use from the beginning. */
  permit(tenant: string): void {
    this.#permitted.add(tenant);
  }

  /** From here on nothing may happen that was not decided before: the storage went back. */
  wentBack(stored: readonly Decision[]): void {
    this.#stored = [...this.#stored.filter(({ isLost }) => isLost), ...stored];
    this.#isBehind = true;
    this.count("failovers");
  }

  /** An operator has accepted that. */
  lossAccepted(): void {
    this.#isBehind = false;
  }

  /** How many decisions of a trace that allow an item were stored before it takes effect. */
  #decided({ tenant, traceId, item }: Effect): number {
    const path = `"path":["${item}"]`;
    const known = this.#stored.filter(
      (row) =>
        row.tenant === tenant &&
        row.traceId === traceId &&
        row.content.includes(path) &&
        (this.#isBehind || row.isLost),
    );
    if (this.#isBehind) return known.length;
    const found = this.#storage.rows<{ n: number }>(
      `select count(*) as n from audit where namespace_id = ? and trace_id = ? and type = 'authorization.checked'
        and outcome = 'allowed' and content like ?`,
      tenant,
      traceId,
      `%${path}%`,
    )[0];
    return known.length + (found?.n ?? 0);
  }

  /** How often something happened under the id of a call. */
  effectsOf(key: string): number {
    return this.effects.filter((effect) => keyOfEffect(effect) === key).length;
  }

  /** Takes an effect that happens now, and holds it against everything that was promised. */
  effect(effect: Effect): void {
    const { tenant, item, tool, tag, traceId, executionId, slot } = effect;
    const like = (fits: (other: Effect) => boolean): number => this.effects.filter(fits).length;
    // A turn may make a call again that may be made again; a caller never.
    const isOnce = tool === "effects.add" || executionId === undefined;
    const key = keyOfEffect(effect);
    if (isOnce && this.effectsOf(key) > 0) this.violated(`an effect happened twice under the id ${key}`);
    if (isOnce && executionId !== undefined) {
      const isSame = (other: Effect): boolean =>
        other.tenant === tenant && other.executionId === executionId && other.slot === slot;
      if (like(isSame) > 0) this.violated(`turn ${executionId} of ${tenant} did ${slot} twice`);
    }
    this.effects.push(effect);
    this.count("effects");
    if (tag.split("/")[0] !== tenant) this.violated(`an effect of ${tag} happened in the tenant ${tenant}`);
    const ofItem = like((other) => other.tenant === tenant && other.item === item);
    const { maxUses = Infinity } = items[item] as { maxUses?: number };
    if (ofItem > maxUses) this.violated(`${item} of ${tenant} was used ${ofItem} times of ${maxUses}`);
    if (this.isAfterRevocation(tenant, `grant-${item}`, key))
      this.violated(`${key} took effect on ${item} after its revocation was acknowledged`);
    if (item === "later" && !this.#permitted.has(tenant)) this.violated(`${key} did what had not been permitted`);
    if (item === "asked") {
      const isAct = (other: Effect): boolean => other.tag === tag && other.slot === slot;
      const ofAct = like((other) => other.tenant === tenant && other.item === item && isAct(other));
      const approvals = this.#approved.get(`${tenant} ${tag} ${slot}`) ?? 0;
      if (ofAct > approvals) this.violated(`${tag} happened ${ofAct} times after ${approvals} approvals`);
    }
    const ofTrace = like((other) => other.tenant === tenant && other.traceId === traceId && other.item === item);
    if (this.#decided(effect) < ofTrace)
      this.violated(
        this.#isBehind
          ? `${key} took effect on ${item} on a storage that went back`
          : `${key} took effect on ${item} before its decision was stored`,
      );
  }
}

export function keyOfCall(tenant: string, scope: string, callId: string): string {
  return `${tenant} ${scope} ${callId}`;
}

function keyOfEffect({ tenant, executionId, traceId, callId }: Effect): string {
  return keyOfCall(tenant, executionId ?? traceId, callId);
}
