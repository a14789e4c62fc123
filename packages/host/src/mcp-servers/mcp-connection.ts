import {
  Client,
  ProtocolError,
  ProtocolErrorCode,
  SdkError,
  SdkErrorCode,
  UnsupportedProtocolVersionError,
  type Tool,
} from "@modelcontextprotocol/client";
import type { JsonObject } from "turnpike/contracts";
import type { ToolProgress } from "turnpike/kernel";
import { z } from "zod";
import { version } from "../base/index.ts";
import type { Channel } from "./channel.ts";
import { AnswerTooLargeError, brokenOffCode } from "./http-channel.ts";

/** Who waits for an answer, and how long. */
export interface RequestLimits {
  signal: AbortSignal;
  /** Progress does not extend it. */
  timeoutMs: number;
}

/** Who wants to know how far a call has come. The server is asked to say so only when there is somebody. */
interface ProgressListener {
  onProgress?: ((progress: ToolProgress) => void) | undefined;
}

const ToolAnswerSchema = z.looseObject({
  content: z.array(z.looseObject({ type: z.string() })).default([]),
  structuredContent: z.unknown().optional(),
  isError: z.boolean().optional(),
  _meta: z.record(z.string(), z.unknown()).optional(),
});

/** What a server answers to a call, with everything that it says. */
export type ToolAnswer = z.infer<typeof ToolAnswerSchema>;

/** A connection to a server. */
export interface McpConnection {
  /** The server's list of tools, a few seconds old at most. It is the same array until the list is read again. */
  list(): Promise<readonly unknown[]>;
  /**
   * Calls a tool as it was listed. Rejects when the server refuses, when there is no answer in time, and when the caller
   * leaves. Many callers share a connection, so whatever becomes of one call leaves it open.
   */
  call(tool: Tool, args: JsonObject, options: RequestLimits & ProgressListener): Promise<ToolAnswer>;
  /** Waits for the running calls, unless the host is closing, and then closes. */
  close(): Promise<void>;
}

const connectMs = 30_000;
const listMs = 5_000;
const freshMs = 5_000;
const maxPages = 64;
const maxEntries = 1024;
const maxListLength = 8_388_608;

/** How to reach a server. */
export interface McpRoute {
  openChannel(): Promise<Channel>;
  /** When to try the newer handshake. Some servers exit on a request that they do not know. */
  negotiates: "first" | "when refused";
}

/**
 * Connects to a server, in whichever of the two handshakes it knows. A connection is lost when its transport closes, or
 * when the server does not answer what its tools are; the signal says that the host is closing.
 */
export async function openMcpConnection(
  route: McpRoute,
  signal: AbortSignal,
  onLost: (error: unknown) => void,
): Promise<McpConnection> {
  if (route.negotiates === "first") return connect(route, "auto", signal, onLost);
  try {
    return await connect(route, "legacy", signal, onLost);
  } catch (error) {
    if (!(error instanceof UnsupportedProtocolVersionError)) throw error;
    return connect(route, "auto", signal, onLost);
  }
}

async function connect(
  { openChannel }: McpRoute,
  mode: "legacy" | "auto",
  signal: AbortSignal,
  onLost: (error: unknown) => void,
): Promise<McpConnection> {
  const channel = await openChannel();
  const client = new WholeAnswerClient(
    { name: "turnpike", version },
    // It declares no capabilities: the host has nobody who answers a server's questions in the middle of a call.
    { versionNegotiation: { mode }, inputRequired: { autoFulfill: false } },
  );
  client.fallbackRequestHandler = ({ method }) => {
    const message = `${method} is not carried by this client: the call cannot go on with it.`;
    return Promise.reject(new ProtocolError(ProtocolErrorCode.MethodNotFound, message));
  };
  try {
    await client.connect(channel.transport, { timeout: connectMs, signal });
  } catch (error) {
    await channel.close();
    throw error;
  }
  // oxlint-disable-next-line unicorn/prefer-add-event-listener -- a client is no event target
  client.onclose = () => onLost(new SdkError(SdkErrorCode.ConnectionClosed, "The server is gone."));

  const running = new Set<Promise<unknown>>();
  let listing: { entries: Promise<readonly unknown[]>; until: number } | undefined;
  client.setNotificationHandler("notifications/tools/list_changed", () => (listing = undefined));
  return {
    async list() {
      if (listing === undefined || performance.now() > listing.until) {
        listing = { entries: listTools(client), until: performance.now() + freshMs };
      }
      try {
        return await listing.entries;
      } catch (error) {
        onLost(error);
        throw error;
      }
    },
    async call(tool, args, { signal: caller, timeoutMs: timeout, onProgress }) {
      // The output is not validated against the server's own schema, which is only data for callers.
      const { outputSchema: _shown, ...toolDefinition } = tool;
      const options = { toolDefinition, signal: caller, timeout, ...(onProgress && { onprogress: onProgress }) };
      const answer = client.callTool({ name: tool.name, arguments: args }, options) as Promise<ToolAnswer>;
      running.add(answer);
      try {
        return await answer;
      } catch (error) {
        // The failure may be of this call or of the whole server. The next caller reads the list again, and finds out. The
        // error cannot tell: it says "connection closed" also for a caller who hung up.
        if (!isOfThisCall(error)) listing = undefined;
        throw error;
      } finally {
        running.delete(answer);
      }
    },
    async close() {
      await endOf(running, signal);
      await channel.close();
      await client.close();
    },
  };
}

/** A client that keeps everything in the answer to a call. Otherwise parts would lose the keys that nobody knows yet. */
class WholeAnswerClient extends Client {
  override request(request: never, ...options: never[]): never {
    const call = super.request.bind(this) as (...args: readonly unknown[]) => never;
    const isCall = (request as { method: string }).method === "tools/call";
    return isCall ? call(request, ToolAnswerSchema, ...options) : call(request, ...options);
  }
}

/** Whether a failure concerns only this call: a refusal, an answer that is too large, a timeout. */
function isOfThisCall(error: unknown): boolean {
  if (error instanceof SdkError) return error.code === SdkErrorCode.RequestTimeout;
  return (error instanceof ProtocolError && error.code !== brokenOffCode) || error instanceof AnswerTooLargeError;
}

/** Waits until nothing runs any more, or until the signal. */
async function endOf(running: ReadonlySet<Promise<unknown>>, signal: AbortSignal): Promise<void> {
  const stopped = new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
  while (running.size > 0 && !signal.aborted) await Promise.race([stopped, Promise.allSettled(running)]);
}

const PageSchema = z.looseObject({ tools: z.array(z.unknown()), nextCursor: z.string().optional() });

async function listTools(client: Client): Promise<readonly unknown[]> {
  if (client.getServerCapabilities()?.tools === undefined) return [];
  const signal = AbortSignal.timeout(listMs);
  const entries: unknown[] = [];
  let [pages, length] = [0, 0];
  let cursor: string | undefined;
  do {
    if (pages === maxPages) throw new RangeError(`A list of tools has at most ${maxPages} pages.`);
    const params = cursor === undefined ? {} : { cursor };
    const page = await client.request({ method: "tools/list", params }, PageSchema, { signal });
    pages += 1;
    length += JSON.stringify(page.tools).length;
    if (length > maxListLength) throw new RangeError(`A list of tools has at most ${maxListLength} characters.`);
    for (const entry of page.tools) entries.push(entry);
    if (entries.length > maxEntries) throw new RangeError(`A list of tools has at most ${maxEntries} entries.`);
    cursor = page.nextCursor;
  } while (cursor !== undefined);
  return entries;
}
