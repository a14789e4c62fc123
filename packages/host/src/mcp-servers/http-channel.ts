import {
  isJSONRPCRequest,
  StreamableHTTPClientTransport,
  type FetchLike,
  type Transport,
} from "@modelcontextprotocol/client";
import { timeoutSignal } from "../shared/index.ts";
import { withTrace } from "../telemetry/index.ts";
import type { Channel } from "./channel.ts";
import { createEventReader } from "./event-reader.ts";
import { withExactNumbers } from "./exact-numbers.ts";
import { isWithinJsonLimits, type JsonLimits } from "./json-limits.ts";
import { tooLargeCode } from "./line-limiter.ts";
import { createRateLimiter } from "./rate-limiter.ts";

/** A server that speaks MCP over streamable HTTP. */
export interface HttpServer {
  url: string;
  headers: Readonly<Record<string, string>>;
  /** Sends the requests; the system's fetch unless given. */
  fetch?: FetchLike;
}

/** Thrown for an answer that is larger than it may be. */
export class AnswerTooLargeError extends Error {
  override readonly name = "AnswerTooLargeError";
}

/** The code of the error that replaces an answer that did not come. */
export const brokenOffCode = -32_098;

/** The limits of one exchange. */
export interface ExchangeLimits {
  /** The limit of an answer, and of each message of a stream. */
  maxBytes: number;
  /** The limit of the whole exchange. Messages of a stream do not extend it. */
  timeoutMs: number;
  /** How much structure a message may have, for a server that is not trusted. */
  json?: JsonLimits;
  /** Called once, when the server sends more messages in a stream than are read. */
  onFlood?(): void;
}

/** How many times the bytes of one message a whole stream may have, including everything before the answer. */
const streamFactor = 4;
const maxMessagesPerSecond = 1000;

/** Opens a channel to a remote server. Nothing is sent before the first message. */
export function openHttpChannel({ url, headers, fetch: send = fetch }: HttpServer, limits: ExchangeLimits): Channel {
  const transport = new StreamableHTTPClientTransport(new URL(url), {
    requestInit: { headers: { ...headers } },
    fetch: createBoundedFetch(limits, send),
    // Streams are not resumed: an answer that breaks off fails its call.
    reconnectionOptions: {
      maxRetries: 0,
      initialReconnectionDelay: 0,
      maxReconnectionDelay: 0,
      reconnectionDelayGrowFactor: 1,
    },
  });
  answerBrokenStreams(transport);
  return {
    transport,
    async close() {
      await transport.terminateSession().catch(() => {});
      await transport.close();
    },
  };
}

/**
 * Answers a request with an error when its stream has ended, unless its sender handles the end itself. After the real answer,
 * the error has no effect.
 */
function answerBrokenStreams(transport: Transport): void {
  const send = transport.send.bind(transport);
  transport.send = (message, options) => {
    if (!isJSONRPCRequest(message) || options?.onRequestStreamEnd !== undefined) return send(message, options);
    const error = { code: brokenOffCode, message: "The answer broke off." };
    const onRequestStreamEnd = (): void => transport.onmessage?.({ jsonrpc: "2.0", id: message.id, error });
    return send(message, { ...options, onRequestStreamEnd });
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
function createBoundedFetch(limits: ExchangeLimits, send: FetchLike): FetchLike {
  const open = new Map<string | number, AbortController>();
  let isFlooding = false;
  const onFlood = (): void => {
    if (!isFlooding) limits.onFlood?.();
    isFlooding = true;
  };

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
      isStreaming = response.ok && id !== undefined && isEventStream(headers) && response.body !== null;
      const body = isStreaming
        ? streamOf(readMessages(response.body as AsyncIterable<Uint8Array>, { ...limits, onFlood }, id, end), leaving)
        : await readWhole(response, limits);
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

function isEventStream(headers: Headers): boolean {
  return /^text\/event-stream\s*(;|$)/i.test(headers.get("content-type") ?? "");
}

async function readWhole({ body }: Response, { maxBytes, json }: ExchangeLimits): Promise<Buffer | null> {
  if (body === null) return null;
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of body as AsyncIterable<Uint8Array>) {
    size += chunk.length;
    if (size > maxBytes) throw new AnswerTooLargeError(`An answer has at most ${maxBytes} bytes.`);
    chunks.push(chunk);
  }
  const whole = Buffer.concat(chunks);
  checkStructure(whole, json);
  return withExactNumbers(whole);
}

function checkStructure(message: Buffer, json: JsonLimits | undefined): void {
  if (json === undefined || isWithinJsonLimits(message, json)) return;
  throw new AnswerTooLargeError(`An answer has at most ${json.maxNodes} parts, ${json.maxDepth} levels deep.`);
}

/**
 * The messages of a stream that are within the limits, each as an event of its own. A message that is too large ends the stream
 * with an error for the request.
 */
async function* readMessages(
  chunks: AsyncIterable<Uint8Array>,
  { maxBytes, json, onFlood }: ExchangeLimits & { onFlood(): void },
  id: string | number | undefined,
  onEnd: () => void,
): AsyncGenerator<Uint8Array> {
  const tooLarge = (): Error => new AnswerTooLargeError(`A message has at most ${maxBytes} bytes.`);
  const readEvents = createEventReader(maxBytes, tooLarge);
  const turn = createRateLimiter(maxMessagesPerSecond, { onFlood });
  let size = 0;
  try {
    for await (const chunk of chunks) {
      size += chunk.length;
      if (size > streamFactor * maxBytes) throw tooLarge();
      for (const message of readEvents(chunk)) {
        checkStructure(message, json);
        await turn();
        yield eventOf(withExactNumbers(message));
      }
    }
  } catch (error) {
    if (!(error instanceof AnswerTooLargeError)) throw error;
    const answer = { jsonrpc: "2.0", id, error: { code: tooLargeCode, message: "The answer is too large." } };
    yield eventOf(Buffer.from(JSON.stringify(answer)));
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
