import type { DiscoveryContext, JsonObject } from "turnpike/contracts";
import { acceptContext, jsonReply, readJsonBody, type ServiceApi, toHttpError } from "turnpike/http";
import { answerHook, type HookGate, readHook, refuseHook } from "../../agent-hooks/index.ts";
import type { ContextResolver } from "../../access/index.ts";
import type { IncomingRequest, Protocol } from "../../front/index.ts";

/** What the protocol uses. */
export interface HooksOptions {
  api: Pick<ServiceApi, "beginAct" | "finishAct">;
  resolveContext: ContextResolver;
  clock: () => Date;
}

/** The hooks of coding agents that send them over HTTP. */
export function hooksProtocol({ api, resolveContext, clock }: HooksOptions): Protocol<DiscoveryContext> {
  return {
    owns: (path) => path.startsWith("/hooks/"),
    admit: ({ request, record }) => resolveContext(request.headers, record),
    routes: [],
    openRoutes: [
      {
        method: "POST",
        path: "/hooks/v1/claude-code",
        async answer(incoming) {
          return jsonReply((await answerClaudeCode(incoming)) ?? {});
        },
      },
    ],
  };

  /** INVARIANT: this never rejects, not even for a sender who is not admitted: Claude Code runs the tool after any other status than 200. */
  async function answerClaudeCode(incoming: IncomingRequest): Promise<JsonObject | undefined> {
    const { request, record, onLateError } = incoming;
    try {
      const context = await resolveContext(request.headers, record);
      request.admit();
      const hook = readHook(await readJsonBody(request.body), "claude-code");
      if (hook.kind === "undecided") return refuseHook(hook, hook.why);
      if (record.facts !== undefined) record.facts = { ...record.facts, traceId: hook.trace };
      const own = acceptContext({ ...context, traceId: hook.trace }, "required");
      return await answerHook(hook, gateFor(own, incoming), { now: clock() });
    } catch (error) {
      const { code, status, message } = toHttpError(error, request.signal);
      if (status >= 500) onLateError(error);
      // Only a small body is read of a sender who is not admitted.
      const sent = await readJsonBody(request.body).catch(() => undefined);
      return refuseHook(readHook(sent, "claude-code"), `${code}: ${message}`);
    }
  }

  function gateFor(context: DiscoveryContext, { request, record, onLateError }: IncomingRequest): HookGate {
    const options = { signal: request.signal, host: record };
    const inPublic = (error: unknown): never => {
      const known = toHttpError(error, request.signal);
      if (known.status >= 500) onLateError(error);
      throw known;
    };
    const accepted = acceptContext(context, "required");
    return {
      async begin(act) {
        if (api.beginAct === undefined) throw new TypeError("The service has no store of acts.");
        return api.beginAct(accepted, act, options).catch(inPublic);
      },
      async finish(id, outcome) {
        if (api.finishAct === undefined) throw new TypeError("The service has no store of acts.");
        return api.finishAct(accepted, id, outcome, options).catch(inPublic);
      },
    };
  }
}
