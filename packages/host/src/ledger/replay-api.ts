import { principalKey, saysNothingRan, type AccessContext, type TurnRequest } from "turnpike/contracts";
import { ServiceHttpError, type ServiceApi, type ServiceApiCallOptions } from "turnpike/http";
import { KernelError } from "turnpike/kernel";
import { canonicalJson, sha256 } from "../base/index.ts";
import type { CallClaim } from "./call-claim.ts";
import type { ReplayKey, ReplayState, ReplayStore } from "./replay-store.ts";

/** What replay protection is made of. */
export interface ReplayOptions {
  store: ReplayStore;
  /**
   * The api keeps the claim of a call with the first thing that it keeps, which is before every effect. Any other api is
   * called when the claim is made.
   */
  isClaimKeptByApi?: boolean;
  /** Told when a recorded result is given instead of running anything. */
  onReplay?(key: ReplayKey, call: ServiceApiCallOptions | undefined): void;
  /** Told when what became of an effect could not be kept yet. The store tries again by itself. */
  onStoreError?(error: unknown, key: ReplayKey): void;
}

/** What an operation that is protected may be refused with. */
export const replayErrors = ["replay_pending", "replay_interrupted", "replay_conflict", "replay_unavailable"] as const;

/**
 * Makes every effect of an api happen at most once under its id, across processes and restarts. An id belongs to the
 * actor who chose it, and what was refused before anything happened leaves it free. Turns have their journal for that.
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
    const isMine = options.isClaimKeptByApi === true || (await opened.claim.make()).kind === "made";
    const ran = isMine ? await tryToRun(callOptions, opened.claim, run) : undefined;
    const state = await orUnavailable(opened.settle());
    // Somebody had the key and gave it back meanwhile: nothing ran here.
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

/** INVARIANT: what runs keeps its decision, and so makes the claim, before its effect begins. */
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
    return { result: await run({ signal, onEffect, onProgress, host, claim }), begun };
  } catch (error) {
    return { error, begun };
  }
}

/** Keeps what became of a claim that was made, and what its call recorded last. */
async function end<Result extends { status: string }>(
  { store, onStoreError }: ReplayOptions,
  key: ReplayKey,
  ran: Run<Result>,
  { entries }: CallClaim,
  signal: AbortSignal | undefined,
): Promise<void> {
  const keep = (write: Promise<void>): Promise<void> => write.catch((error: unknown) => onStoreError?.(error, key));
  if ("error" in ran) {
    const isFree = ran.begun === undefined && isBeforeEffect(ran.error, signal);
    return keep(isFree ? store.release(key, entries) : store.interrupt(key, entries));
  }
  // A tool may answer, after its effect, with a code that says that nothing ran.
  const isFree = ran.begun === undefined && isRefused(ran.result);
  return keep(isFree ? store.release(key, entries) : store.finish(key, ran.result, ran.begun, entries));
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

function refusal({ kind }: { kind: "running" | "interrupted" | "conflict" }): ServiceHttpError {
  switch (kind) {
    case "running":
      return new ServiceHttpError(409, "replay_pending", "The same request is still running.", {
        headers: { "retry-after": "1" },
      });
    case "interrupted":
      return new ServiceHttpError(
        409,
        "replay_interrupted",
        "The same request ended without a result that is kept; its effect may have happened.",
      );
    case "conflict":
      return new ServiceHttpError(409, "replay_conflict", "This id was used for another request.");
  }
}

/** What of a turn's request tells it from others: when its message was made does not. */
function bodyOf(request: TurnRequest): unknown {
  const { createdAt: _observed, ...message } = request.message;
  return { ...request, message };
}

/** The fingerprint of a turn. */
export function turnFingerprint(context: AccessContext, request: TurnRequest): string {
  return fingerprintOf(context, bodyOf(request));
}

/**
 * Equal for two requests that ask for the same effect; when they were made does not matter. The actor is in the key too:
 * it stays here because the rows from before that are compared by it.
 */
function fingerprintOf({ actor, authority, owner, purpose }: AccessContext, body: unknown): string {
  return sha256(canonicalJson([actor, authority, owner, purpose, body]));
}
