import {
  Client,
  ProtocolError,
  SdkError,
  SdkErrorCode,
  SdkHttpError,
  UnsupportedProtocolVersionError,
  type CallToolResult,
  type Tool,
} from "@modelcontextprotocol/client";
import type { JsonObject } from "turnpike/contracts";
import { z } from "zod";
import { version } from "../version.ts";
import type { Channel } from "./channel.ts";
import { AnswerTooLarge } from "./http-channel.ts";

/** A server that answers. */
export interface McpConnection {
  /** The entries of the server's list, a few seconds old at most; the same array while nothing was asked anew. */
  list(): Promise<readonly unknown[]>;
  /** Calls a tool as it was listed. Rejects when the server refuses or there is no answer in time. */
  call(tool: Tool, args: JsonObject, options: { signal: AbortSignal; timeoutMs: number }): Promise<CallToolResult>;
  close(): Promise<void>;
}

const connectMs = 30_000;
const listMs = 5_000;
const freshMs = 5_000;
const maxPages = 64;

/** How to reach a server. */
export interface McpRoute {
  openChannel(): Promise<Channel>;
  /** When to ask whether the server knows the newer handshake: some servers end at a question they do not know. */
  negotiates: "first" | "when refused";
}

/** Connects to a server, in whichever of the two handshakes it knows. */
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
  const client = new Client(
    { name: "turnpike", version },
    { versionNegotiation: { mode }, inputRequired: { autoFulfill: false } },
  );
  try {
    await client.connect(channel.transport, { timeout: connectMs, signal });
  } catch (error) {
    await channel.close();
    throw error;
  }
  // oxlint-disable-next-line unicorn/prefer-add-event-listener -- a client is no event target
  client.onclose = () => onLost(new SdkError(SdkErrorCode.ConnectionClosed, "The server is gone."));

  let listing: { entries: Promise<readonly unknown[]>; until: number } | undefined;
  client.setNotificationHandler("notifications/tools/list_changed", () => (listing = undefined));
  return {
    async list() {
      if (listing === undefined || performance.now() > listing.until) {
        listing = { entries: listTools(client), until: performance.now() + freshMs };
      }
      return orLost(listing.entries, () => true, onLost);
    },
    call(tool, args, { signal: caller, timeoutMs }) {
      // Schemas of a server are data that callers are shown: its output is not run against them here.
      const { outputSchema: _shown, ...toolDefinition } = tool;
      const options = { toolDefinition, signal: caller, timeout: timeoutMs };
      return orLost(client.callTool({ name: tool.name, arguments: args }, options), isBroken, onLost);
    },
    async close() {
      await channel.close();
      await client.close();
    },
  };
}

async function orLost<T>(
  answer: Promise<T>,
  isLoss: (error: unknown) => boolean,
  onLost: (error: unknown) => void,
): Promise<T> {
  try {
    return await answer;
  } catch (error) {
    if (isLoss(error)) onLost(error);
    throw error;
  }
}

/** Whether a call that failed says that the connection has. A server that refuses one call, or is slow, is still there. */
function isBroken(error: unknown): boolean {
  if (error instanceof SdkHttpError) return error.status === 401 || error.status === 404;
  if (error instanceof SdkError) return error.code === SdkErrorCode.ConnectionClosed;
  return !(error instanceof ProtocolError || error instanceof AnswerTooLarge);
}

const PageSchema = z.looseObject({ tools: z.array(z.unknown()), nextCursor: z.string().optional() });

async function listTools(client: Client): Promise<readonly unknown[]> {
  if (client.getServerCapabilities()?.tools === undefined) return [];
  const signal = AbortSignal.timeout(listMs);
  const pages: unknown[][] = [];
  let cursor: string | undefined;
  do {
    if (pages.length === maxPages) throw new RangeError(`A list of tools has at most ${maxPages} pages.`);
    const params = cursor === undefined ? {} : { cursor };
    const page = await client.request({ method: "tools/list", params }, PageSchema, { signal });
    pages.push(page.tools);
    cursor = page.nextCursor;
  } while (cursor !== undefined);
  return pages.flat();
}
