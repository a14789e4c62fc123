import {
  routes,
  type AuthorizeRequest,
  type Health,
  type MessageEnvelope,
  type NamespaceUpdate,
  type ResourceOperationRequest,
  type Route,
  type RouteName,
  type ToolCall,
} from "../contracts/index.ts";
import type { TurnJournal } from "../runtime/index.ts";
import { actAnswers, type ActApi, type ActRouteName } from "./act-routes.ts";
import { catalogReply, emptyReply, jsonReply } from "./reply.ts";
import type { ServiceApi } from "./service-api.ts";
import type { ServiceRoute } from "./service-call.ts";
import { answerTurn, journalAnswers, type JournalRouteName } from "./turn-routes.ts";

const health: Health = { status: "ok", protocolVersion: "1" };

/**
 * All routes of the service over an api: the route table with the operation of each row. Four routes are missing without a journal, and three without a
 * store of acts.
 *
 * @example
 * import { serviceRoutes, type ServiceApi } from "turnpike/http";
 *
 * const api = {} as ServiceApi; // createServiceApi({ kernel, turns })
 * console.log(serviceRoutes(api).some(({ path }) => path === "/v1/authorize")); // true
 */
export function serviceRoutes(api: ServiceApi, journal?: TurnJournal): readonly ServiceRoute[] {
  const known: Partial<Record<RouteName, Answer>> = {
    ...answers(api, journal),
    ...(journal && journalAnswers(journal)),
    ...(hasActs(api) && actAnswers(api)),
  };
  const rows = Object.entries<Route>(routes).flatMap(([name, { method, path, request, authority }]) => {
    const answer = known[name as RouteName];
    return answer === undefined ? [] : [{ method, path, authority, ...(request && { request }), answer }];
  });
  const headOfHealth = { ...routes.health, method: "HEAD", answer: () => Promise.resolve(emptyReply()) };
  return [...rows, headOfHealth];
}

function hasActs(api: ServiceApi): api is ServiceApi & ActApi {
  return api.beginAct !== undefined && api.finishAct !== undefined && api.getAct !== undefined;
}

type Answer = ServiceRoute["answer"];

/** One row for each route. The front has checked that the body fits the route. */
function answers(
  api: ServiceApi,
  journal: TurnJournal | undefined,
): Record<Exclude<RouteName, JournalRouteName | ActRouteName>, Answer> {
  return {
    health: () => Promise.resolve(jsonReply(health)),
    authorize: async ({ context, body, options }) =>
      jsonReply(await api.authorize(context, body as AuthorizeRequest, options)),
    reach: async ({ context, options }) => jsonReply(await api.reach(context, options)),
    listTools: async ({ context, options }) => catalogReply(await api.listTools(context, options)),
    listToolNamespaces: async ({ context, options }) => jsonReply(await api.listToolNamespaces(context, options)),
    updateToolNamespaces: async ({ context, body, options }) =>
      jsonReply(await api.updateToolNamespaces(context, body as NamespaceUpdate, options)),
    invokeTool: async ({ context, body, options }) =>
      jsonReply(await api.invokeTool(context, body as ToolCall, options)),
    invokeResource: async ({ context, body, options }) =>
      jsonReply(await api.invokeResource(context, body as ResourceOperationRequest, options)),
    async sendMessage({ context, body, options }) {
      const result = await api.sendMessage(context, body as MessageEnvelope, options);
      return jsonReply(result, result.status === "accepted" ? 202 : 200);
    },
    executeTurn: (call) => answerTurn(api, journal, call),
  };
}
