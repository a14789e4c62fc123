/** What the database says of a host at one instant. Times are in seconds, by the clock of the server. */
export interface HostSigns {
  /**
   * How long ago it beat; null for a host of a version that does not beat. Less than nothing after the clock was set back, or when
   * another server with another clock has taken over.
   */
  silentFor: number | null;
  /** Whether its lock is held. A server may hold the lock of a host that is paused, cut off or gone for a long time. */
  isLocked: boolean;
  /** Whether it said that it ended. */
  hasEnded: boolean;
}

/** What the database says, at the same instant, of the host that judges; null when it has not beaten yet. */
export interface JudgeSigns {
  silentFor: number | null;
  /** How long its beats have followed each other without a gap. */
  beatsFor: number | null;
}

/** How often a host beats. */
export const beatSeconds = 2;
/** A host without a beat for so long is dead, whatever holds its lock. */
export const deadSeconds = 7;
/** A longer time between two beats is a gap. */
export const gapSeconds = 3;
/** How long hosts have to beat again after the database was away for all of them. */
const returnSeconds = 5;
/** A host that was seen without its lock for longer is dead: it has this time to take it again on another connection. */
export const unlockedSeconds = 3;

/**
 * Whether a host is dead. `unlockedFor` says how long the judge has seen it without its lock. INVARIANT: a host that may itself have
 * been away, with the database or without it, holds no other for dead until it has beaten for long enough: what it sees are the
 * beats of the time before. A clock that was set is such a time as well: a living host beats by the new one within two seconds.
 */
export function isDead(host: HostSigns | undefined, judge: JudgeSigns, unlockedFor: number): boolean {
  if (host === undefined || host.hasEnded) return true;
  if (!isSettled(judge)) return false;
  if (host.silentFor !== null && Math.abs(host.silentFor) >= deadSeconds) return true;
  return !host.isLocked && unlockedFor > unlockedSeconds;
}

function isSettled({ silentFor, beatsFor }: JudgeSigns): boolean {
  return silentFor !== null && beatsFor !== null && Math.abs(silentFor) < gapSeconds && beatsFor >= returnSeconds;
}
