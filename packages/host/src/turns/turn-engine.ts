import type { AccessContext, JsonObject } from "turnpike/contracts";
import type { ServiceApi, ServiceApiCallOptions } from "turnpike/http";
import { TurnPause } from "turnpike/runtime";
import type { TurnJournalStore } from "./journal/journal-store.ts";
import type { JournalPen } from "./journal/pen.ts";
import type { TurnId } from "./journal/turn-rows.ts";
import { isOverloaded } from "./turn-limit.ts";

/** What the engine uses. */
export interface TurnEngineOptions {
  journal: TurnJournalStore;
  /** Runs a turn, or goes on with one, inside every limit. */
  runs: ServiceApi;
  /** The context in which a turn goes on: that of its beginning, as it is now. */
  contextNow(context: AccessContext): Promise<AccessContext>;
  /** The call options of somebody whose credential was kept. */
  callOf(credential: JsonObject | undefined): ServiceApiCallOptions;
  clock(): Date;
  /** Told what kept a turn from going on. It is tried again. */
  onError(error: unknown, executionId?: string): void;
}

/** Goes on with turns that nobody runs: of processes that ended, and those whose question was answered. */
export interface TurnEngine {
  /** The same api, whose asynchronous turns end before the engine is closed. */
  watch(api: ServiceApi): ServiceApi;
  start(): void;
  /** Looks for turns at once, instead of within a second. */
  nudge(): void;
  /** Stops every asynchronous turn, to go on at the next start or on another host. */
  close(): Promise<void>;
}

const lookMs = 1_000;
/** How many turns one look begins with, and how many wait at most to be told something. */
const atOnce = 32;
/** Answers that came between a question and its waiting are rare, and looked for less often. */
const missedEvery = 5;
const longestPauseMs = 60_000;
/** How long the calls of turns may take to end when the host stops. */
const graceMs = 10_000;

/** Makes the engine of a host. There is one for each process. */
export function createTurnEngine(options: TurnEngineOptions): TurnEngine {
  const { journal, runs, clock, onError } = options;
  const running = new Set<Promise<unknown>>();
  /** Turns that could not go on, and when they are tried again. */
  const paused = new Map<TurnId, { until: number; ms: number }>();
  let timer: NodeJS.Timeout | undefined;
  let looking: Promise<void> | undefined;
  let isWanted = false;
  /** Whether a turn found no slot since the engine looked for turns by itself. */
  let isFull = false;
  let isClosed = false;
  let looks = 0;

  const track = <T>(run: Promise<T>): Promise<T> => {
    running.add(run);
    const forget = (): void => void running.delete(run);
    run.then(forget, forget);
    return run;
  };

  /** Each time that a turn cannot go on it is tried again later than the time before. */
  const pauseLonger = (id: TurnId, ms = Math.min(longestPauseMs, (paused.get(id)?.ms ?? lookMs / 2) * 2)): void =>
    void paused.set(id, { until: performance.now() + ms, ms });

  const goOn = async (pen: JournalPen): Promise<void> => {
    const { request, context, isAsync } = pen.turn;
    try {
      const call = options.callOf(pen.credential);
      await runs.executeTurn(await options.contextNow(context), request, { ...call, isAsync, pen });
      paused.delete(pen.id);
    } catch (error) {
      const hadNoSlot = isOverloaded(error);
      isFull ||= hadNoSlot;
      // A slot may be free at any time; whatever else is wrong may take longer.
      pauseLonger(pen.id, hadNoSlot ? lookMs : undefined);
      if (!hadNoSlot && !(error instanceof TurnPause)) onError(error, request.executionId);
      await journal.leave(pen).catch((cause: unknown) => onError(cause, request.executionId));
    }
  };

  /** One that cannot be taken keeps no other from going on. */
  const takeOrPause = (id: TurnId): Promise<JournalPen | undefined> =>
    journal.take(id).catch((error: unknown) => {
      pauseLonger(id);
      onError(error);
      return undefined;
    });

  const look = async (): Promise<void> => {
    const now = clock().toISOString();
    await journal.cancelled();
    await journal.wakeExpired(now, atOnce);
    if ((looks += 1) % missedEvery === 0) await journal.wakeMissed(atOnce);
    const ids = await journal.unattended(atOnce + paused.size);
    for (const id of paused.keys()) if (!ids.includes(id)) paused.delete(id);
    const due = ids.filter((id) => (paused.get(id)?.until ?? 0) <= performance.now());
    const pens = await Promise.all(
      due.slice(0, atOnce).map(async (id) => {
        // Whatever is taken while the host stops would have to be left again.
        const pen = isClosed ? undefined : await takeOrPause(id);
        if (pen !== undefined) void track(goOn(pen));
        return pen;
      }),
    );
    // There may be thousands more, and as many seconds would be long.
    isWanted ||= pens.length === atOnce && !pens.includes(undefined) && !isFull;
  };
  const lookAgain = async (): Promise<void> => {
    isWanted = false;
    await look().catch((error: unknown) => onError(error));
    looking = undefined;
    if (isClosed) return;
    if (isWanted) nudge();
    else timer = setTimeout(lookAfresh, lookMs).unref();
  };
  const lookAfresh = (): void => {
    isFull = false;
    nudge();
  };
  const nudge = (): void => {
    clearTimeout(timer);
    isWanted = true;
    if (!isClosed) looking ??= lookAgain();
  };

  return {
    watch: (api) => ({
      ...api,
      executeTurn(context, request, call) {
        const turn = api.executeTurn(context, request, call);
        return call?.isAsync === true ? track(turn) : turn;
      },
    }),
    start: nudge,
    nudge,
    async close() {
      isClosed = true;
      clearTimeout(timer);
      await looking;
      journal.pauseAll();
      // What is on its way may end; a call that was cut off would have to be told as interrupted.
      const stopping = setTimeout(() => journal.stopAll(new TurnPause("The host stops.")), graceMs);
      await Promise.allSettled(running);
      clearTimeout(stopping);
    },
  };
}
