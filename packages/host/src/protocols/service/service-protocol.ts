import type { AccessContext, DiscoveryContext } from "turnpike/contracts";
import {
  acceptContext,
  readBody,
  serviceRoutes,
  type Reply,
  type ServiceApi,
  type ServiceCall,
  type ServiceRoute,
} from "turnpike/http";
import type { ContextResolver } from "../../access/index.ts";
import type { IncomingRequest, Protocol, ProtocolRoute } from "../../front/index.ts";

/**
 * The service itself: the library's routes over the host's api, and pages that anybody may read. It owns every path that no
 * other protocol does, so that only who is let in learns which paths there are.
 */
export function serviceProtocol(
  api: ServiceApi,
  resolveContext: ContextResolver,
  pages: readonly ProtocolRoute<undefined>[] = [],
): Protocol<DiscoveryContext> {
  const rows = serviceRoutes(api);
  const isOpen = ({ authority }: ServiceRoute): boolean => authority === "none";
  return {
    owns: () => true,
    admit: async ({ request, record }) => acceptContext(await resolveContext(request.headers, record), "optional"),
    routes: rows
      .filter((row) => !isOpen(row))
      .map((row) => ({ ...row, answer: (incoming, context) => answer(row, incoming, context) })),
    openRoutes: [
      ...rows.filter(isOpen).map((row) => ({
        ...row,
        answer: (incoming: IncomingRequest) => row.answer({ ...callOf(incoming), context: nobody, body: undefined }),
      })),
      ...pages,
    ],
  };
}

/** Stands where a route looks at no context. */
const nobody = Object.freeze({}) as AccessContext;

async function answer(row: ServiceRoute, incoming: IncomingRequest, context: DiscoveryContext): Promise<Reply> {
  const acting = acceptContext(context, row.authority === "required" ? "required" : "optional");
  const body = row.request && (await readBody(incoming.body, row.request));
  return row.answer({ ...callOf(incoming), context: acting, body });
}

function callOf({ request, record, onLateError }: IncomingRequest): Omit<ServiceCall, "context" | "body"> {
  const { headers, signal } = request;
  return { accept: headers.get("accept"), options: { signal, host: record }, onLateError };
}
