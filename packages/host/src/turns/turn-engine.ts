import type { AccessContext, JsonObject } from "turnpike/contracts";
import type { ServiceApi, ServiceApiCallOptions } from "turnpike/http";
import { TurnPause } from "turnpike/runtime";
import type { TurnJournalStore } from "./journal/journal-store.ts";
import type { LedgerRunWriter } from "./journal/run-writer.ts";
import type { TurnId } from "./journal/turn-rows.ts";
import { isOverloaded } from "./turn-limit.ts";

/** What the engine uses. */
export interface TurnEngineOptions {
  journal: TurnJournalStore;
  /** Runs or resumes a turn, within every limit. */
  runs: ServiceApi;
  /** The context in which a turn is resumed: that of its beginning, as it is now. */
  contextNow(context: AccessContext): Promise<AccessContext>;
  /** The call options of the caller whose credential was stored. */
  callOf(credential: JsonObject | undefined): ServiceApiCallOptions;
  clock(): Date;
  /** Whether this host may go on with turns now. */
  mayResume(): boolean;
  /** Called with the error that prevented a turn from being resumed. It is retried. */
  onError(error: unknown, executionId?: string): void;
}

/** Resumes turns that no host runs: those of processes that ended, and those whose escalation was answered. */
export interface TurnEngine {
  /** The same api, whose asynchronous turns end before the engine is closed. */
  watch(api: ServiceApi): ServiceApi;
  start(): void;
  /** Polls for turns at once, instead of within a second. */
  wake(): void;
  /** Stops every asynchronous turn, to be resumed at the next start or on another host. */
  close(): Promise<void>;
}

const pollMs = 1_000;
/** How many turns one poll resumes, and how many waiting turns it wakes at most. */
const atOnce = 32;
/** Answers that came before their turn began to wait are rare, so they are polled for less often. */
const missedEvery = 5;
const longestPauseMs = 60_000;
/** How long the calls of turns may take to end when the host stops. */
const graceMs = 10_000;

/** Makes the engine of a host. There is one for each process. */
export function createTurnEngine(options: TurnEngineOptions): TurnEngine {
  const { journal, runs, clock, onError } = options;
  const running = new Set<Promise<unknown>>();
  /** Turns that could not be resumed, and when they are retried. */
  const paused = new Map<TurnId, { until: number; ms: number }>();
  let timer: NodeJS.Timeout | undefined;
  let polling: Promise<void> | undefined;
  let isWanted = false;
  /** Whether a turn found no slot since the last poll by the timer. */
  let isFull = false;
  let isClosed = false;
  let polls = 0;

  const track = <T>(run: Promise<T>): Promise<T> => {
    running.add(run);
    const forget = (): void => void running.delete(run);
    run.then(forget, forget);
    return run;
  };

  /** The pause doubles each time that a turn cannot be resumed. */
  const pauseLonger = (id: TurnId, ms = Math.min(longestPauseMs, (paused.get(id)?.ms ?? pollMs / 2) * 2)): void =>
    void paused.set(id, { until: performance.now() + ms, ms });

  const resume = async (writer: LedgerRunWriter): Promise<void> => {
    const { request, context, isAsync } = writer.turn;
    try {
      const call = options.callOf(writer.credential);
      await runs.executeTurn(await options.contextNow(context), request, { ...call, isAsync, writer });
      paused.delete(writer.id);
    } catch (error) {
      const hadNoSlot = isOverloaded(error);
      isFull ||= hadNoSlot;
      // A slot may become free at any time. Any other failure may take longer.
      pauseLonger(writer.id, hadNoSlot ? pollMs : undefined);
      if (!hadNoSlot && !(error instanceof TurnPause)) onError(error, request.executionId);
      await journal.leave(writer).catch((cause: unknown) => onError(cause, request.executionId));
    }
  };

  /** A turn that cannot be taken must not prevent others from being resumed. */
  const takeOrPause = (id: TurnId): Promise<LedgerRunWriter | undefined> =>
    journal.take(id).catch((error: unknown) => {
      pauseLonger(id);
      onError(error);
      return undefined;
    });

  const poll = async (): Promise<void> => {
    const now = clock().toISOString();
    await journal.cancelled();
    if (!options.mayResume()) return;
    await journal.wakeExpired(now, atOnce);
    if ((polls += 1) % missedEvery === 0) await journal.wakeMissed(atOnce);
    const ids = await journal.unattended(atOnce + paused.size);
    for (const id of paused.keys()) if (!ids.includes(id)) paused.delete(id);
    const due = ids.filter((id) => (paused.get(id)?.until ?? 0) <= performance.now());
    const writers = await Promise.all(
      due.slice(0, atOnce).map(async (id) => {
        // A turn that is taken while the host stops would have to be left again.
        const writer = isClosed ? undefined : await takeOrPause(id);
        if (writer !== undefined) void track(resume(writer));
        return writer;
      }),
    );
    // There may be thousands more, so the next poll begins at once.
    isWanted ||= writers.length === atOnce && !writers.includes(undefined) && !isFull;
  };
  const pollNow = async (): Promise<void> => {
    isWanted = false;
    await poll().catch((error: unknown) => onError(error));
    polling = undefined;
    if (isClosed) return;
    if (isWanted) wake();
    else timer = setTimeout(pollByTimer, pollMs).unref();
  };
  const pollByTimer = (): void => {
    isFull = false;
    wake();
  };
  const wake = (): void => {
    clearTimeout(timer);
    isWanted = true;
    if (!isClosed) polling ??= pollNow();
  };

  return {
    watch: (api) => ({
      ...api,
      executeTurn(context, request, call) {
        const turn = api.executeTurn(context, request, call);
        return call?.isAsync === true ? track(turn) : turn;
      },
    }),
    start: wake,
    wake,
    async close() {
      isClosed = true;
      clearTimeout(timer);
      await polling;
      journal.pauseAll();
      // Running calls may end, because a call that is cut off would be reported as interrupted.
      const stopping = setTimeout(() => journal.stopAll(new TurnPause("The host stops.")), graceMs);
      await Promise.allSettled(running);
      clearTimeout(stopping);
    },
  };
}
