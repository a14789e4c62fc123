import { createHash } from "node:crypto";
import { principalKey, saysNothingRan, type AccessContext, type TurnResult } from "turnpike/contracts";
import { ServiceHttpError, type ServiceApi, type ServiceApiCallOptions } from "turnpike/http";
import { KernelError } from "turnpike/kernel";
import { canonicalJson } from "../base/index.ts";
import type { ReplayKey, ReplayState, ReplayStore } from "./replay-store.ts";

/** What replay protection is made of. */
export interface ReplayOptions {
  store: ReplayStore;
  /** Told when a recorded result is given instead of running anything. */
  onReplay?(key: ReplayKey, call: ServiceApiCallOptions | undefined): void;
  /** Told when what became of an effect could not be kept yet. The store tries again by itself. */
  onStoreError?(error: unknown, key: ReplayKey): void;
}

/**
 * Makes every effect of an api happen at most once under its id, across processes and restarts. An id belongs to the
 * actor who chose it, and what was refused before anything happened leaves it free.
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
    async executeTurn(context, request, callOptions) {
      const { createdAt: _observed, ...message } = request.message;
      const key = { kind: "turn", scope: "", id: request.executionId } as const;
      let hasRun = false;
      const result = await once(context, key, { ...request, message }, callOptions, () => {
        hasRun = true;
        return api.executeTurn(context, request, callOptions);
      });
      if (!hasRun) showAgain(result, callOptions?.onEvent);
      return result;
    },
  };
}

function showAgain({ events }: TurnResult, onEvent: ((event: TurnResult["events"][number]) => void) | undefined): void {
  for (const event of events) onEvent?.(event);
}

async function runOnce<Result extends { status: string }>(
  { store, onReplay, onStoreError }: ReplayOptions,
  key: ReplayKey,
  fingerprint: string,
  callOptions: ServiceApiCallOptions | undefined,
  run: (watched: ServiceApiCallOptions) => Promise<Result>,
): Promise<Result> {
  const state = await claim(store, key, fingerprint);
  if (state.kind === "finished") {
    onReplay?.(key, callOptions);
    return state.result as Result;
  }
  if (state.kind !== "new") throw refusal(state);

  const keep = (write: Promise<void>): Promise<void> => write.catch((error: unknown) => onStoreError?.(error, key));
  let begun: "read" | "write" | undefined;
  const onEffect = (effect: "read" | "write"): void => {
    begun = effect;
    callOptions?.onEffect?.(effect);
  };
  let result: Result;
  try {
    result = await run({ ...callOptions, onEffect });
  } catch (error) {
    const isFree = begun === undefined && isBeforeEffect(error, callOptions?.signal);
    await keep(isFree ? store.release(key) : store.interrupt(key));
    throw error;
  }
  // A tool may answer, after its effect, with a code that says that nothing ran.
  const isFree = begun === undefined && isRefused(key, result);
  await keep(isFree ? store.release(key) : store.finish(key, result, begun));
  return result;
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

/**
 * Whether a result says that nothing happened. A turn that failed may have called tools before it did, whatever its code;
 * a turn that was denied ran nothing if it was denied for a reason of its admission.
 */
function isRefused({ kind }: ReplayKey, result: { status: string; error?: { code: string } }): boolean {
  const { status, error } = result;
  const isRefusal = status === "denied" || (status === "failed" && kind !== "turn");
  return isRefusal && error !== undefined && saysNothingRan(error.code);
}

async function claim(store: ReplayStore, key: ReplayKey, fingerprint: string): Promise<ReplayState> {
  try {
    return await store.begin(key, fingerprint);
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

/**
 * Equal for two requests that ask for the same effect; when they were made does not matter. The actor is in the key too:
 * it stays here because the rows from before that are compared by it.
 */
function fingerprintOf({ actor, authority, owner, purpose }: AccessContext, body: unknown): string {
  return createHash("sha256")
    .update(canonicalJson([actor, authority, owner, purpose, body]))
    .digest("hex");
}
