import { z } from "zod";
import { limitSchemas } from "../shared/index.ts";

/** The settings that limit turns. */
const TurnLimitsSchema = z.strictObject(limitSchemas("concurrentTurns", "tenantTurns", "credentialTurns"));

type TurnLimitSettings = z.infer<typeof TurnLimitsSchema>;

/** The tenant and the credential that a turn counts for. */
export interface TurnOwner {
  namespaceId: string;
  credentialId: string;
}

/** How many turns may run at once: in all, of one tenant, of one credential. */
export interface TurnLimits {
  all: number;
  tenant: number;
  credential: number;
}

/** Whether a turn may run. `release` never throws, and has to be called when the turn has ended. */
export type Admission = { kind: "admitted"; release(): Promise<void> } | { kind: "refused"; by: keyof TurnLimits };

/** The slots for turns of all hosts that share a database. */
export interface TurnSlots {
  /** Takes a slot if there is one. INVARIANT: no limit is ever exceeded. Throws when the count is not known. */
  admit(owner: TurnOwner): Promise<Admission>;
}

/** By default, one tenant gets three quarters of all slots, and one credential half of them. */
export function turnLimitsOf(limits: TurnLimitSettings): TurnLimits {
  const { concurrentTurns: all, tenantTurns, credentialTurns } = limits;
  const share = (part: number): number => Math.max(1, Math.floor(all * part));
  return { all, tenant: tenantTurns ?? share(3 / 4), credential: credentialTurns ?? share(1 / 2) };
}

/** The slots of a single process. */
export function localTurnSlots(limits: TurnLimits): TurnSlots {
  const running = new Set<TurnOwner>();
  return {
    admit(owner) {
      const by = reachedLimit(countTurns([...running], owner), limits);
      if (by !== undefined) return Promise.resolve({ kind: "refused", by });
      const mine = { ...owner };
      running.add(mine);
      return Promise.resolve({ kind: "admitted", release: () => Promise.resolve(void running.delete(mine)) });
    },
  };
}

/** How many turns run that count with one of this owner: in all, of its tenant, of its credential. */
function countTurns(running: readonly TurnOwner[], { namespaceId, credentialId }: TurnOwner): TurnLimits {
  const ofTenant = running.filter((turn) => turn.namespaceId === namespaceId);
  const ofCredential = ofTenant.filter((turn) => turn.credentialId === credentialId);
  return { all: running.length, tenant: ofTenant.length, credential: ofCredential.length };
}

/** The limit that one more turn would exceed; undefined when there is a slot. */
export function reachedLimit(running: TurnLimits, limits: TurnLimits): keyof TurnLimits | undefined {
  return (["all", "tenant", "credential"] as const).find((limit) => running[limit] >= limits[limit]);
}
