import {
  createMcpHandler as createProtocolHandler,
  localhostAllowedOrigins,
  validateOriginHeader,
} from "@modelcontextprotocol/server";
import { JsonValueSchema, type DiscoveryContext } from "turnpike/contracts";
import { readJsonBody, ServiceHttpError, type BodySource, type ServiceApi } from "turnpike/http";
import { z } from "zod";
import type { IncomingRequest } from "../../front/index.ts";
import type { McpPool } from "../../mcp-servers/index.ts";
import { changesFor, openNotifications, type Listening } from "./listening.ts";
import { createMcpServer } from "./mcp-server.ts";
import type { OfferedNames } from "./offered-names.ts";
import type { CallOrigin, RequestId, RunningCalls } from "./running-calls.ts";

/** What every request of the protocol shares. */
export interface AnswerOptions {
  api: ServiceApi;
  pool: Pick<McpPool, "offers" | "unavailable" | "listen">;
  listening: Listening;
  version: string;
  names: OfferedNames;
  calls: RunningCalls;
}

/** Answers one request, in a server of its own. */
export async function answer(
  { api, pool, listening, version, names, calls }: AnswerOptions,
  incoming: IncomingRequest,
  context: DiscoveryContext,
): Promise<Response> {
  const { request, record: host, onLateError: onError } = incoming;
  const message = request.method === "POST" ? await readMessage(request.body) : undefined;
  const { method, params } = MethodSchema.safeParse(message).data ?? {};
  if (request.method === "GET" && isStreamWanted(request.headers.get("accept")))
    return listening.follow(host, () => Promise.resolve(openNotifications(pool, context)));
  const origin = originOf(incoming);
  const handler = createProtocolHandler(
    ({ era }) => {
      // Clients of the newer revision cancel by hanging up, and have no session: no notification may meet their calls.
      const noted = era === "legacy" ? origin : undefined;
      const begin = (id: RequestId, cancel: () => void) => (noted ? calls.begin(noted, id, cancel) : () => {});
      return createMcpServer({ api, context, method, names, pool, begin, host, version, onError });
    },
    { bus: changesFor(pool, context) },
  );
  const respond = (): Promise<Response> =>
    handler.fetch(request.toFetch(), message === undefined ? {} : { parsedBody: message });
  const response = await (method === "subscriptions/listen" ? listening.follow(host, respond) : respond());
  if (method === "initialize" && response.ok) response.headers.set(sessionHeader, crypto.randomUUID());
  const cancelled = method === "notifications/cancelled" ? CancelledSchema.safeParse(params).data : undefined;
  if (cancelled !== undefined && origin !== undefined && response.ok) calls.cancel(origin, cancelled.requestId);
  return response;
}

function isStreamWanted(accept: string | null): boolean {
  return accept?.toLowerCase().includes("text/event-stream") === true;
}

const MethodSchema = z.object({ method: z.string(), params: z.unknown().optional() });
const CancelledSchema = z.object({ requestId: z.union([z.string(), z.number()]) });

/**
 * Tells the clients of a credential apart, which all choose the same ids for their requests. Nothing is kept under it but
 * the calls that run, so any host takes any id.
 */
const sessionHeader = "mcp-session-id";

function originOf({ request: { headers }, record: { facts } }: IncomingRequest): CallOrigin | undefined {
  const { tenant, credentialId } = facts;
  if (tenant === undefined || credentialId === undefined) return undefined;
  return { tenant, credentialId, session: headers.get(sessionHeader) };
}

/** A web page that resolves its own name to this machine (DNS rebinding) sends its origin. Programs send none. */
export function refuseForeignPages(origin: string | null): void {
  if (validateOriginHeader(origin, localhostAllowedOrigins()).ok) return;
  throw new ServiceHttpError(403, "permission_denied", "Pages of other origins are not served.");
}

/** Reads one message, within the limits of every body. A batch is refused: the rate limit would count it as one request. */
async function readMessage(body: BodySource): Promise<unknown> {
  const document = await readJsonBody(body);
  const reading = JsonValueSchema.safeParse(document);
  if (!reading.success)
    throw new ServiceHttpError(400, "invalid_request", reading.error.issues[0]?.message ?? "expected JSON");
  if (Array.isArray(document)) throw new ServiceHttpError(400, "invalid_request", "expected one message a request");
  return document;
}
