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
import { version } from "../shared/index.ts";
import { limitAnswers } from "./answer-limit.ts";
import type { Channel } from "./channel.ts";
import { AnswerTooLargeError } from "./http-answer.ts";
import { brokenOffCode } from "./http-channel.ts";
import { plainText } from "./plain-text.ts";
import { createServerLists, type ChangedList, type ListKind } from "./server-lists.ts";

/** Who waits for an answer, and how long. */
export interface RequestLimits {
  signal: AbortSignal;
  /** Progress does not extend it. */
  timeoutMs: number;
}

/** The listener for the progress of a call. The server is asked for progress only when there is one. */
interface ProgressListener {
  onProgress?: ((progress: ToolProgress) => void) | undefined;
}

const ToolAnswerSchema = z.looseObject({
  content: z.array(z.looseObject({ type: z.string() })).default([]),
  structuredContent: z.unknown().optional(),
  isError: z.boolean().optional(),
  _meta: z.record(z.string(), z.unknown()).optional(),
});

/** What a server answers to a call, with all parts that it sent. */
export type ToolAnswer = z.infer<typeof ToolAnswerSchema>;

const ResourceAnswerSchema = z.looseObject({ contents: z.array(z.looseObject({ uri: z.string() })) });
const PromptAnswerSchema = z.looseObject({
  description: z.string().optional(),
  messages: z.array(z.looseObject({ role: z.string(), content: z.looseObject({ type: z.string() }) })),
});

type ResourceAnswer = z.infer<typeof ResourceAnswerSchema>;
type PromptAnswer = z.infer<typeof PromptAnswerSchema>;

/** A connection to a server. */
export interface McpConnection {
  /** A list of the server, by default of its tools. It is a few seconds old at most, and the same array until then. */
  list(kind?: ListKind): Promise<readonly unknown[]>;
  /**
   * Calls a tool as it was listed. Rejects when the server refuses, when there is no answer in time, and when the caller
   * leaves. Many callers share a connection, so it stays open whatever happens to one call.
   */
  call(tool: Tool, args: JsonObject, options: RequestLimits & ProgressListener): Promise<ToolAnswer>;
  /** Reads a resource. Rejects as `call` does. */
  readResource(uri: string, limits: RequestLimits): Promise<ResourceAnswer>;
  /** Fills a prompt in. Rejects as `call` does. */
  usePrompt(name: string, args: Readonly<Record<string, string>>, limits: RequestLimits): Promise<PromptAnswer>;
  /** Waits for the running calls, unless the host is closing, and then closes. */
  close(): Promise<void>;
}

/** How many characters of an unknown method are repeated to the server. */
const maxMethodText = 128;

/** How to reach a server. */
export interface McpRoute {
  openChannel(): Promise<Channel>;
  /** When to try the newer handshake. Some servers exit on a request that they do not know. */
  negotiates: "first" | "when refused";
}

/** The options of a connection. */
export interface ConnectionOptions {
  /** Fires when the host is closing. */
  signal: AbortSignal;
  /** How long the server may take to answer the handshake. */
  startTimeoutMs: number;
  /** Called when the transport closes, or when the server does not answer with its list of tools. */
  onLost?(error: unknown): void;
  /** Called when the server says that a list has changed. */
  onChanged?(kind: ChangedList): void;
}

/** Connects to a server, in whichever of the two handshakes it knows. */
export async function openMcpConnection(route: McpRoute, options: ConnectionOptions): Promise<McpConnection> {
  if (route.negotiates === "first") return connect(route, "auto", options);
  try {
    return await connect(route, "legacy", options);
  } catch (error) {
    if (!(error instanceof UnsupportedProtocolVersionError)) throw error;
    return connect(route, "auto", options);
  }
}

async function connect(
  { openChannel }: McpRoute,
  mode: "legacy" | "auto",
  { signal, startTimeoutMs, onLost = () => {}, onChanged = () => {} }: ConnectionOptions,
): Promise<McpConnection> {
  const channel = await openChannel();
  limitAnswers(channel.transport);
  const client: Client = new WholeAnswerClient(
    { name: "turnpike", version },
    // It declares no capabilities, because the host cannot answer a server's questions in the middle of a call.
    { versionNegotiation: { mode }, inputRequired: { autoFulfill: false } },
  );
  client.fallbackRequestHandler = ({ method }) => {
    const message = `${plainText(method, maxMethodText)} is not carried by this client: the call cannot go on with it.`;
    return Promise.reject(new ProtocolError(ProtocolErrorCode.MethodNotFound, message));
  };
  try {
    await client.connect(channel.transport, { timeout: startTimeoutMs, signal });
  } catch (error) {
    await channel.close();
    throw error;
  }
  // oxlint-disable-next-line unicorn/prefer-add-event-listener -- a client is no event target
  client.onclose = () => onLost(new SdkError(SdkErrorCode.ConnectionClosed, "The server is gone."));

  const running = new Set<Promise<unknown>>();
  const lists = createServerLists(client, onChanged);
  const finish = async <Answer>(answer: Promise<Answer>): Promise<Answer> => {
    running.add(answer);
    try {
      return await answer;
    } catch (error) {
      // Either this call failed or the whole server. The next caller reads the list again, and finds out. The error cannot tell,
      // because it is "connection closed" also for a caller who left.
      if (!isOfThisCall(error)) lists.forget("tools");
      throw error;
    } finally {
      running.delete(answer);
    }
  };
  return {
    async list(kind = "tools") {
      try {
        return await lists.read(kind);
      } catch (error) {
        if (kind === "tools") onLost(error);
        throw error;
      }
    },
    call(tool, args, { signal: caller, timeoutMs: timeout, onProgress }) {
      // The output is not validated against the server's own schema, which is only data for callers.
      const { outputSchema: _shown, ...toolDefinition } = tool;
      const options = { toolDefinition, signal: caller, timeout, ...(onProgress && { onprogress: onProgress }) };
      return finish(client.callTool({ name: tool.name, arguments: args }, options) as Promise<ToolAnswer>);
    },
    // Not with the client's own methods, which cache an answer for other callers and drop unknown parts of it.
    readResource(uri, { signal: caller, timeoutMs: timeout }) {
      const request = { method: "resources/read", params: { uri } };
      return finish(client.request(request, ResourceAnswerSchema, { signal: caller, timeout }));
    },
    usePrompt(name, args, { signal: caller, timeoutMs: timeout }) {
      const request = { method: "prompts/get", params: { name, arguments: args } };
      return finish(client.request(request, PromptAnswerSchema, { signal: caller, timeout }));
    },
    async close() {
      await endOf(running, signal);
      await channel.close();
      await client.close();
    },
  };
}

/** A client that returns the answer to a call unchanged. The SDK's own would drop keys that it does not know. */
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
