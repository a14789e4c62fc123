import {
  createMcpHandler as createProtocolHandler,
  localhostAllowedOrigins,
  validateOriginHeader,
} from "@modelcontextprotocol/server";
import { JsonValueSchema, readJsonText, type DiscoveryContext } from "turnpike/contracts";
import { ServiceHttpError, type Reply, type ServiceApi } from "turnpike/http";
import { z } from "zod";
import type { IncomingRequest } from "../../front/index.ts";
import type { McpPool } from "../../mcp-servers/index.ts";
import { changesFor, openNotifications, type Listening } from "./listening.ts";
import { createMcpServer } from "./mcp-server.ts";
import type { OfferedNames } from "./offered-names.ts";
import { answerPlainCall, readPlainCall } from "./plain-call.ts";
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

/** Answers one request. */
export async function answer(
  options: AnswerOptions,
  incoming: IncomingRequest,
  context: DiscoveryContext,
): Promise<Reply | Response> {
  const { request } = incoming;
  const read = request.method === "POST" ? await readMessage(request.body) : {};
  const call = read.badArguments === undefined ? readPlainCall(request.headers, read.message) : undefined;
  return call === undefined
    ? answerByLibrary(options, incoming, context, read)
    : answerPlainCall({ ...options, origin: originOf(incoming) }, incoming, context, call);
}

/** Answers one request in a server of its own. */
export async function answerByLibrary(
  { api, pool, listening, version, names, calls }: AnswerOptions,
  incoming: IncomingRequest,
  context: DiscoveryContext,
  { message, badArguments }: ReadMessage,
): Promise<Response> {
  const { request, record: host, onLateError: onError } = incoming;
  const { method, params } = MethodSchema.safeParse(message).data ?? {};
  if (request.method === "GET" && isStreamWanted(request.headers.get("accept")))
    return listening.follow(incoming, () => Promise.resolve(openNotifications(pool, context)));
  const origin = originOf(incoming);
  const handler = createProtocolHandler(
    ({ era }) => {
      // Clients of the newer revision cancel by disconnecting, and have no session: no notification may cancel their calls.
      const noted = era === "legacy" ? origin : undefined;
      const begin = (id: RequestId, cancel: () => void) => (noted ? calls.begin(noted, id, cancel) : () => {});
      return createMcpServer({ api, context, method, badArguments, names, pool, begin, host, version, onError });
    },
    { bus: changesFor(pool, context) },
  );
  const respond = (): Promise<Response> =>
    handler.fetch(request.toFetch(), message === undefined ? {} : { parsedBody: message });
  const response = await (method === "subscriptions/listen" ? listening.follow(incoming, respond) : respond());
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
 * Tells the clients of a credential apart, which all choose the same ids for their requests. Only running calls are stored
 * under it, so any host accepts any id.
 */
const sessionHeader = "mcp-session-id";

function originOf({ request: { headers }, record: { facts } }: IncomingRequest): CallOrigin | undefined {
  const { tenant, credentialId } = facts;
  if (tenant === undefined || credentialId === undefined) return undefined;
  return { tenant, credentialId, session: headers.get(sessionHeader) };
}

/** Refuses web pages that resolve their own name to this machine (DNS rebinding). Pages send an origin, programs send none. */
export function refuseForeignPages(origin: string | null): void {
  if (validateOriginHeader(origin, localhostAllowedOrigins()).ok) return;
  throw new ServiceHttpError(403, "permission_denied", "Pages of other origins are not served.");
}

/** A message, and what is wrong with the arguments of its call, which are left out then. */
interface ReadMessage {
  message?: unknown;
  badArguments?: string;
}

/**
 * Reads one message, within the limits of every body. A batch is refused: the rate limit would count it as one request.
 * MCP wants a model to read what is wrong with the arguments of its call, so a number there that parsing would change is an
 * error of the call. Anywhere else it is a body that cannot be accepted.
 */
async function readMessage(body: IncomingRequest["request"]["body"]): Promise<ReadMessage> {
  const bytes = await body.bytes();
  const reading = readJsonText(bytes);
  if (reading.ok) return { message: checkMessage(reading.value) };
  const call = reading.kind === "number" ? CallSchema.safeParse(parseAnyway(bytes)).data : undefined;
  if (call !== undefined && reading.message.startsWith(argumentsPlace)) {
    const { arguments: _changed, ...params } = call.params;
    return {
      message: checkMessage({ ...call, params }),
      badArguments: reading.message.slice(argumentsPlace.length - 1),
    };
  }
  if (reading.kind === "syntax") throw new ServiceHttpError(400, "invalid_json", "The body is not JSON.");
  throw new ServiceHttpError(400, "invalid_request", reading.message);
}

const argumentsPlace = "/params/arguments/";
const CallSchema = z.looseObject({
  method: z.literal("tools/call"),
  params: z.looseObject({ arguments: z.record(z.string(), z.unknown()) }),
});

/** Parses a text with a number that parsing changes. */
function parseAnyway(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder().decode(bytes)) as unknown;
  } catch {
    return undefined;
  }
}

function checkMessage(document: unknown): unknown {
  const reading = JsonValueSchema.safeParse(document);
  if (!reading.success)
    throw new ServiceHttpError(400, "invalid_request", reading.error.issues[0]?.message ?? "expected JSON");
  if (Array.isArray(document)) throw new ServiceHttpError(400, "invalid_request", "expected one message a request");
  return document;
}
