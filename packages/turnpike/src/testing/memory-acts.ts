import { canonicalJson } from "../internal/index.ts";
import type { ActKey, ActStore, ActTaken, AuditSink, NewAct, StoredAct } from "../kernel/index.ts";

/** What a store of acts in memory works with. */
export interface MemoryActOptions {
  /** Gets the events of outcomes. */
  audit?: AuditSink;
  /** Called with what an act took, when nothing happened. */
  onGivenBack?(taken: ActTaken): void;
}

/**
 * Stores acts in memory.
 *
 * @example
 * import { memoryActs } from "turnpike/testing";
 *
 * const key = { namespaceId: "home", actor: context.actor, scope: "trace 1", id: "act-1" };
 * console.log(await memoryActs().find(key)); // undefined
 */
export function memoryActs({ audit, onGivenBack }: MemoryActOptions = {}): ActStore {
  const acts = new Map<string, StoredAct & { isFree?: boolean }>();
  const beginning = new Map<string, NewAct>();
  const waiting = new Map<string, string>();
  const reports = new Map<string, string>();
  let count = 0;
  const nameOf = ({ namespaceId, actor, scope, id }: ActKey): string => canonicalJson([namespaceId, actor, scope, id]);
  return {
    async begin(key, act, decide) {
      const name = nameOf(key);
      const known = acts.get(name);
      if (known !== undefined && known.isFree !== true) return { kind: "known", act: known };
      const other = beginning.get(name);
      // Its decision is still being made.
      if (other !== undefined) return { kind: "known", act: { ...other, claim: "", taken: { grants: [], uses: [] } } };
      beginning.set(name, act);
      try {
        const verdict = await decide(undefined);
        if (verdict.kind === "refused") {
          if (verdict.requestHash !== undefined) waiting.set(name, verdict.requestHash);
          return { kind: "refused" };
        }
        count += 1;
        acts.set(name, { ...act, claim: `claim-${count}`, taken: verdict.taken });
        return { kind: "begun" };
      } finally {
        beginning.delete(name);
      }
    },
    async finish(key, { claim }, { fingerprint, end, isFree, event }) {
      const reported = reports.get(claim);
      if (reported !== undefined) return { isSame: reported === fingerprint };
      reports.set(claim, fingerprint);
      const name = nameOf(key);
      const act = acts.get(name);
      if (act?.claim === claim) acts.set(name, { ...act, end, isFree });
      if (act !== undefined && isFree) onGivenBack?.(act.taken);
      if (event !== undefined) await audit?.record(event);
      return "stored";
    },
    find: (key) => Promise.resolve(acts.get(nameOf(key))),
    findWaiting: (key) => Promise.resolve(waiting.get(nameOf(key))),
  };
}
