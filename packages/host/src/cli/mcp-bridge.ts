import { createInterface } from "node:readline";
import {
  isJSONRPCNotification,
  isJSONRPCRequest,
  parseJSONRPCMessage,
  SdkHttpError,
  StreamableHTTPClientTransport,
  type FetchLike,
  type JSONRPCMessage,
  type JSONRPCNotification,
  type RequestId,
} from "@modelcontextprotocol/client";
import { findChangedNumber, RequestErrorSchema } from "turnpike/contracts";
import { timeoutSignal } from "../shared/index.ts";

/** The two ends of a bridge: a client's lines on one side, a host on the other. */
export interface BridgeOptions {
  url: string;
  token: string;
  input: NodeJS.ReadableStream;
  /** Takes one line for the client. */
  write(line: string): void;
  /** Reports a problem to the person who set the bridge up. */
  report(problem: string): void;
  /** How long calls may still run when the client has closed its input; ten seconds unless given. */
  graceMs?: number;
  /** How long the answer to a request may take; as long as the longest turn unless given. */
  timeoutMs?: number;
  /** How long after a stream of notifications has ended another one is opened; five seconds unless given. */
  retryMs?: number;
  /** Answers in the place of a network. */
  fetch?: FetchLike;
}

/** A request that the host has not answered yet. */
interface OpenRequest {
  /** Aborted when the client gave the request up, which closes its exchange with the host. */
  gone: AbortController;
  end(how: "answered" | "broke off" | "given up"): void;
}

/**
 * Forwards messages until the client stops sending, and hands on what the host says when it says it. Resolves with whether
 * all of them reached the host.
 */
export async function runBridge(options: BridgeOptions): Promise<"all forwarded" | "some failed"> {
  const { write, report, graceMs = 10_000 } = options;
  const running = new Set<Promise<void>>();
  const open = new Map<RequestId, OpenRequest>();
  const transport = openTransport(options, () => {
    for (const kind of ["tools", "resources", "prompts"])
      write(JSON.stringify({ jsonrpc: "2.0", method: `notifications/${kind}/list_changed` }));
  });
  let outcome: "all forwarded" | "some failed" = "all forwarded";
  let initializing: RequestId | undefined;

  // oxlint-disable-next-line unicorn/prefer-add-event-listener -- a transport is no event target
  transport.onmessage = (message) => {
    const id = answeredId(message);
    // An answer to a request that was given up is dropped.
    if (id !== undefined && !open.has(id)) return;
    if (id !== undefined && id === initializing) transport.setProtocolVersion(versionIn(message));
    write(JSON.stringify(message));
    if (id !== undefined) open.get(id)?.end("answered");
  };
  await transport.start();
  // Lines that come before the loop reads them are lost, so nothing may be awaited from here to the loop.
  const lines = createInterface({ input: options.input });

  const exchange = async (message: JSONRPCMessage): Promise<void> => {
    if (!isJSONRPCRequest(message)) return transport.send(message);
    const { id } = message;
    if (message.method === "initialize") initializing = id;
    const gone = new AbortController();
    const ended = new Promise<string>((resolve) => open.set(id, { gone, end: resolve }));
    const sent = transport.send(message, {
      requestSignal: gone.signal,
      onRequestStreamEnd: () => open.get(id)?.end("broke off"),
    });
    try {
      // A stream that was sent still has to end. One that could not be sent never ends.
      const how = await Promise.race([ended, sent.then(() => ended)]);
      if (how === "broke off") throw new Error("The answer broke off.");
    } finally {
      open.delete(id);
      sent.catch(() => {});
    }
  };

  const forward = async (line: string): Promise<void> => {
    const message = readMessage(line);
    if (message === undefined) return write(errorLine(null, -32_700, "This line is no JSON-RPC message."));
    // The host would get the number that parsing made of it.
    const changed = findChangedNumber(line);
    if (changed !== undefined) {
      if (!isJSONRPCRequest(message)) return report(changed.message);
      return write(errorLine(changed.path[0] === "id" ? null : message.id, -32_602, changed.message));
    }
    if (isCancellation(message)) return giveUp(open.get(message.params?.["requestId"] as RequestId));
    if (isJSONRPCRequest(message) && open.has(message.id)) {
      return write(errorLine(message.id, -32_600, "A request with this id is still running."));
    }
    try {
      await exchange(message);
    } catch (error) {
      const problem = problemOf(error, options.url);
      outcome = "some failed";
      report(problem);
      if (isJSONRPCRequest(message)) write(errorLine(message.id, -32_603, problem));
      if (error instanceof SdkHttpError && error.status === 401) lines.close();
    }
  };

  for await (const line of lines) {
    if (line.trim() === "") continue;
    const forwarded = forward(line).finally(() => running.delete(forwarded));
    running.add(forwarded);
  }
  const late = setTimeout(() => [...open.values()].forEach(giveUp), graceMs);
  await Promise.all(running);
  clearTimeout(late);
  await transport.close();
  return outcome;
}

/** Closes the exchange of a request with the host, which cancels it there. */
function giveUp(request: OpenRequest | undefined): void {
  request?.end("given up");
  request?.gone.abort();
}

/**
 * The transport to the host. It remembers the session that the host gives, and once a client has said that it is initialized it
 * follows what the host says by itself. `onReopened` is called when lists may have changed unheard.
 */
function openTransport(
  { url, token, timeoutMs = 610_000, retryMs = 5000, fetch: send = fetch }: BridgeOptions,
  onReopened: () => void,
): StreamableHTTPClientTransport {
  let wasOpen = false;
  const listen: FetchLike = async (target, init) => {
    const response = await send(target, init).catch(() => undefined);
    if (response?.ok === true) {
      if (wasOpen) onReopened();
      wasOpen = true;
      return response;
    }
    // A host that is away, or has no stream to spare, is asked again when this one has ended. Any other refusal is final.
    const isLater = response === undefined || response.status === 429 || response.status >= 500;
    if (!isLater) return new Response(null, { status: 405 });
    return new Response(new ReadableStream({ start: (stream) => stream.close() }));
  };
  return new StreamableHTTPClientTransport(new URL(`${withoutLastSlashes(url)}/mcp`), {
    requestInit: { headers: { authorization: `Bearer ${token}` } },
    fetch(target, init) {
      if (init?.method === "GET") return listen(target, init);
      // A subscription of the newer protocol is answered for as long as its client wants.
      if (new Headers(init?.headers).get("mcp-method") === "subscriptions/listen") return send(target, init);
      const signals = [timeoutSignal(timeoutMs), ...(init?.signal ? [init.signal] : [])];
      return send(target, { ...init, signal: AbortSignal.any(signals) });
    },
    // This is for the stream of notifications alone: the host sends no ids of events, so there is never an answer to resume.
    reconnectionOptions: {
      maxRetries: 1,
      initialReconnectionDelay: retryMs,
      maxReconnectionDelay: retryMs,
      reconnectionDelayGrowFactor: 1,
    },
  });
}

/** A loop, because a regular expression for this takes quadratic time on many slashes. */
function withoutLastSlashes(url: string): string {
  let end = url.length;
  while (url.endsWith("/", end)) end -= 1;
  return url.slice(0, end);
}

function readMessage(line: string): JSONRPCMessage | undefined {
  try {
    return parseJSONRPCMessage(JSON.parse(line));
  } catch {
    return undefined;
  }
}

function isCancellation(message: JSONRPCMessage): message is JSONRPCNotification {
  return isJSONRPCNotification(message) && message.method === "notifications/cancelled";
}

/** The request that a message answers; undefined when it is no answer. */
function answeredId(message: JSONRPCMessage): RequestId | undefined {
  return "method" in message ? undefined : message.id;
}

function versionIn(answer: JSONRPCMessage): string {
  const version = "result" in answer ? answer.result["protocolVersion"] : undefined;
  return typeof version === "string" ? version : "";
}

/** The message of the host's error, if it sent one. */
function problemOf(error: unknown, url: string): string {
  if (!(error instanceof SdkHttpError)) return `No host answers at ${url}.`;
  try {
    const { code, message } = RequestErrorSchema.parse(JSON.parse(String(error.data["text"]))).error;
    return `Refused (${code}): ${message}`;
  } catch {
    return `The host answered with status ${error.status}.`;
  }
}

function errorLine(id: string | number | null, code: number, message: string): string {
  return JSON.stringify({ jsonrpc: "2.0", id, error: { code, message } });
}
