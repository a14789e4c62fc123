import { once } from "node:events";
import http, { type IncomingMessage, type OutgoingHttpHeaders } from "node:http";
import https from "node:https";
import { urlToHttpOptions } from "node:url";
import {
  PROTOCOL_VERSION_META_KEY,
  SdkError,
  SdkErrorCode,
  SdkHttpError,
  parseJSONRPCMessage,
  type JSONRPCRequest,
  type StreamableHTTPClientTransport,
  type TransportSendOptions,
} from "@modelcontextprotocol/client";
import { traceHeaders } from "../telemetry/index.ts";
import type { HeaderSecrets } from "./header-secrets.ts";
import { isEventStream, readMessages, readWhole, type StreamLimits } from "./http-answer.ts";

/** Where calls are sent, and with what. */
export interface CallTarget {
  url: URL;
  headers: Readonly<Record<string, string>>;
  secrets?: HeaderSecrets | undefined;
  /** The exchanges that are open, by the id of their request. Another message may end one. */
  open: Map<string | number, { abort(): void }>;
}

/** Sends calls of tools. */
export interface CallSender {
  /**
   * Resolves with true when the answer, or the head of its stream, has arrived; with false when the server did not take the call,
   * and sends it on to another address. Rejects when there is no answer, or none that is within the limits.
   */
  send(call: JSONRPCRequest, options?: TransportSendOptions): Promise<boolean>;
  /** Ends all exchanges. */
  close(): void;
}

/** A connection that was not used for this long is closed, before its server closes it. */
const idleMs = 4000;
/** With these a server says that it did nothing, and where the same request is to be sent. After others it may have acted. */
const redirects: ReadonlySet<number> = new Set([307, 308]);
/** Headers that never come from a tool's arguments. */
const reserved = /^(?:authorization|content-type|mcp-(?:protocol-version|method|name|session-id))$/i;

/**
 * Sends calls of tools to a remote server. The transport sends everything else, knows the session, and is given the answers. It
 * could send calls too, but that takes several times the processor time.
 */
export function createCallSender(
  { url, headers, secrets, open }: CallTarget,
  transport: StreamableHTTPClientTransport,
  limits: StreamLimits,
): CallSender {
  const { request: openRequest, Agent } = url.protocol === "https:" ? https : http;
  const agent = new Agent({ keepAlive: true, timeout: idleMs });
  const target = { ...urlToHttpOptions(url), method: "POST", agent };
  const own: Record<string, string> = { "user-agent": "node" };
  for (const [name, value] of Object.entries(headers)) own[name.toLowerCase()] = value;
  const accepted = [own["accept"], "application/json", "text/event-stream"].filter((type) => type !== undefined);
  let isClosed = false;

  const headersOf = (call: JSONRPCRequest, { headers: more = {} }: TransportSendOptions): OutgoingHttpHeaders => {
    const { sessionId, protocolVersion } = transport;
    const sent: OutgoingHttpHeaders = { ...own, "content-type": "application/json", accept: accepted.join(", ") };
    if (sessionId !== undefined) sent["mcp-session-id"] = sessionId;
    const version = versionOf(call) ?? protocolVersion;
    if (version !== undefined) sent["mcp-protocol-version"] = version;
    if (versionOf(call) !== undefined) {
      sent["mcp-method"] = call.method;
      sent["mcp-name"] = String(call.params?.["name"]);
    }
    for (const [name, value] of Object.entries(more)) if (!reserved.test(name)) sent[name.toLowerCase()] = value;
    return Object.assign(sent, traceHeaders());
  };

  /** The head of the answer. The exchange ends with its time, with its signal, and when another message ends it. */
  const post = async (call: JSONRPCRequest, options: TransportSendOptions): Promise<IncomingMessage> => {
    const sent = headersOf(call, options);
    if (secrets !== undefined) Object.assign(sent, await secrets.read());
    const { requestSignal } = options;
    requestSignal?.throwIfAborted();
    if (isClosed) throw new Error("The connection is closed.");
    const body = JSON.stringify(call);
    sent["content-length"] = Buffer.byteLength(body);
    const request = openRequest({ ...target, headers: sent });
    request.on("error", ignore);
    // Without an error of our own: the connection may just have been set free for the next call, and nothing listens on it then.
    const exchange = { abort: () => void request.destroy() };
    const timer = setTimeout(exchange.abort, limits.timeoutMs).unref();
    open.set(call.id, exchange);
    requestSignal?.addEventListener("abort", exchange.abort);
    request.once("close", () => {
      clearTimeout(timer);
      if (open.get(call.id) === exchange) open.delete(call.id);
      requestSignal?.removeEventListener("abort", exchange.abort);
    });
    request.end(body);
    const [answer] = (await once(request, "response")) as [IncomingMessage];
    return answer.on("error", ignore);
  };

  /** Passes a message on to the client. Throws for one that is none, because the call then gets no answer. */
  const pass = (message: Buffer): void => {
    const said = JSON.parse(message.toString("utf8")) as unknown;
    for (const one of (Array.isArray(said) ? said : [said]).map(parseJSONRPCMessage)) transport.onmessage?.(one);
  };
  const passQuietly = (message: Buffer): void => {
    try {
      pass(message);
    } catch (error) {
      transport.onerror?.(error as Error);
    }
  };
  const readStream = async (
    answer: IncomingMessage,
    { id }: JSONRPCRequest,
    { requestSignal, onRequestStreamEnd }: TransportSendOptions,
  ): Promise<void> => {
    try {
      for await (const message of readMessages(answer, limits, id)) passQuietly(message);
    } catch {
      // That it broke off is what the listener is told.
    }
    if (!isClosed && requestSignal?.aborted !== true) onRequestStreamEnd?.();
  };
  /** A refusal that is itself an answer to the call is passed on, which only servers of the newer revision make. */
  const readRefusal = async (answer: IncomingMessage, call: JSONRPCRequest): Promise<void> => {
    const { statusCode: status = 0, statusMessage: statusText = "" } = answer;
    if (status === 401) secrets?.forget();
    const text = (await readWhole(answer, limits)).toString("utf8");
    const isAnswer = status === 400 && versionOf(call) !== undefined && errorIdIn(text) === call.id;
    if (isAnswer) return pass(Buffer.from(text));
    const message = `Error POSTing to endpoint: ${text}`;
    throw new SdkHttpError(SdkErrorCode.ClientHttpNotImplemented, message, { status, statusText, text });
  };

  return {
    async send(call, options = {}) {
      const answer = await post(call, options);
      const { statusCode: status = 0, headers: said } = answer;
      const type = said["content-type"] ?? "";
      if (redirects.has(status)) answer.destroy();
      else if (status < 200 || status > 299) await readRefusal(answer, call);
      else if (status === 202) answer.resume();
      else if (isEventStream(type)) void readStream(answer, call, options);
      else if (/^application\/json\s*(;|$)/i.test(type)) pass(await readWhole(answer, limits));
      else {
        answer.destroy();
        throw new SdkError(SdkErrorCode.ClientHttpUnexpectedContent, `Unexpected content type: ${type}`);
      }
      return !redirects.has(status);
    },
    close() {
      isClosed = true;
      // Its connections in use too, so that exchanges end.
      agent.destroy();
    },
  };
}

/** Who waits for the head or the body gets the error; it may also come after that. */
function ignore(): void {}

/** The protocol revision that a message names, which only messages of the newer revision do. */
function versionOf({ params }: JSONRPCRequest): string | undefined {
  const version = params?.["_meta"]?.[PROTOCOL_VERSION_META_KEY];
  return typeof version === "string" ? version : undefined;
}

/** The id of the request that an error answers; undefined when the text is no such error. */
function errorIdIn(text: string): unknown {
  try {
    const { id, error } = JSON.parse(text) as { id?: unknown; error?: unknown };
    return error === undefined ? undefined : id;
  } catch {
    return undefined;
  }
}
