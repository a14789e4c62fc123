import { StreamableHTTPClientTransport, type FetchLike } from "@modelcontextprotocol/client";
import type { Channel } from "./channel.ts";
import { isWithinJsonLimits, type JsonLimits } from "./json-limits.ts";

/** A server that speaks MCP over streamable HTTP. */
export interface HttpServer {
  url: string;
  headers: Readonly<Record<string, string>>;
}

/** Thrown for an answer that is larger than it may be. */
export class AnswerTooLargeError extends Error {
  override readonly name = "AnswerTooLargeError";
}

/** The limits of one exchange. */
export interface ExchangeLimits {
  maxBytes: number;
  timeoutMs: number;
  /** How much structure an answer may have, for a server that is not trusted. */
  json?: JsonLimits;
}

/** Opens a channel to a remote server. Nothing is sent before the first message. */
export function openHttpChannel({ url, headers }: HttpServer, limits: ExchangeLimits): Channel {
  const transport = new StreamableHTTPClientTransport(new URL(url), {
    requestInit: { headers: { ...headers } },
    fetch: boundedFetch(limits),
    // An answer arrives whole or not at all, so there is never one to resume.
    reconnectionOptions: {
      maxRetries: 0,
      initialReconnectionDelay: 0,
      maxReconnectionDelay: 0,
      reconnectionDelayGrowFactor: 1,
    },
  });
  return {
    transport,
    async close() {
      await transport.terminateSession().catch(() => {});
      await transport.close();
    },
  };
}

/** A fetch that returns whole answers, within a size and a time. It opens no stream of server-sent messages. */
function boundedFetch({ maxBytes, timeoutMs, json }: ExchangeLimits): FetchLike {
  return async (url, init) => {
    if (init?.method === "GET") return new Response(null, { status: 405 });
    const signals = [AbortSignal.timeout(timeoutMs), ...(init?.signal ? [init.signal] : [])];
    const response = await fetch(url, { ...init, signal: AbortSignal.any(signals) });
    const { status, statusText, headers } = response;
    const body = await readWhole(response, maxBytes);
    if (body !== null && json !== undefined && !isWithinJsonLimits(body, json)) {
      throw new AnswerTooLargeError(`An answer has at most ${json.maxNodes} parts, ${json.maxDepth} levels deep.`);
    }
    return new Response(body, { status, statusText, headers });
  };
}

async function readWhole({ body }: Response, maxBytes: number): Promise<Buffer | null> {
  if (body === null) return null;
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of body as AsyncIterable<Uint8Array>) {
    size += chunk.length;
    if (size > maxBytes) throw new AnswerTooLargeError(`An answer has at most ${maxBytes} bytes.`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}
