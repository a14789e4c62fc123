import type { HostConnection } from "./host-connection.ts";
import { beatSeconds, deadSeconds, unlockedSeconds } from "./judge-host.ts";

/** How a host shows others that it lives. */
export interface Presence {
  strand(): number;
  /**
   * False once other hosts may hold this one for dead: it has no answer to a beat of the last seven seconds, or lost its lock. A process
   * that was paused is told so by its clocks, before it does anything else.
   */
  isPresent(): boolean;
  /** The lowest epoch whose hosts may serve, as of the last beat. */
  lowestEpoch(): number;
  /** Says to others whether this host has anything under way, from the next beat on. */
  showDrained(isDrained: () => boolean): void;
  /** Calls the listener when this host beats again after other hosts may have held it for dead. */
  onReturn(listener: () => void): void;
  end(): Promise<void>;
}

const pauseMs = 1_000;
/** Between two attempts to take a lock that the server still holds for a connection of this host that broke. */
const retakeMs = 500;

/**
 * Holds what shows that a host lives, and beats, while the process runs. It beats on the event loop that does the work: a thread would
 * beat for a host that hangs.
 */
export async function showPresence(connect: () => Promise<HostConnection>): Promise<Presence> {
  const listeners: (() => void)[] = [];
  let isEnding = false;
  let isLocked = false;
  /** When the last beat was sent that was answered. */
  let beatAt = readClocks();
  /** Since when the lock may be free; undefined while this host has it. */
  let unlockedAt: Clocks | undefined;
  let lowest = 0;
  let isDrained = (): boolean => false;

  const beat = async (connection: HostConnection): Promise<void> => {
    const sentAt = readClocks();
    const answer = await connection.beat(isDrained());
    // Nothing took the beat, so no other host has seen it. The next one counts, unless another host has the id of this one by now.
    if (answer === undefined) return connection.rejoin();
    lowest = answer.lowest ?? 0;
    // A lease that is void may have been another host's meanwhile.
    const wasAway = Math.abs(answer.silentFor ?? 0) >= deadSeconds || (isLocked && !answer.isLocked);
    isLocked = answer.isLocked || (await connection.lock());
    const isBack = wasAway || (isLocked && unlockedAt !== undefined);
    beatAt = sentAt;
    if (isLocked) unlockedAt = undefined;
    if (isBack) for (const listener of listeners) listener();
  };
  const open = async (): Promise<HostConnection> => {
    const connection = await connect();
    try {
      await beat(connection);
      return connection;
    } catch (error) {
      connection.destroy();
      throw error;
    }
  };
  const reopen = async (): Promise<void> => {
    // oxlint-disable-next-line no-unmodified-loop-condition -- `end` below modifies it
    while (!isEnding) {
      try {
        const opened = await open();
        // A host that has closed must not hold its locks.
        if (isEnding) return void (await opened.end());
        current = opened;
        return;
      } catch {
        await pause(pauseMs);
      }
    }
  };
  const beatOn = async (): Promise<void> => {
    // oxlint-disable-next-line no-unmodified-loop-condition -- `end` below modifies it
    while (!isEnding) {
      await Promise.race([pause(isLocked ? beatSeconds * 1000 : retakeMs), current.ended]);
      if (isEnding) return;
      try {
        await beat(current);
      } catch {
        unlockedAt ??= readClocks();
        current.destroy();
        await reopen();
      }
    }
  };

  let current = await open();
  void beatOn();
  return {
    strand: () => current.strand(),
    isPresent: () =>
      !isEnding &&
      secondsSince(beatAt) < deadSeconds &&
      (unlockedAt === undefined || secondsSince(unlockedAt) < unlockedSeconds),
    lowestEpoch: () => lowest,
    showDrained: (asked) => void (isDrained = asked),
    onReturn: (listener) => void listeners.push(listener),
    async end() {
      isEnding = true;
      await current.end();
    },
  };
}

/** The monotonic clock runs while a process is paused, and the other one also while its machine is. */
interface Clocks {
  monotonic: number;
  wall: number;
}

function readClocks(): Clocks {
  return { monotonic: performance.now(), wall: Date.now() };
}

function secondsSince({ monotonic, wall }: Clocks): number {
  return Math.max(performance.now() - monotonic, Date.now() - wall) / 1000;
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => void setTimeout(resolve, ms).unref());
}
