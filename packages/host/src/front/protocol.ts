import { createRouter, type BodySource, type Reply } from "turnpike/http";
import type { RequestRecord } from "../access/index.ts";

/** A request on its way through the host. */
export interface IncomingRequest {
  readonly request: Request;
  readonly path: string;
  /** The body, up to the limit of the host, whatever length it declares. */
  readonly body: BodySource;
  readonly record: RequestRecord;
  /** Told about an error that callers do not see, or that comes when the answer has begun. */
  onLateError(error: unknown): void;
}

/** One row of a protocol's table. What it throws becomes the answer. */
export interface ProtocolRoute<Admitted> {
  method: string;
  path: string;
  answer(incoming: IncomingRequest, admitted: Admitted): Promise<Reply | Response>;
}

/** A protocol: who is let in, and what there is for them. */
export interface Protocol<Admitted> {
  /** Whether a path, known or not, is this protocol's. */
  owns(path: string): boolean;
  /** Lets the sender in, or throws. Before this nobody learns which paths there are. */
  admit(incoming: IncomingRequest): Promise<Admitted>;
  routes: readonly ProtocolRoute<Admitted>[];
  /** What anybody may ask. */
  openRoutes?: readonly ProtocolRoute<undefined>[];
}

/** A protocol as the front serves it. */
export interface ServedProtocol {
  owns(path: string): boolean;
  paths: readonly string[];
  serve(incoming: IncomingRequest): Promise<Reply | Response>;
}

/** Indexes a protocol's routes. */
export function serveProtocol<Admitted>(protocol: Protocol<Admitted>): ServedProtocol {
  const { routes, openRoutes = [] } = protocol;
  const router = createRouter(routes);
  const openRouter = createRouter(openRoutes);
  const known = createRouter<{ method: string; path: string }>([...openRoutes, ...routes]);
  return {
    owns: (path) => protocol.owns(path),
    paths: [...openRoutes, ...routes].map(({ path }) => path),
    async serve(incoming) {
      const { path } = incoming;
      const { method } = incoming.request;
      const openRoute = openRouter.find(method, path);
      if (openRoute !== undefined) return openRoute.answer(incoming, undefined);
      const admitted = await protocol.admit(incoming);
      const route = router.find(method, path);
      if (route === undefined) throw known.refusal(path);
      return route.answer(incoming, admitted);
    },
  };
}
