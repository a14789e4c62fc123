import { principalKey, type AccessContext } from "turnpike/contracts";
import { ServiceHttpError, type ServiceApi, type ServiceApiCallOptions } from "turnpike/http";
import type { AccessGuard } from "turnpike/kernel";
import { recordOf } from "./request-record.ts";
import type { NamespaceSettingsStore } from "../tool-namespaces/index.ts";
import type { Caller } from "./authenticate.ts";

/** The options of a guard. */
export interface AccessGuardOptions {
  settings: NamespaceSettingsStore;
  clock: () => Date;
  /** The caller whose request is behind a call of the api. */
  callerOf?: (options?: ServiceApiCallOptions) => Caller | undefined;
}

/** A guard that knows the caller of each running turn, if turns are started through `watchTurns`. */
export interface HostAccessGuard extends AccessGuard {
  /** The same api, whose turns the guard knows while they run. It belongs below every layer that replays turns. */
  watchTurns(api: ServiceApi): ServiceApi;
}

/** Stops the next call of a turn whose credential is no longer valid. A turn of an unknown caller may call nothing. */
export function createAccessGuard(options: AccessGuardOptions): HostAccessGuard {
  const { settings, clock, callerOf = (call) => recordOf(call)?.caller } = options;
  const running = new Map<string, Caller>();
  return {
    async check(context) {
      const caller = running.get(turnKey(context, context.executionId));
      if (caller === undefined) return { isActive: false };
      const { namespaceId, actor } = context;
      const [isActive, enabledToolNamespaces] = await Promise.all([
        caller.isValidAt(clock()),
        settings.enabled(namespaceId, actor),
      ]);
      return isActive ? { isActive, enabledToolNamespaces } : { isActive };
    },
    watchTurns: (api) => ({
      ...api,
      async executeTurn(context, request, callOptions) {
        const key = turnKey(context, request.executionId);
        // With two turns of one id, the credential of one would count for the other.
        if (running.has(key)) throw stillRunning();
        const caller = callerOf(callOptions);
        if (caller !== undefined) running.set(key, caller);
        try {
          return await api.executeTurn(context, request, callOptions);
        } finally {
          if (caller !== undefined) running.delete(key);
        }
      },
    }),
  };
}

function turnKey({ namespaceId, actor }: AccessContext, executionId: string | undefined): string {
  return JSON.stringify([namespaceId, principalKey(actor), executionId]);
}

function stillRunning(): ServiceHttpError {
  const headers = { "retry-after": "1" };
  return new ServiceHttpError(409, "replay_pending", "The same request is still running.", { headers });
}
