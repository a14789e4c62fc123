import type { EscalationKey } from "./pending-escalations.ts";

/** Whose call is held. */
export interface HeldOwner {
  namespaceId: string;
  credentialId: string;
}

/** For how long a call is held. */
interface HoldOptions {
  ms: number;
  /** Fires when the caller is gone. */
  signal: AbortSignal | undefined;
}

/** The calls of this host that are held while a person is asked. */
export interface HeldCalls {
  /**
   * Holds a call until its escalation no longer waits, which is `true`, or until the time is over or the host stops, which is
   * `false`. Rejects with the reason of the signal. Undefined when no further call may be held.
   */
  hold(escalation: EscalationKey, owner: HeldOwner, options: HoldOptions): Promise<boolean> | undefined;
  /** Looks for answers at once, because one was given on this host. */
  wake(): void;
  /** Releases all calls that are held, as if their time were over, and holds no others. */
  close(): void;
}

export interface HeldCallsOptions {
  /** How many calls are held at once; three quarters of them of one tenant, and half of them with one credential. */
  most: number;
  /** Takes one of the sockets that may stay open for long; undefined when there is none. The returned function gives it back. */
  takeSocket(): (() => void) | undefined;
  /** Those of these escalations that still wait for an answer. */
  findPending(escalations: readonly EscalationKey[]): Promise<readonly EscalationKey[]>;
  /** Called with the first of several failures in a row. The escalations are looked for again. */
  onError(error: unknown): void;
}

interface Held {
  escalation: EscalationKey;
  releases: Set<(isAnswered: boolean) => void>;
}

const pollMs = 500;

/** One statement each half a second reads all escalations that calls of this host wait for, wherever they are answered. */
export function createHeldCalls({ most, takeSocket, findPending, onError }: HeldCallsOptions): HeldCalls {
  const held = new Map<string, Held>();
  const take = createShares(most);
  let timer: NodeJS.Timeout | undefined;
  let isPolling = false;
  let isWanted = false;
  let isFailing = false;
  let isClosed = false;

  const releaseAnswered = async (): Promise<void> => {
    const asked = [...held];
    try {
      const pending = new Set((await findPending(asked.map(([, { escalation }]) => escalation))).map(nameOf));
      isFailing = false;
      for (const [name, { releases }] of asked) if (!pending.has(name)) for (const release of releases) release(true);
    } catch (error) {
      if (!isFailing && !isClosed) onError(error);
      isFailing = true;
    }
  };
  const poll = async (): Promise<void> => {
    isPolling = true;
    do {
      isWanted = false;
      await releaseAnswered();
      // oxlint-disable-next-line typescript/no-unnecessary-condition -- `wake` sets it meanwhile
    } while (isWanted && held.size > 0);
    isPolling = false;
    pollLater();
  };
  const pollLater = (): void => {
    if (held.size > 0 && !isPolling) timer ??= setTimeout(pollNow, pollMs).unref();
  };
  const pollNow = (): void => {
    clearTimeout(timer);
    timer = undefined;
    if (held.size > 0) void poll();
  };

  return {
    hold(escalation, owner, { ms, signal }) {
      const giveBack = isClosed ? undefined : takeBoth(() => take(owner), takeSocket);
      if (giveBack === undefined) return undefined;
      const name = nameOf(escalation);
      const own = held.get(name) ?? { escalation, releases: new Set() };
      held.set(name, own);
      return new Promise((resolve, reject) => {
        const end = (): void => {
          clearTimeout(timeOver);
          signal?.removeEventListener("abort", onAbort);
          own.releases.delete(release);
          if (own.releases.size === 0 && held.get(name) === own) held.delete(name);
          giveBack();
        };
        const release = (isAnswered: boolean): void => {
          end();
          resolve(isAnswered);
        };
        const onAbort = (): void => {
          end();
          reject(signal?.reason as Error);
        };
        const timeOver = setTimeout(release, ms, false);
        own.releases.add(release);
        signal?.addEventListener("abort", onAbort);
        if (signal?.aborted === true) onAbort();
        pollLater();
      });
    },
    wake() {
      if (held.size === 0) return;
      isWanted = true;
      if (!isPolling) pollNow();
    },
    close() {
      isClosed = true;
      clearTimeout(timer);
      for (const { releases } of held.values()) for (const release of releases) release(false);
    },
  };
}

function nameOf({ namespaceId, id }: EscalationKey): string {
  return JSON.stringify([namespaceId, id]);
}

type GiveBack = () => void;

function takeBoth(first: () => GiveBack | undefined, second: () => GiveBack | undefined): GiveBack | undefined {
  const [one, other] = [first(), second()];
  const giveBack = (): void => {
    one?.();
    other?.();
  };
  if (one !== undefined && other !== undefined) return giveBack;
  giveBack();
  return undefined;
}

/** Counts what is held. INVARIANT: neither one tenant nor one credential can take all of it. */
function createShares(most: number): (owner: HeldOwner) => GiveBack | undefined {
  const counts = new Map<string, number>();
  const part = (share: number): number => Math.max(1, Math.floor(most * share));
  return ({ namespaceId, credentialId }) => {
    const limits: [name: string, limit: number][] = [
      ["", most],
      [JSON.stringify([namespaceId]), part(3 / 4)],
      [JSON.stringify([namespaceId, credentialId]), part(1 / 2)],
    ];
    if (limits.some(([name, limit]) => (counts.get(name) ?? 0) >= limit)) return undefined;
    const change = (by: 1 | -1): void => {
      for (const [name] of limits) {
        const count = (counts.get(name) ?? 0) + by;
        if (count === 0) counts.delete(name);
        else counts.set(name, count);
      }
    };
    change(1);
    return () => change(-1);
  };
}
