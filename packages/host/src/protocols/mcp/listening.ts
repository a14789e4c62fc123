import type { ServerEventBus } from "@modelcontextprotocol/server";
import type { DiscoveryContext } from "turnpike/contracts";
import { answerInSlot, type IncomingRequest, type StreamLimit } from "../../front/index.ts";
import type { McpPool } from "../../mcp-servers/index.ts";

/** The streams on which clients are told that lists changed. */
export interface Listening {
  /**
   * Follows the stream that `open` returns, until its reader leaves or is no longer admitted, or the host closes. Throws when the
   * credential, or the host, has too many open streams.
   */
  follow(incoming: Pick<IncomingRequest, "request" | "record">, open: () => Promise<Response>): Promise<Response>;
  /** Ends every stream, and every new one at once. */
  close(): void;
}

/** Makes the streams of a host. They count towards the same limit as every other stream of a caller. */
export function createListening(limit: StreamLimit): Listening {
  const streams = new Set<() => void>();
  let isClosed = false;
  return {
    async follow(incoming, answer) {
      const response = (await answerInSlot(limit, incoming, answer)) as Response;
      if (!response.ok || response.body === null) return response;
      const { caller } = incoming.record;
      const reader = (response.body as ReadableStream<Uint8Array>).getReader();
      const leave = (): void => {
        if (!streams.delete(leave)) return;
        reader.cancel().catch(() => {});
      };
      streams.add(leave);
      if (isClosed) leave();
      const body = new ReadableStream<Uint8Array>(
        {
          async pull(stream) {
            const { done, value } = await reader.read();
            // Something is sent every 15 seconds, so a silent stream ends with its credential too.
            const isHeard = !done && (await caller?.isStillAdmitted(new Date())) === true;
            if (isHeard) return stream.enqueue(value);
            leave();
            stream.close();
          },
          cancel: leave,
        },
        { highWaterMark: 0 },
      );
      return new Response(body, response);
    },
    close() {
      isClosed = true;
      for (const leave of streams) leave();
    },
  };
}

/** The changes that concern a context, for clients of the newer revision. */
export function changesFor(pool: Pick<McpPool, "listen">, context: DiscoveryContext): ServerEventBus {
  return {
    publish() {},
    subscribe: (listener) => pool.listen(context, (kind) => listener({ kind: `${kind}_list_changed` })),
  };
}

const encoder = new TextEncoder();
const silenceMs = 15_000;

/** The stream of notifications for clients of the older revision. */
export function openNotifications(pool: Pick<McpPool, "listen">, context: DiscoveryContext): Response {
  let leave = (): void => {};
  const body = new ReadableStream<Uint8Array>({
    start(stream) {
      const say = (text: string): void => stream.enqueue(encoder.encode(text));
      const timer = setInterval(() => say(":\n\n"), silenceMs).unref();
      const stop = pool.listen(context, (kind) => {
        const method = `notifications/${kind}/list_changed`;
        say(`event: message\ndata: ${JSON.stringify({ jsonrpc: "2.0", method })}\n\n`);
      });
      leave = () => {
        clearInterval(timer);
        stop();
      };
      // Tells the reader that notifications arrive from now on.
      say(":\n\n");
    },
    cancel: () => leave(),
  });
  return new Response(body, { headers: { "content-type": "text/event-stream", "cache-control": "no-cache" } });
}
