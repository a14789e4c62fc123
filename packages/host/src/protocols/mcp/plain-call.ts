import { isJsonContentType, SUPPORTED_PROTOCOL_VERSIONS } from "@modelcontextprotocol/server";
import type { AccessContext, DiscoveryContext } from "turnpike/contracts";
import { ownSignal, type Reply } from "turnpike/http";
import type { RequestHeaders } from "../../access/index.ts";
import type { IncomingRequest } from "../../front/index.ts";
import { callTool, type ToolAccess } from "./offered-tools.ts";
import type { CallOrigin, RequestId, RunningCalls } from "./running-calls.ts";

/** A call of a tool by a client of the older revisions that says which tool and with what, and nothing else. */
interface PlainCall {
  id: RequestId;
  name: string;
  arguments?: Record<string, unknown>;
}

/**
 * Reads a plain call. INVARIANT: the library would accept the same message, and answer it with the result of the call alone. So
 * whatever else there is in it makes it undefined, right or wrong, and is left to the library.
 */
export function readPlainCall(headers: Pick<RequestHeaders, "get">, message: unknown): PlainCall | undefined {
  if (!isPlainHead(headers) || !hasOnly(message, messageKeys)) return undefined;
  const { jsonrpc, id, method, params } = message;
  if (jsonrpc !== "2.0" || method !== "tools/call" || !hasOnly(params, paramsKeys)) return undefined;
  const { name, arguments: args } = params;
  if (typeof id !== "string" && !Number.isSafeInteger(id)) return undefined;
  if (typeof name !== "string" || (args !== undefined && !isObject(args))) return undefined;
  return { id: id as RequestId, name, ...(args !== undefined && { arguments: args }) };
}

const messageKeys: ReadonlySet<string> = new Set(["jsonrpc", "id", "method", "params"]);
const paramsKeys: ReadonlySet<string> = new Set(["name", "arguments"]);

function isPlainHead(headers: Pick<RequestHeaders, "get">): boolean {
  const [accept, version] = [headers.get("accept"), headers.get("mcp-protocol-version")];
  return (
    accept?.includes("application/json") === true &&
    accept.includes("text/event-stream") &&
    (version === null || SUPPORTED_PROTOCOL_VERSIONS.includes(version)) &&
    isJsonContentType(headers.get("content-type"))
  );
}

function hasOnly(value: unknown, keys: ReadonlySet<string>): value is Record<string, unknown> {
  return isObject(value) && Object.keys(value).every((key) => keys.has(key));
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** What the answer to a plain call uses. */
interface PlainCallOptions extends Pick<ToolAccess, "api" | "names"> {
  calls: RunningCalls;
  /** Where the call comes from, so that its client can cancel it. */
  origin: CallOrigin | undefined;
}

/** A call that takes longer is answered with a stream, like the library answers every call. */
const quickMs = 1_000;
/** How often the stream of a call that runs says that it is still open. */
const silenceMs = 15_000;

const headers = { "content-type": "text/event-stream", "x-accel-buffering": "no" };

/**
 * Answers a plain call as the library does, without its server, transport and stream, which cost more than the call. A caller who
 * leaves, or cancels the call, ends it, and its answer without a result.
 */
export async function answerPlainCall(
  { api, names, calls, origin }: PlainCallOptions,
  { request, record: host, onLateError: onError }: Pick<IncomingRequest, "request" | "record" | "onLateError">,
  context: DiscoveryContext,
  { id, ...call }: PlainCall,
): Promise<Reply> {
  const { signal, abort } = ownSignal();
  let cancel = (): void => {};
  const event = new Promise<string>((resolve, reject) => {
    cancel = () => {
      abort();
      resolve("");
    };
    const end = origin === undefined ? undefined : calls.begin(origin, id, cancel);
    request.signal.addEventListener("abort", cancel);
    if (request.signal.aborted) cancel();
    // The kernel refuses to act in a context without authority, so the cast is safe.
    const access = { api, context: context as AccessContext, options: { signal, host }, names, onError };
    callTool(access, call)
      .then((result) => resolve(eventOf({ result, jsonrpc: "2.0", id })), reject)
      .finally(() => {
        end?.();
        request.signal.removeEventListener("abort", cancel);
      });
  });
  const quick = await withinMs(event, quickMs);
  return { status: 200, headers, body: quick ?? streamOf(event, cancel) };
}

function eventOf(message: object): string {
  return `event: message\ndata: ${JSON.stringify(message)}\n\n`;
}

/** Undefined when it takes longer. */
async function withinMs<T>(work: Promise<T>, ms: number): Promise<T | undefined> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<undefined>((resolve) => (timer = setTimeout(resolve, ms, undefined)));
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}

const encoder = new TextEncoder();

/** The event once it is there, and before that a comment now and then, so that no one takes the silence for a broken connection. */
function streamOf(event: Promise<string>, cancel: () => void): ReadableStream<Uint8Array> {
  let timer: NodeJS.Timeout;
  const tell = async (stream: ReadableStreamDefaultController<Uint8Array>): Promise<void> => {
    try {
      stream.enqueue(encoder.encode(await event));
      stream.close();
    } catch (error) {
      // Nothing can be told to a reader that has left.
      stream.error(error);
    } finally {
      clearInterval(timer);
    }
  };
  return new ReadableStream<Uint8Array>({
    start(stream) {
      timer = setInterval(() => stream.enqueue(encoder.encode(": keepalive\n\n")), silenceMs).unref();
      void tell(stream);
    },
    cancel() {
      clearInterval(timer);
      cancel();
    },
  });
}
