import { createRouter, type Reply } from "turnpike/http";
import type { RequestRecord } from "../access/index.ts";
import { answerInSlot, type StreamLimit } from "./stream-slots.ts";
import type { WireRequest } from "./wire-request.ts";

/** A request on its way through the host's protocols. */
export interface IncomingRequest {
  readonly request: WireRequest;
  readonly path: string;
  readonly record: RequestRecord;
  /** Called with an error that callers do not see, or that comes when the answer has begun. */
  onLateError(error: unknown): void;
}

/** One route of a protocol. An error that it throws becomes the answer. */
export interface ProtocolRoute<Admitted> {
  method: string;
  path: string;
  answer(incoming: IncomingRequest, admitted: Admitted): Promise<Reply | Response>;
  /** Whether the answer to a request may be a stream, which stays open for as long as its reader wants. */
  mayStream?(incoming: IncomingRequest): boolean;
  /**
   * Runs the admission of the sender and the answer, both again if need be. What the first of both came to does not show then. Not used
   * where the answer may be a stream.
   */
  attempt?<T>(act: () => Promise<T>): Promise<T>;
}

/** A protocol: who is admitted, and its routes. */
export interface Protocol<Admitted> {
  /** Whether a path belongs to this protocol, also when there is no route for it. */
  owns(path: string): boolean;
  /** Admits the sender, or throws. A sender learns which paths there are only after this. */
  admit(incoming: IncomingRequest): Promise<Admitted>;
  routes: readonly ProtocolRoute<Admitted>[];
  /** The routes that need no credential. */
  openRoutes?: readonly ProtocolRoute<undefined>[];
}

/** A protocol as the front serves it. */
export interface ServedProtocol {
  owns(path: string): boolean;
  paths: readonly string[];
  serve(incoming: IncomingRequest): Promise<Reply | Response>;
}

type Row<Admitted> = ({ kind: "open" } & ProtocolRoute<undefined>) | ({ kind: "admitted" } & ProtocolRoute<Admitted>);

/** Indexes a protocol's routes. Without a limit, streams are not counted. */
export function serveProtocol<Admitted>(protocol: Protocol<Admitted>, streams?: StreamLimit): ServedProtocol {
  const rows: Row<Admitted>[] = [
    ...(protocol.openRoutes ?? []).map((route) => ({ kind: "open" as const, ...route })),
    ...protocol.routes.map((route) => ({ kind: "admitted" as const, ...route })),
  ];
  const router = createRouter(rows);
  return {
    owns: (path) => protocol.owns(path),
    paths: rows.map(({ path }) => path),
    async serve(incoming) {
      const { path, request } = incoming;
      const row = router.find(request.method, path);
      if (row?.kind === "open") return row.answer(incoming, undefined);
      const act = async (): Promise<Reply | Response> => {
        const admitted = await protocol.admit(incoming);
        request.admit();
        if (row === undefined) throw router.refusal(path);
        const answer = (): Promise<Reply | Response> => row.answer(incoming, admitted);
        const isCounted = streams !== undefined && row.mayStream?.(incoming) === true;
        return isCounted ? answerInSlot(streams, incoming, answer) : answer();
      };
      // The first of two streams would stay open.
      if (row?.attempt === undefined || row.mayStream?.(incoming) === true) return act();
      return row.attempt(act);
    },
  };
}

/** What an address asks with, behind its path. */
export function queryOf(target: string): URLSearchParams {
  const start = target.indexOf("?");
  return new URLSearchParams(start === -1 ? "" : target.slice(start + 1));
}
