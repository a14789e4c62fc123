import { performance } from "node:perf_hooks";
import { setImmediate, setTimeout as sleep } from "node:timers/promises";
import { ServiceHttpError } from "turnpike/http";
import { fixedLimits } from "./limits.ts";
import { type SliceBudget, withBudget } from "./time-slices.ts";

/** Whose report it is. */
export interface ReportOwner {
  /** The id of the operator's credential. */
  operator: string;
  /** The one tenant of the operator; absent for an operator of all tenants. */
  tenant?: string | undefined;
}

/** How many reports run and wait. */
export interface ReportLimits {
  /** How many run at once. Of one operator it is one. */
  running: number;
  /** How many of one operator wait. */
  waiting: number;
  /** How long each waits at most. */
  waitMs: number;
}

/** Runs the reports of operators: reads that take long. */
export interface ReportScheduler {
  /**
   * Runs a report when there is a place for it. Throws `429` when too many of the operator wait, or when it waited for too
   * long. A report whose caller leaves ends at its next slice, and one that waits ends at once.
   */
  run<T>(owner: ReportOwner, signal: AbortSignal, report: () => Promise<T>): Promise<T>;
  readonly running: number;
  readonly waiting: number;
  /** Ends those that wait, and those that run at their next slice. */
  close(): void;
}

interface Waiting {
  owner: ReportOwner;
  begin(): void;
}

/**
 * The scheduler of a process. INVARIANT: all reports together use at most half of the event loop's time, so no call waits for
 * more than one slice. A report pauses after each slice for as long as it ran, and its place stays taken for the last pause.
 */
export function createReportScheduler(limits: ReportLimits, onRefused: () => void = () => {}): ReportScheduler {
  const running = new Set<ReportOwner>();
  const waiting = new Set<Waiting>();
  const aborts = new Set<(reason: Error) => void>();
  /** When each party with running or waiting reports was last served. */
  const served = new Map<string, number>();
  let serial = 0;
  let isClosed = false;

  const isFree = ({ operator }: ReportOwner): boolean =>
    running.size < limits.running &&
    [...running].filter((other) => other.operator === operator).length < fixedLimits.operatorReports.value;
  const take = (owner: ReportOwner): void => {
    running.add(owner);
    served.set(partyOf(owner), (serial += 1));
  };
  const isAbout = (party: string): boolean =>
    [...running].some((owner) => partyOf(owner) === party) ||
    [...waiting].some(({ owner }) => partyOf(owner) === party);
  const forget = (owner: ReportOwner): void => {
    if (!isAbout(partyOf(owner))) served.delete(partyOf(owner));
  };
  const release = (owner: ReportOwner): void => {
    running.delete(owner);
    // The party that was served longest ago is first, and of one party the report that came first.
    const ready = [...waiting].filter((each) => isFree(each.owner));
    const servedAt = (each: Waiting): number => served.get(partyOf(each.owner)) ?? 0;
    const [next] = ready.toSorted((one, other) => servedAt(one) - servedAt(other));
    next?.begin();
    forget(owner);
  };

  const acquire = async (owner: ReportOwner, signal: AbortSignal): Promise<void> => {
    signal.throwIfAborted();
    if (isClosed) throw stopping();
    if (isFree(owner)) return take(owner);
    const own = [...waiting].filter((each) => each.owner.operator === owner.operator);
    if (own.length >= limits.waiting)
      throw refusal("Too many reports of this operator are waiting. Try again when one of them is done.");
    await new Promise<void>((resolve, reject) => {
      const leave = (error: unknown): void => {
        end();
        forget(owner);
        reject(error);
      };
      const late = setTimeout(
        () => leave(refusal("Too many reports are running on this host. Try again later.")),
        limits.waitMs,
      );
      const onAbort = (): void => leave(signal.reason);
      const each: Waiting = {
        owner,
        begin() {
          end();
          take(owner);
          resolve();
        },
      };
      const end = (): void => {
        clearTimeout(late);
        signal.removeEventListener("abort", onAbort);
        waiting.delete(each);
      };
      signal.addEventListener("abort", onAbort, { once: true });
      waiting.add(each);
    });
  };
  const refusal = (message: string): ServiceHttpError => {
    onRefused();
    return new ServiceHttpError(429, "rate_limited", message, {
      headers: { "retry-after": String(Math.ceil(limits.waitMs / 1000)) },
    });
  };

  return {
    async run(given, caller, report) {
      const owner = { ...given };
      const { signal, abort, end } = follow(caller);
      aborts.add(abort);
      try {
        await acquire(owner, signal);
        const share = createShare(() => running.size, signal);
        try {
          return await withBudget(share, report);
        } finally {
          // The answer is sent before the pause.
          void share.pause().finally(() => release(owner));
        }
      } finally {
        aborts.delete(abort);
        end();
      }
    },
    get running() {
      return running.size;
    },
    get waiting() {
      return waiting.size;
    },
    close() {
      isClosed = true;
      for (const abort of aborts) abort(stopping());
    },
  };
}

/** Each operator of all tenants is a party. The operators of one tenant are one party together. */
function partyOf({ operator, tenant }: ReportOwner): string {
  return JSON.stringify(tenant === undefined ? [operator] : [null, tenant]);
}

function stopping(): ServiceHttpError {
  return new ServiceHttpError(503, "authority_unavailable", "The host stops. Ask another one, or this one later.");
}

/** A signal that follows the caller's, and that the scheduler can abort as well. */
function follow(caller: AbortSignal): { signal: AbortSignal; abort(reason: Error): void; end(): void } {
  const controller = new AbortController();
  const onAbort = (): void => controller.abort(caller.reason);
  if (caller.aborted) onAbort();
  caller.addEventListener("abort", onAbort, { once: true });
  return {
    signal: controller.signal,
    abort: (reason) => controller.abort(reason),
    end: () => caller.removeEventListener("abort", onAbort),
  };
}

/** One report's share of the time that all of them have together. */
function createShare(countRunning: () => number, signal: AbortSignal): SliceBudget & { pause(): Promise<void> } {
  let mark = performance.eventLoopUtilization();
  /** A report that runs alone pauses for as long as the event loop was busy in its slice. One of two pauses three times as long. */
  const pause = async (): Promise<void> => {
    const { active } = performance.eventLoopUtilization(mark);
    const ms = active * (countRunning() / fixedLimits.reportShare.value - 1);
    await (ms < 1 ? setImmediate() : sleep(ms));
    mark = performance.eventLoopUtilization();
  };
  return {
    pause,
    async nextSlice() {
      signal.throwIfAborted();
      await pause();
      signal.throwIfAborted();
    },
  };
}
