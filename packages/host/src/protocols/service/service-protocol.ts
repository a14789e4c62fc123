import { routes, type AccessContext, type DiscoveryContext } from "turnpike/contracts";
import {
  acceptContext,
  readBody,
  serviceRoutes,
  wantsStream,
  type Reply,
  type ServiceApi,
  type ServiceCall,
  type ServiceRoute,
} from "turnpike/http";
import type { TurnJournal } from "turnpike/runtime";
import type { ContextResolver } from "../../access/index.ts";
import type { IncomingRequest, Protocol, ProtocolRoute } from "../../front/index.ts";
import { whileAdmitted } from "./followed-stream.ts";

/** What the service has besides its routes. */
export interface ServiceParts {
  /** Pages that need no credential. */
  pages?: readonly ProtocolRoute<undefined>[];
  /** The routes of turns need it. */
  journal?: TurnJournal;
  /** Runs what begins or ends with a decision that is written, the admission of its sender included. */
  attempt?: <T>(act: () => Promise<T>) => Promise<T>;
}

/**
 * The service itself: the library's routes over the host's api, and pages that need no credential. It owns every path that no
 * other protocol owns, so that only admitted callers learn which paths there are.
 */
export function serviceProtocol(
  api: ServiceApi,
  resolveContext: ContextResolver,
  { pages = [], journal, attempt }: ServiceParts = {},
): Protocol<DiscoveryContext> {
  const rows = serviceRoutes(api, journal);
  const isOpen = ({ authority }: ServiceRoute): boolean => authority === "none";
  return {
    owns: () => true,
    admit: ({ request, record }) => resolveContext(request.headers, record),
    routes: rows
      .filter((row) => !isOpen(row))
      .map((row) => ({
        ...row,
        answer: (incoming, context) => answer(row, incoming, context),
        mayStream: ({ request }) => streamed.has(row.path) && wantsStream(request.headers.get("accept")),
        ...(attempt && decided.has(row.path) && { attempt }),
      })),
    openRoutes: [
      ...rows.filter(isOpen).map((row) => ({
        ...row,
        answer: (incoming: IncomingRequest) => row.answer(callOf(incoming, noContext, undefined)),
      })),
      ...pages,
    ],
  };
}

/** The paths of single decisions, and of turns. INVARIANT: nothing happens there before the decision, or the beginning, is written. */
const decided: ReadonlySet<string> = new Set(
  [
    routes.authorize,
    routes.invokeTool,
    routes.invokeResource,
    routes.sendMessage,
    routes.beginAct,
    routes.finishAct,
    routes.executeTurn,
  ].map(({ path }) => path),
);

/** The paths whose answers may be streams. */
const streamed: ReadonlySet<string> = new Set([routes.executeTurn.path, routes.listTurnEvents.path]);

/** The context of a route that uses none. */
const noContext = Object.freeze({}) as AccessContext;

/** INVARIANT: the context is validated and frozen here, once, before the body is read. */
async function answer(row: ServiceRoute, incoming: IncomingRequest, resolved: DiscoveryContext): Promise<Reply> {
  const context = acceptContext(resolved, row.authority === "required" ? "required" : "optional");
  const body = row.request && (await readBody(incoming.request.body, row.request));
  return whileAdmitted(await row.answer(callOf(incoming, context, body)), incoming.record);
}

function callOf(incoming: IncomingRequest, context: AccessContext, body: unknown): ServiceCall {
  const { request, path, record, onLateError } = incoming;
  const { headers, signal, target } = request;
  return { context, body, path, target, headers, options: { signal, host: record }, onLateError };
}
