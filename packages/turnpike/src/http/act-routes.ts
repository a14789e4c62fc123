import {
  errorCodes,
  IdentifierSchema,
  routes,
  type ActOutcome,
  type ActRequest,
  type ActState,
} from "../contracts/index.ts";
import type { ActScope } from "../kernel/index.ts";
import { preferredWait } from "./negotiate.ts";
import { pathParameters } from "./router.ts";
import { jsonReply, type Reply } from "./reply.ts";
import type { ServiceApi } from "./service-api.ts";
import type { ServiceCall, ServiceRoute } from "./service-call.ts";
import { ServiceHttpError } from "./service-http-error.ts";
import { isNameable, queryOf, single } from "./turn-query.ts";

/** The routes that need a store of acts. */
export type ActRouteName = "beginAct" | "finishAct" | "getAct";

/** An api with a store of acts. */
export type ActApi = Required<Pick<ServiceApi, ActRouteName>>;

/** The answers of the routes of acts. An act belongs to the caller when its tenant and actor are the caller's. */
export function actAnswers(api: ActApi): Record<ActRouteName, ServiceRoute["answer"]> {
  return {
    async beginAct({ context, body, headers, options }) {
      const request = body as ActRequest;
      // Its outcome could never be reported.
      if (!isNameable(request.id)) throw invalid("/id: expected an id that a URL can name");
      const waitSeconds = preferredWait(headers.get("prefer"));
      if (waitSeconds === 0) return beginReply(await api.beginAct(context, request, options));
      const applied: Record<string, string> = {};
      const onHeld = (): void => void (applied["preference-applied"] = `wait=${waitSeconds}`);
      return beginReply(await api.beginAct(context, request, { ...options, waitSeconds, onHeld }), applied);
    },
    finishAct: async (call) =>
      jsonReply(await api.finishAct(call.context, idOf("finishAct", call), call.body as ActOutcome, call.options)),
    getAct: async (call) => {
      const scope = readScope(call.target);
      return jsonReply(await api.getAct(call.context, idOf("getAct", call), scope, call.options));
    },
  };
}

/** An outcome that answers the request to begin is one that was reported before. */
function beginReply(state: ActState, headers?: Reply["headers"]): Reply {
  const isReplayed = state.status === "succeeded" || state.status === "failed";
  if (isReplayed) return jsonReply(state, 200, { ...headers, "idempotency-replayed": "true" });
  return jsonReply(state, state.status === "waiting" ? 202 : 200, headers);
}

function idOf(name: ActRouteName, { path }: ServiceCall): string {
  const id = pathParameters(routes[name].path, path)?.["id"];
  const read = IdentifierSchema.safeParse(id);
  if (read.success) return read.data;
  const { status, meaning } = errorCodes.not_found;
  throw new ServiceHttpError(status, "not_found", meaning);
}

/** Reads by what `GET /v1/acts/{id}` finds the act; throws `invalid_request`. */
function readScope(target: string): ActScope {
  const query = queryOf(target);
  const [executionId, traceId] = [single(query, "executionId"), single(query, "traceId")];
  const given = executionId ?? traceId;
  if (!IdentifierSchema.safeParse(given).success)
    throw invalid("traceId: expected the traceId or the executionId that the act began with");
  return executionId === undefined ? { traceId } : { executionId };
}

function invalid(message: string): ServiceHttpError {
  return new ServiceHttpError(400, "invalid_request", message);
}
