import { deadSeconds, gapSeconds } from "../../../packages/host/src/storage/judge-host.ts";
import type { SignsOfHost } from "../../../packages/host/src/storage/living-hosts.ts";

/** What the server stores of a host; times are in seconds. */
interface HostRow {
  beatAt?: number;
  beatsSince?: number;
  hasEnded: boolean;
  /** Whether it has nothing under way, because its version is too old. */
  isDrained?: boolean;
}

/** A connection on which a host shows that it lives, as the server sees it. Its locks last as long as it does. */
export interface HostSession {
  readonly strand: number;
  lockedFor?: number;
  /** Called when the server ends it. */
  onEnd?(): void;
}

/** What PostgreSQL knows of hosts that beat: rows by its own clock, and the locks of their connections. */
export class Beats {
  #rows = new Map<number, HostRow>();
  readonly #sessions = new Set<HostSession>();
  readonly #now: () => number;

  constructor(now: () => number) {
    this.#now = now;
  }

  register(id: number): void {
    this.#rows.set(id, { hasEnded: false });
  }

  /** Says for how long the host was silent; null at its first beat. Undefined when it has no row. */
  beat(id: number, isDrained = false): { silentFor: number | null } | undefined {
    const row = this.#rows.get(id);
    if (row === undefined) return undefined;
    const now = this.#now();
    const silentFor = row.beatAt === undefined ? null : now - row.beatAt;
    const follows = silentFor !== null && Math.abs(silentFor) < gapSeconds;
    this.#rows.set(id, { ...row, beatAt: now, beatsSince: follows ? (row.beatsSince ?? now) : now, isDrained });
    return { silentFor };
  }

  signsOf(ids: readonly number[]): SignsOfHost[] {
    const now = this.#now();
    return ids.flatMap((id) => {
      const row = this.#rows.get(id);
      if (row === undefined) return [];
      const since = (at: number | undefined): number | null => (at === undefined ? null : now - at);
      const isLocked = this.#holderOf(id) !== undefined;
      return [{ id, silentFor: since(row.beatAt), beatsFor: since(row.beatsSince), isLocked, hasEnded: row.hasEnded }];
    });
  }

  /** The ids of the hosts that have beaten lately. */
  living(): number[] {
    return this.signsOf([...this.#rows.keys()])
      .filter(({ silentFor, hasEnded }) => !hasEnded && silentFor !== null && Math.abs(silentFor) < deadSeconds)
      .map(({ id }) => id);
  }

  /** Whether a host has said that it has nothing under way any more. */
  isDrained(id: number): boolean {
    return this.#rows.get(id)?.isDrained === true;
  }

  /** Begins a connection, with the first strand of audit logs that no other one has. */
  connect(): HostSession {
    const taken = new Set([...this.#sessions].map(({ strand }) => strand));
    let strand = 0;
    while (taken.has(strand)) strand += 1;
    const session: HostSession = { strand };
    this.#sessions.add(session);
    return session;
  }

  isConnected(session: HostSession): boolean {
    return this.#sessions.has(session);
  }

  /** Takes the lock of a host, unless another connection has it. */
  lock(session: HostSession, id: number): boolean {
    const holder = this.#holderOf(id);
    if (holder === undefined) session.lockedFor = id;
    return holder === undefined || holder === session;
  }

  /** Ends a connection, and gives its locks back. */
  disconnect(session: HostSession): void {
    if (this.#sessions.delete(session)) session.onEnd?.();
  }

  /** The server is gone with all of its connections, and another one takes its place, which has these rows. */
  failOver(rows: ReadonlyMap<number, HostRow>): void {
    this.#rows = new Map(rows);
    for (const session of this.#sessions) this.disconnect(session);
  }

  get rows(): ReadonlyMap<number, HostRow> {
    return new Map(this.#rows);
  }

  #holderOf(id: number): HostSession | undefined {
    return [...this.#sessions].find(({ lockedFor }) => lockedFor === id);
  }
}
