/** A handler over a journal of turns in memory, whose turns the test plays itself. */
import type { TurnEvent, TurnRequest, TurnResult } from "../src/contracts/index.ts";
import type { ExecuteTurnOptions, ServiceApi } from "../src/http/index.ts";
import { KnownTurnError, type JournalEntry, type TurnKey, type RunWriter } from "../src/runtime/index.ts";
import { memoryTurnJournal, type MemoryTurnJournal } from "../src/testing/index.ts";
import { agent, alice, contextOf, now, untyped } from "./deployment.ts";
import { exchanges, httpWorldOf, type HttpWorld, type HttpWorldOptions } from "./http.ts";

/** One turn that was begun. */
interface PlayedTurn {
  writer: RunWriter;
  options: ExecuteTurnOptions;
  /** Stores events up to this sequence, then shows them. */
  emit(to: number): Promise<void>;
  /** The turn waits for an answer. */
  wait(): Promise<void>;
  /** Ends the turn in the journal and for its caller. */
  end(): Promise<void>;
  /** Ends the run without an end of the turn. */
  fail(error: unknown): void;
}

export interface JournaledWorld extends HttpWorld {
  journal: MemoryTurnJournal;
  played(executionId: string): PlayedTurn;
}

/** The request of a turn under an id. */
export function turnRequest(executionId: string, changes: Partial<TurnRequest> = {}): TurnRequest {
  return untyped({ ...exchanges.executeTurn.body, executionId, ...changes });
}

export function keyOf(executionId: string): TurnKey {
  return { namespaceId: "demo", actor: agent, executionId };
}

export function eventOf(executionId: string, sequence: number): TurnEvent {
  const ids = { eventId: `event-${sequence}`, executionId, traceId: "trace-1" };
  return { version: 1, ...ids, sequence, type: "runtime.event", data: `x${sequence}`, occurredAt: now };
}

export const escalation = { status: "pending", reason: "May I?", requestedAt: now, reviewer: alice } as const;

/** The events up to a sequence, from another on. */
export function eventsOf(executionId: string, from: number, to: number): TurnEvent[] {
  return Array.from({ length: to - from }, (_, index) => eventOf(executionId, from + index));
}

/** How a turn of so many events ends, with the keys in the order in which an executor writes them. */
export function resultOf(executionId: string, events: number): TurnResult {
  return {
    version: 1,
    executionId,
    traceId: "trace-1",
    startedAt: now,
    completedAt: now,
    events: eventsOf(executionId, 0, events),
    status: "succeeded",
    output: "done",
  };
}

/** The journal is that of the handler; what is given replaces parts of the world. */
export function journaledWorldOf(options: HttpWorldOptions = {}): JournaledWorld {
  const journal = memoryTurnJournal();
  const turns = new Map<string, PlayedTurn>();
  const executeTurn: ServiceApi["executeTurn"] = async (context, request, given = {}) => {
    const { executionId } = request;
    const { isAsync = false, onBegun, onEvent } = given;
    const limits = { maxSteps: 16, maxToolCalls: 16, timeoutMs: 120_000 };
    const runtime = { id: "played", version: "1" };
    const turn = { request, context: { ...context, executionId }, isAsync, runtime, limits, startedAt: now };
    const begun = await journal.begin(turn, given);
    if (begun.kind === "known") throw new KnownTurnError(begun);
    const { writer } = begun;
    const state = await journal.find({ namespaceId: context.namespaceId, actor: context.actor, executionId });
    return new Promise((resolve, reject) => {
      turns.set(executionId, playedTurn(executionId, writer, { given, resolve, reject, onEvent }));
      if (state !== undefined) onBegun?.(state);
    });
  };
  const world = httpWorldOf({ ...options, journal: options.journal ?? journal, api: { executeTurn, ...options.api } });
  return {
    ...world,
    journal,
    played(executionId) {
      const turn = turns.get(executionId);
      if (turn === undefined) throw new Error(`The turn ${executionId} was not begun.`);
      return turn;
    },
  };
}

interface Caller {
  given: ExecuteTurnOptions;
  onEvent: ((event: TurnEvent) => void) | undefined;
  resolve(result: TurnResult): void;
  reject(error: unknown): void;
}

function playedTurn(executionId: string, writer: RunWriter, { given, resolve, reject, onEvent }: Caller): PlayedTurn {
  let emitted = 0;
  const append = (entries: JournalEntry[]): Promise<void> =>
    writer.write(entries, { at: now, steps: emitted, toolCalls: 0, ranMs: 0 });
  return {
    writer,
    options: given,
    async emit(to) {
      const events = eventsOf(executionId, emitted, to);
      emitted = to;
      await append(events.map((event) => ({ kind: "event", event })));
      for (const event of events) onEvent?.(event);
    },
    wait: () => append([{ kind: "waiting", callId: "call-1", escalation }]),
    async end() {
      const { events: _stored, ...result } = resultOf(executionId, emitted);
      await append([{ kind: "ended", result }]);
      resolve(resultOf(executionId, emitted));
    },
    fail: reject,
  };
}

/** A context whose actor and tenant are those that the request's headers name. */
export function contextByHeaders(request: Request): Promise<ReturnType<typeof contextOf>> {
  const agentId = request.headers.get("x-actor") ?? "helper";
  const namespaceId = request.headers.get("x-tenant") ?? "demo";
  return Promise.resolve(contextOf({ actor: { kind: "agent", agentId }, namespaceId }));
}
