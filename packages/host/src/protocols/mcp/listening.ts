import type { ServerEventBus } from "@modelcontextprotocol/server";
import type { DiscoveryContext } from "turnpike/contracts";
import { ServiceHttpError } from "turnpike/http";
import type { RequestRecord } from "../../access/index.ts";
import type { McpPool } from "../../mcp-servers/index.ts";

/** The streams on which clients are told that lists changed. */
export interface Listening {
  /**
   * Follows the stream that `open` answers with, until its reader leaves, is not admitted any more, or the host closes. Throws
   * when the credential has as many open as it may have.
   */
  follow(record: RequestRecord, open: () => Promise<Response>): Promise<Response>;
  /** Ends every stream, and those that come. */
  close(): void;
}

/** How many streams one credential may have open. */
const maxStreams = 100;

/** Makes what follows the streams of a host. */
export function createListening(): Listening {
  const open = new Map<string, number>();
  const streams = new Set<() => void>();
  let isClosed = false;
  const count = (key: string, by: 1 | -1): void => {
    const left = (open.get(key) ?? 0) + by;
    if (left === 0) open.delete(key);
    else open.set(key, left);
  };
  return {
    async follow({ facts, caller }, answer) {
      const key = JSON.stringify([facts.tenant, facts.credentialId]);
      if ((open.get(key) ?? 0) >= maxStreams)
        throw new ServiceHttpError(
          429,
          "rate_limited",
          "Too many streams of this credential are open: close one first.",
        );
      const response = await answer();
      if (!response.ok || response.body === null) return response;
      count(key, 1);
      const reader = (response.body as ReadableStream<Uint8Array>).getReader();
      const leave = (): void => {
        if (!streams.delete(leave)) return;
        count(key, -1);
        reader.cancel().catch(() => {});
      };
      streams.add(leave);
      if (isClosed) leave();
      const body = new ReadableStream<Uint8Array>(
        {
          async pull(stream) {
            const { done, value } = await reader.read();
            // Something is said every 15 seconds, so a silent stream ends with its credential too.
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

/** The changes that concern a context, for those who ask for them in the newer revision. */
export function changesFor(pool: Pick<McpPool, "listen">, context: DiscoveryContext): ServerEventBus {
  return {
    publish() {},
    subscribe: (listener) => pool.listen(context, (kind) => listener({ kind: `${kind}_list_changed` })),
  };
}

const encoder = new TextEncoder();
const silenceMs = 15_000;

/** The stream on which clients of the older revision hear what the server says by itself. */
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
      // The reader learns that it is heard from now on.
      say(":\n\n");
    },
    cancel: () => leave(),
  });
  return new Response(body, { headers: { "content-type": "text/event-stream", "cache-control": "no-cache" } });
}
