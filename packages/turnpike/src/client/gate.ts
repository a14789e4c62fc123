import type { ActOutcome, ActRequest, ActState, JsonValue } from "../contracts/index.ts";
import { currentTimestamp, neverAborted, orAbort, quietly } from "../internal/index.ts";
import { ActDeniedError, ActFailedError, ActInterruptedError } from "./act-errors.ts";
import { mayComeBack, pause, pauseAfter } from "./come-back.ts";

type WithoutVersion<Body> = Body extends unknown ? Omit<Body, "version"> : never;

/** An act as the wire has it. Version and time are added, and a random trace when there is none. */
export type GateAct = Omit<ActRequest, "version" | "requestedAt" | "traceId"> & { traceId?: string | undefined };

/** What became of an act, which is named by the execution or the trace that it began with. */
export type GateOutcome = WithoutVersion<ActOutcome>;

/** How an act begins. */
export interface GateCallOptions {
  signal?: AbortSignal | undefined;
  /** For how many seconds to wait for a person who has to approve; 0 when absent. */
  wait?: number | undefined;
}

/** What an effect is given. */
export interface EffectContext {
  /** Fires when the caller of `run` cancels. */
  signal: AbortSignal;
  /** The id of the act, for services that take an idempotency key. */
  id: string;
}

/** Decides about effects that are carried out here, and records them. */
export interface Gate {
  /** Asks for an act. When it is `allowed`, carry it out and say so with `finish`, under the same trace or execution. */
  begin(act: GateAct, options?: GateCallOptions): Promise<ActState>;
  /** Says what became of an act. */
  finish(id: string, outcome: GateOutcome): Promise<ActState>;
  /**
   * Carries an effect out if the gate allows it, once for an id within its trace or execution, and records what became of it. A
   * repetition returns the recorded output as JSON. Throws `ActDeniedError`, `ActFailedError`, `ActInterruptedError`, what the effect
   * throws, or the error of a service that cannot be reached, and then nothing has happened.
   */
  run<Output>(
    act: GateAct,
    effect: (about: EffectContext) => Output | Promise<Output>,
    options?: GateCallOptions,
  ): Promise<Output>;
  /** Begins no more acts, and resolves when what has become of the others is reported. */
  close(): Promise<void>;
}

/** How a gate reaches the service: over HTTP, or within one process. Errors of the service have a `code` and a `status`. */
export interface GatePort {
  /** Holds the act for up to `waitSeconds` while a person is asked. */
  begin(request: ActRequest, options: { signal: AbortSignal | undefined; waitSeconds: number }): Promise<ActState>;
  finish(id: string, outcome: ActOutcome): Promise<ActState>;
}

/** What a gate may be given beside its port. */
export interface GateOptions {
  /** Hears of effects that happened although the service could not be told: it will call these acts interrupted. */
  onUnreported?: ((id: string, error: unknown) => void) | undefined;
}

/** How often an outcome is reported before the caller of `run` goes on without it. */
const maxReports = 6;

/** How long an effect that is only shadowed is held up. */
const shadowPatienceMs = 5000;

/**
 * Makes a gate of a port. Hosts that share a process with their agents use it; others use `connectGate`.
 *
 * @example
 * import { createGate, type GatePort } from "turnpike/client";
 *
 * const begin: GatePort["begin"] = async ({ id }) => ({ status: "allowed", id, grants: ["grant-1"] });
 * const finish: GatePort["finish"] = async (id) => ({ status: "succeeded", id, completedAt: "2026-01-01T12:00:00Z" });
 * const needs = [{ action: "send", resource: { namespace: "mail", path: ["bob"] } }];
 * console.log(await createGate({ begin, finish }).run({ id: "call-1", tool: "send_mail", needs }, () => "sent")); // sent
 */
export function createGate(port: GatePort, { onUnreported }: GateOptions = {}): Gate {
  const underway = new Set<Promise<unknown>>();
  let isClosed = false;

  const watched = async <Result>(work: Promise<Result>): Promise<Result> => {
    underway.add(work);
    try {
      return await work;
    } finally {
      underway.delete(work);
    }
  };

  const begin = async (request: ActRequest, { signal, wait = 0 }: GateCallOptions): Promise<ActState> => {
    signal?.throwIfAborted();
    if (isClosed) throw new Error("The gate is closed.");
    return port.begin(request, { signal, waitSeconds: wait });
  };

  /**
   * Begins an act that does not stay claimed when the caller cancels. Only a held request is abandoned, because the service takes
   * nothing for it. Any other is answered soon, and what the answer allows is given back.
   */
  const claim = async (request: ActRequest, { signal, wait = 0 }: GateCallOptions): Promise<ActState> => {
    const begun = begin(request, { signal: wait > 0 ? signal : undefined, wait });
    if (signal === undefined) return begun;
    try {
      const state = await orAbort(begun, signal);
      signal.throwIfAborted();
      return state;
    } catch (error) {
      if (signal.aborted) watched(giveBack(port, request, begun)).catch(() => {});
      throw error;
    }
  };

  const carryOut = async <Output>(
    request: ActRequest,
    effect: () => Output | Promise<Output>,
    signal: AbortSignal,
  ): Promise<Output> => {
    const report = (end: GateEnd): Promise<void> =>
      reportUntilTaken(port, request, end).catch((error: unknown) => {
        quietly(() => onUnreported?.(request.id, error));
      });
    let output: Output;
    try {
      output = await effect();
    } catch (error) {
      const code = signal.aborted ? "cancelled" : "effect_failed";
      await report({ status: "failed", error: { code, message: messageOf(error) } });
      throw error;
    }
    await report({ status: "succeeded", ...outputOf(output) });
    return output;
  };

  return {
    begin: (act, options = {}) => begin(requestOf(act), options),
    finish: (id, outcome) => port.finish(id, { version: 1, ...outcome }),
    async run(act, effect, options = {}) {
      if (act.dryRun !== undefined) throw new TypeError("A dry run allows nothing: begin it, and do not run it.");
      options.signal?.throwIfAborted();
      const request = requestOf(act);
      const signal = options.signal ?? neverAborted();
      const perform = () => effect({ signal, id: request.id });
      if (request.shadow === true) {
        await shadowed(begin(request, options), signal);
        return perform();
      }
      const begun = await claim(request, options).catch((error: unknown) => {
        throw interruptionOf(request.id, error) ?? error;
      });
      if (begun.status !== "allowed") return replayOf(begun) as Awaited<ReturnType<typeof effect>>;
      return watched(carryOut(request, perform, signal));
    },
    async close() {
      isClosed = true;
      await Promise.allSettled(underway);
    },
  };
}

type GateEnd = Pick<Extract<ActOutcome, { status: "succeeded" }>, "status" | "output"> | Failed;
type Failed = Pick<Extract<ActOutcome, { status: "failed" }>, "status" | "error">;

function requestOf(act: GateAct): ActRequest {
  return { ...act, version: 1, requestedAt: currentTimestamp(), traceId: act.traceId ?? crypto.randomUUID() };
}

/** Gives back what a caller was allowed who had cancelled already. What cannot be given back ends with its lease. */
async function giveBack(port: GatePort, request: ActRequest, begun: Promise<ActState>): Promise<void> {
  const { status } = await begun;
  if (status !== "allowed") return;
  const message = "The caller cancelled before it began.";
  await reportUntilTaken(port, request, {
    status: "failed",
    error: { code: "cancelled", message, nothingHappened: true },
  });
}

/** Reports until the service has taken it. An output that the service does not take at all is left out. */
async function reportUntilTaken(port: GatePort, request: ActRequest, end: GateEnd): Promise<void> {
  const { id, traceId, executionId } = request;
  const scope = executionId === undefined ? { traceId } : { executionId };
  let outcome: ActOutcome = { version: 1, ...scope, ...end };
  for (let failures = 0; ; failures += 1) {
    try {
      await port.finish(id, outcome);
      return;
    } catch (error) {
      if (outcome.status === "succeeded" && outcome.output !== undefined && isRefusedOutput(error))
        outcome = { version: 1, ...scope, status: "succeeded" };
      else if (mayComeBack(error) && failures + 1 < maxReports) await pause(pauseAfter(failures));
      else throw error;
    }
  }
}

function isRefusedOutput(error: unknown): boolean {
  return ["invalid_request", "invalid_json", "payload_too_large"].includes(codeOf(error) ?? "");
}

/** Waits for the service for a while, whatever it says. */
async function shadowed(begun: Promise<ActState>, signal: AbortSignal): Promise<void> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const patience = new Promise<void>((resolve) => (timer = setTimeout(resolve, shadowPatienceMs)));
  await orAbort(Promise.race([Promise.allSettled([begun]), patience]), signal).finally(() => clearTimeout(timer));
}

/** What was recorded of an act that is not to be carried out now. */
function replayOf(state: Exclude<ActState, { status: "allowed" }>): JsonValue | undefined {
  switch (state.status) {
    case "succeeded":
      return state.output;
    case "failed":
      throw new ActFailedError(state.id, state.error);
    case "interrupted":
      throw new ActInterruptedError(state.id, "replay_interrupted");
    case "denied":
    case "waiting":
      throw new ActDeniedError(state);
  }
}

function interruptionOf(id: string, error: unknown): ActInterruptedError | undefined {
  const code = codeOf(error);
  const isInterruption = code === "replay_pending" || code === "replay_interrupted";
  return isInterruption ? new ActInterruptedError(id, code, error) : undefined;
}

function codeOf(error: unknown): string | undefined {
  const code = error instanceof Error && "code" in error ? error.code : undefined;
  return typeof code === "string" ? code : undefined;
}

/** A text that the contract takes. */
function messageOf(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  return text.slice(0, 4096).replaceAll(/\p{Cs}/gu, "\uFFFD") || "It failed without a message.";
}

/** The output as JSON; nothing when it cannot be written as such. */
function outputOf(output: unknown): { output?: JsonValue } {
  try {
    const text = JSON.stringify(output) as string | undefined;
    return text === undefined ? {} : { output: JSON.parse(text) as JsonValue };
  } catch {
    return {};
  }
}
