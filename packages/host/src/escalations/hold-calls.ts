import { performance } from "node:perf_hooks";
import type { AccessContext, ActRequest, ActState } from "turnpike/contracts";
import type { BeginActOptions, ServiceApi, ServiceApiCallOptions } from "turnpike/http";
import type { HeldCalls } from "./held-calls.ts";

export interface HoldCallsOptions {
  held: HeldCalls;
  /** The credential of the caller; undefined for a call without a request, which is not held. */
  credentialOf(call: ServiceApiCallOptions | undefined): string | undefined;
  /** The context of the same caller as it is now. Throws when they are no longer admitted. */
  contextNow(context: AccessContext, call: ServiceApiCallOptions | undefined): Promise<AccessContext>;
  /** Runs what ends with a decision that is written. */
  attempt<T>(act: () => Promise<T>): Promise<T>;
}

/**
 * The same api, whose calls may wait for the person who is asked. A held call has taken nothing. It is asked again, as if the caller
 * had done so after the answer.
 */
export function holdCalls(api: ServiceApi, options: HoldCallsOptions): ServiceApi {
  const { beginAct } = api;
  const { held, credentialOf, contextNow, attempt } = options;
  if (beginAct === undefined) return api;
  return {
    ...api,
    async beginAct(context, request, call) {
      const until = performance.now() + waitOf(request, call) * 1000;
      let state = await beginAct(context, request, call);
      for (;;) {
        const ms = until - performance.now();
        const [asked, credentialId] = [askedBy(state), credentialOf(call)];
        if (asked === undefined || credentialId === undefined || ms <= 0) return state;
        const { namespaceId } = context;
        const holding = held.hold(
          { namespaceId, id: asked },
          { namespaceId, credentialId },
          { ms, signal: call?.signal },
        );
        if (holding === undefined) return state;
        call?.onHeld?.();
        if (!(await holding)) return state;
        state = await attempt(async () => beginAct(await contextNow(context, call), request, call));
        // By the clock of this host the escalation still waits.
        if (askedBy(state) === asked) return state;
      }
    },
  };
}

/** A dry run and a shadow ask no one. */
function waitOf({ dryRun, shadow }: ActRequest, call: BeginActOptions | undefined): number {
  return dryRun === true || shadow === true ? 0 : (call?.waitSeconds ?? 0);
}

/** The escalation that an act waits for. */
function askedBy(state: ActState): string | undefined {
  return state.status === "waiting" ? state.escalationId : undefined;
}
