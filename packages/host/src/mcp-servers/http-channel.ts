import { StreamableHTTPClientTransport, type FetchLike, type JSONRPCRequest } from "@modelcontextprotocol/client";
import { timeoutSignal } from "../shared/index.ts";
import { withTrace } from "../telemetry/index.ts";
import type { Channel } from "./channel.ts";
import { fetchWith, type HeaderSecrets } from "./header-secrets.ts";
import { isEventStream, readMessages, readWhole, type ExchangeLimits, type StreamLimits } from "./http-answer.ts";
import { createCallSender, type CallTarget } from "./http-calls.ts";

/** A server that speaks MCP over streamable HTTP. */
export interface HttpServer {
  url: string;
  headers: Readonly<Record<string, string>>;
  /** Further headers of each request. */
  secrets?: HeaderSecrets | undefined;
}

/** The code of the error that replaces an answer that did not come. */
export const brokenOffCode = -32_098;

/** Opens a channel to a remote server. Nothing is sent before the first message. */
export function openHttpChannel({ url, headers, secrets }: HttpServer, exchange: ExchangeLimits): Channel {
  const limits = sayOnce(exchange);
  const open: CallTarget["open"] = new Map();
  const transport = new StreamableHTTPClientTransport(new URL(url), {
    requestInit: { headers: { ...headers } },
    fetch: createBoundedFetch(limits, open, secrets === undefined ? fetch : fetchWith(secrets)),
    // Streams are not resumed: an answer that breaks off fails its call.
    reconnectionOptions: {
      maxRetries: 0,
      initialReconnectionDelay: 0,
      maxReconnectionDelay: 0,
      reconnectionDelayGrowFactor: 1,
    },
  });
  const calls = createCallSender({ url: new URL(url), headers, secrets, open }, transport, limits);
  const send = transport.send.bind(transport);
  // Only fetch goes through the proxy of the environment.
  let isForFetch = process.env["NODE_USE_ENV_PROXY"] !== undefined;
  transport.send = async (message, options) => {
    if (!("method" in message && "id" in message)) return send(message, options);
    const answered = { ...options, onRequestStreamEnd: options?.onRequestStreamEnd ?? (() => breakOff(message)) };
    if (isForFetch || !isPlainCall(message)) return send(message, answered);
    if (await calls.send(message, answered)) return undefined;
    // Where a server sends calls on to, the transport follows, within the same origin.
    isForFetch = true;
    return send(message, answered);
  };
  /** Answers a request with an error when its stream has ended. After the real answer, the error has no effect. */
  const breakOff = ({ id }: JSONRPCRequest): void => {
    const error = { code: brokenOffCode, message: "The answer broke off." };
    transport.onmessage?.({ jsonrpc: "2.0", id, error });
  };
  return {
    transport,
    async close() {
      await transport.terminateSession().catch(() => {});
      calls.close();
      await transport.close();
    },
  };
}

/** A call of a tool whose name a header can have as it is. */
function isPlainCall({ method, params }: JSONRPCRequest): boolean {
  return method === "tools/call" && /^[\w.-]*$/.test(String(params?.["name"] ?? ""));
}

/** The same limits, which tell the listener of a flood once. */
function sayOnce(limits: ExchangeLimits): StreamLimits {
  let isFlooding = false;
  return {
    ...limits,
    onFlood() {
      if (!isFlooding) limits.onFlood?.();
      isFlooding = true;
    },
  };
}

/** What is read of a message before it is sent. */
interface Sent {
  id?: string | number;
  method?: string;
  params?: { requestId?: string | number };
}

/**
 * A fetch within the limits. Answers are returned whole, and streams message by message. It does not open the stream of a
 * server's own messages.
 */
function createBoundedFetch(limits: StreamLimits, open: CallTarget["open"], send: FetchLike): FetchLike {
  return async (url, init) => {
    if (init?.method === "GET") return new Response(null, { status: 405 });
    const { id: messageId, method, params } = sentIn(init?.body);
    // An answer to the server has an id too, which is the server's own.
    const id = method === undefined ? undefined : messageId;
    const leaving = new AbortController();
    if (id !== undefined) open.set(id, leaving);
    const end = (): void => {
      if (id !== undefined && open.get(id) === leaving) open.delete(id);
    };
    const signals = [leaving.signal, timeoutSignal(limits.timeoutMs), ...(init?.signal ? [init.signal] : [])];
    let isStreaming = false;
    try {
      const response = await send(url, withTrace({ ...init, signal: AbortSignal.any(signals) }));
      const { status, statusText, headers } = response;
      const chunks = response.body as AsyncIterable<Uint8Array> | null;
      isStreaming =
        response.ok && id !== undefined && isEventStream(headers.get("content-type") ?? "") && chunks !== null;
      if (chunks === null) return new Response(null, { status, statusText, headers });
      const body = isStreaming
        ? streamOf(readEvents(chunks, limits, id, end), leaving)
        : await readWhole(chunks, limits);
      return new Response(body, { status, statusText, headers });
    } finally {
      // A server may hold the stream of a cancelled request open for any time.
      if (method === "notifications/cancelled") open.get(params?.requestId ?? "")?.abort();
      if (!isStreaming) end();
    }
  };
}

function sentIn(body: unknown): Sent {
  return typeof body === "string" ? (JSON.parse(body) as Sent) : {};
}

/** The messages of a stream, each as an event of its own. */
async function* readEvents(
  chunks: AsyncIterable<Uint8Array>,
  limits: StreamLimits,
  id: string | number | undefined,
  onEnd: () => void,
): AsyncGenerator<Uint8Array> {
  try {
    for await (const message of readMessages(chunks, limits, id)) yield eventOf(message);
  } finally {
    onEnd();
  }
}

/** An event with this data, which may have several lines. */
function eventOf(data: Buffer): Buffer {
  return Buffer.from(`data: ${data.toString("utf8").replaceAll("\n", "\ndata: ")}\n\n`);
}

/** A stream that reads its source only when its own reader does. */
function streamOf(parts: AsyncGenerator<Uint8Array>, leaving: AbortController): ReadableStream<Uint8Array> {
  return new ReadableStream(
    {
      async pull(controller) {
        const { done, value } = await parts.next();
        if (done === true) controller.close();
        else controller.enqueue(value);
      },
      cancel: () => leaving.abort(),
    },
    { highWaterMark: 0 },
  );
}
