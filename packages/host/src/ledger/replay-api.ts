import { canonicalJson, principalKey, saysNothingRan, type AccessContext, type TurnRequest } from "turnpike/contracts";
import { ServiceHttpError, type ServiceApi, type ServiceApiCallOptions } from "turnpike/http";
import { KernelError } from "turnpike/kernel";
import { sha256 } from "../shared/index.ts";
import type { CallClaim } from "./call-claim.ts";
import { entryOf } from "./chain.ts";
import { FencedResultError, type ReplayKey, type ReplayState, type ReplayStore } from "./replay-store.ts";

/** The options of replay protection. */
export interface ReplayOptions {
  store: ReplayStore;
  /**
   * The api makes the claim of a call with its first write, which is before every effect. Any other api is called after the
   * claim was made.
   */
  isClaimMadeByApi?: boolean;
  /** Called when a recorded result is returned instead of running anything. */
  onReplay?(key: ReplayKey, call: ServiceApiCallOptions | undefined): void;
  /** Called when the outcome of an effect could not be written yet. The store retries by itself. */
  onStoreError?(error: unknown, key: ReplayKey): void;
}

/** The errors that replay protection adds to an operation. */
export const replayErrors = ["replay_pending", "replay_interrupted", "replay_conflict", "replay_unavailable"] as const;

/**
 * Makes every effect of an api happen at most once under its id, across processes and restarts. An id belongs to the actor who
 * chose it. A request that was refused before anything happened leaves its id free. Turns use their journal for that.
 */
export function protectFromReplay(api: ServiceApi, options: ReplayOptions): ServiceApi {
  const once = <Result extends { status: string }>(
    context: AccessContext,
    chosen: Omit<ReplayKey, "namespaceId" | "actor">,
    body: unknown,
    callOptions: ServiceApiCallOptions | undefined,
    run: (watched: ServiceApiCallOptions) => Promise<Result>,
  ) => {
    const key = { namespaceId: context.namespaceId, actor: principalKey(context.actor), ...chosen };
    return runOnce(options, key, fingerprintOf(context, body), callOptions, run);
  };
  return {
    ...api,
    invokeTool(context, call, callOptions) {
      const { requestedAt: _observed, ...body } = call;
      const key = { kind: "tool", scope: context.executionId ?? call.traceId, id: call.id } as const;
      return once(context, key, body, callOptions, (watched) => api.invokeTool(context, call, watched));
    },
    invokeResource(context, operation, callOptions) {
      const { context: _ignored, ...body } = operation;
      const key = { kind: "resource", scope: "", id: operation.operationId } as const;
      return once(context, key, body, callOptions, (watched) => api.invokeResource(context, operation, watched));
    },
    sendMessage(context, envelope, callOptions) {
      const { createdAt: _observed, ...body } = envelope;
      const key = { kind: "message", scope: "", id: envelope.id } as const;
      return once(context, key, body, callOptions, (watched) => api.sendMessage(context, envelope, watched));
    },
  };
}

/** Runs an effect unless its key is taken. */
async function runOnce<Result extends { status: string }>(
  options: ReplayOptions,
  key: ReplayKey,
  fingerprint: string,
  callOptions: ServiceApiCallOptions | undefined,
  run: (watched: ServiceApiCallOptions) => Promise<Result>,
): Promise<Result> {
  for (;;) {
    const opened = await orUnavailable(options.store.open(key, fingerprint));
    if (opened.kind !== "open") return replayed(options, key, callOptions, opened);
    const isMine = options.isClaimMadeByApi === true || (await opened.claim.make()).kind === "made";
    const ran = isMine ? await tryToRun(callOptions, opened.claim, run) : undefined;
    const state = await orUnavailable(opened.settle());
    // Another call had the key and released it meanwhile. Nothing ran here.
    if (state === undefined) continue;
    if (state.kind !== "new" && state.kind !== "given back") return replayed(options, key, callOptions, state);
    if (ran === undefined) throw new Error("A claim was made, and nothing was run under it.");
    if (state.kind === "new") await end(options, key, ran, opened.claim, callOptions?.signal);
    if ("error" in ran) throw ran.error;
    return ran.result;
  }
}

/** How a run ended, and the effect that had begun by then, if any. */
type Run<Result> = { begun: "read" | "write" | undefined } & ({ result: Result } | { error: unknown });

/** INVARIANT: the api writes its decision, and so makes the claim, before the effect begins. */
async function tryToRun<Result>(
  callOptions: ServiceApiCallOptions | undefined,
  claim: CallClaim,
  run: (watched: ServiceApiCallOptions) => Promise<Result>,
): Promise<Run<Result>> {
  let begun: "read" | "write" | undefined;
  const onEffect = (effect: "read" | "write"): void => {
    begun = effect;
    callOptions?.onEffect?.(effect);
  };
  try {
    const { signal, host, onProgress } = callOptions ?? {};
    return { result: await run({ signal, onEffect, onProgress, host, writes: claim }), begun };
  } catch (error) {
    return { error, begun };
  }
}

/**
 * Writes the outcome of a claim that was made, with the pending events of its call. Throws when the result must not be told, because it
 * will not be replayed.
 */
async function end<Result extends { status: string }>(
  { store, onStoreError }: ReplayOptions,
  key: ReplayKey,
  ran: Run<Result>,
  { pendingEvents }: CallClaim,
  signal: AbortSignal | undefined,
): Promise<void> {
  const entries = pendingEvents.map(entryOf);
  const settle = (write: Promise<void>): Promise<void> => write.catch((error: unknown) => onStoreError?.(error, key));
  if ("error" in ran) {
    const isFree = ran.begun === undefined && isBeforeEffect(ran.error, signal);
    return settle(isFree ? store.release(key, entries) : store.interrupt(key, entries));
  }
  // After its effect, a tool may still answer with a code that says that nothing ran.
  if (ran.begun === undefined && isRefused(ran.result)) return settle(store.release(key, entries));
  try {
    await store.finish(key, ran.result, ran.begun, entries).catch((error: unknown) => {
      if (error instanceof FencedResultError) throw error;
      onStoreError?.(error, key);
      return store.mayTell(key);
    });
  } catch (error) {
    throw error instanceof FencedResultError ? interruptedReplay(fencedMessage) : error;
  }
}

function replayed<Result>(
  { onReplay }: ReplayOptions,
  key: ReplayKey,
  callOptions: ServiceApiCallOptions | undefined,
  state: Exclude<ReplayState, { kind: "new" }>,
): Result {
  if (state.kind !== "finished") throw refusal(state);
  onReplay?.(key, callOptions);
  return state.result as Result;
}

/**
 * Whether an error surely came before anything ran: a refusal of the request by its code, or the reason of the caller's
 * signal, with which an api rejects before the effect only (what is cancelled later has a result). Any other error may
 * have come after the effect had begun.
 */
function isBeforeEffect(error: unknown, signal: AbortSignal | undefined): boolean {
  if (signal?.aborted === true && error === signal.reason) return true;
  return (error instanceof ServiceHttpError || error instanceof KernelError) && saysNothingRan(error.code);
}

/** Whether a result says that nothing happened. */
function isRefused({ status, error }: { status: string; error?: { code: string } }): boolean {
  return (status === "denied" || status === "failed") && error !== undefined && saysNothingRan(error.code);
}

async function orUnavailable<T>(answer: Promise<T>): Promise<T> {
  try {
    return await answer;
  } catch (cause) {
    throw new ServiceHttpError(503, "replay_unavailable", "The replay store did not answer; nothing ran.", { cause });
  }
}

/** What a caller is told whose result is stored nowhere. */
export const fencedMessage =
  "The host could not be seen by others while it worked, so its result is not recorded; its effect may have happened.";

/** The error for a request whose effect may have happened, and whose result is not recorded. */
export function interruptedReplay(message: string): ServiceHttpError {
  return new ServiceHttpError(409, "replay_interrupted", message);
}

/** The error for a request whose result will be known later. */
export function pendingReplay(message: string): ServiceHttpError {
  return new ServiceHttpError(409, "replay_pending", message, { headers: { "retry-after": "1" } });
}

function refusal({ kind }: { kind: "running" | "interrupted" | "conflict" }): ServiceHttpError {
  switch (kind) {
    case "running":
      return pendingReplay("The same request is still running.");
    case "interrupted":
      return interruptedReplay("The same request ended without a recorded result; its effect may have happened.");
    case "conflict":
      return new ServiceHttpError(409, "replay_conflict", "This id was used for another request.");
  }
}

/** The parts of a turn's request that identify it. The time of its message is not one of them. */
function bodyOf(request: TurnRequest): unknown {
  const { createdAt: _observed, ...message } = request.message;
  return { ...request, message };
}

/** The fingerprint of a turn. */
export function turnFingerprint(context: AccessContext, request: TurnRequest): string {
  return fingerprintOf(context, bodyOf(request));
}

/**
 * Equal for two requests for the same effect, whenever they were made. The actor is part of the key too; it stays here because
 * older rows are compared by it.
 */
function fingerprintOf({ actor, authority, owner, purpose }: AccessContext, body: unknown): string {
  return sha256(canonicalJson([actor, authority, owner, purpose, body]));
}
