import { createInterface } from "node:readline";
import { isJSONRPCRequest, parseJSONRPCMessage, SdkHttpError, type JSONRPCMessage } from "@modelcontextprotocol/client";
import { RequestErrorSchema } from "turnpike/contracts";
import { openHttpChannel } from "../mcp-servers/index.ts";

/** The two ends of a bridge: a client's lines on one side, a host on the other. */
export interface BridgeOptions {
  url: string;
  token: string;
  input: NodeJS.ReadableStream;
  /** Takes one line for the client. */
  write(line: string): void;
  /** Reports a problem to the person who set the bridge up. */
  report(problem: string): void;
}

// As long as the longest turn, and more than a host ever says at once.
const limits = { timeoutMs: 610_000, maxBytes: 134_217_728 };

/** Forwards messages until the client stops sending. Resolves with whether all of them reached the host. */
export async function runBridge(options: BridgeOptions): Promise<"all forwarded" | "some failed"> {
  const { write, report } = options;
  const lines = createInterface({ input: options.input });
  const running = new Set<Promise<void>>();
  let protocolVersion: string | undefined;
  let outcome: "all forwarded" | "some failed" = "all forwarded";

  const forward = async (line: string): Promise<void> => {
    const message = readMessage(line);
    if (message === undefined) return write(errorLine(null, -32_700, "This line is no JSON-RPC message."));
    try {
      for (const answer of await exchange(options, message, protocolVersion)) {
        if (isInitialize(message)) protocolVersion = versionIn(answer) ?? protocolVersion;
        write(JSON.stringify(answer));
      }
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
  await Promise.all(running);
  return outcome;
}

/** Sends one message to the host and returns its answers. */
async function exchange(
  { url, token }: BridgeOptions,
  message: JSONRPCMessage,
  protocolVersion: string | undefined,
): Promise<JSONRPCMessage[]> {
  const server = { url: `${withoutLastSlashes(url)}/mcp`, headers: { authorization: `Bearer ${token}` } };
  const { transport, close } = openHttpChannel(server, limits);
  const answers: JSONRPCMessage[] = [];
  // oxlint-disable-next-line unicorn/prefer-add-event-listener -- a transport is no event target
  transport.onmessage = (answer) => void answers.push(answer);
  if (protocolVersion !== undefined) transport.setProtocolVersion?.(protocolVersion);
  await transport.start();
  try {
    let onEnd = (): void => {};
    const ended = new Promise<void>((resolve) => (onEnd = resolve));
    await transport.send(message, { onRequestStreamEnd: onEnd });
    // Answers in one piece are there by now; those in a stream are when it ends.
    if (isJSONRPCRequest(message) && answers.length === 0) await ended;
    if (isJSONRPCRequest(message) && answers.length === 0) throw new Error("The answer broke off.");
    return answers;
  } finally {
    await close();
  }
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

function isInitialize(message: JSONRPCMessage): boolean {
  return isJSONRPCRequest(message) && message.method === "initialize";
}

function versionIn(answer: JSONRPCMessage): string | undefined {
  const version = "result" in answer ? answer.result["protocolVersion"] : undefined;
  return typeof version === "string" ? version : undefined;
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
