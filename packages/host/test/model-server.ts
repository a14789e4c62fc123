import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { onTestFinished } from "vitest";
import { deferred } from "../../turnpike/test/deployment.ts";
import { turnWorldOf, type TurnWorld, type TurnWorldOptions } from "../../turnpike/test/turns.ts";
import type { RuntimePlugin } from "../../turnpike/src/runtime/index.ts";
import type { RetryClock } from "../src/turns/runtimes/model/ask-models.ts";
import { modelRuntime, type ModelRuntimeOptions } from "../src/turns/runtimes/model/model-runtime.ts";
import { modelsIn, openModel } from "../src/turns/runtimes/model/providers.ts";
import { RuntimeConfigSchema, type ModelConfig } from "../src/turns/runtimes/model/runtime-config.ts";
import type { Speech, Understood } from "./model-protocol.ts";
import { protocols, type Backend } from "./model-protocols.ts";

export { providers, triedProviders } from "./model-protocols.ts";

/** The key that the server knows; long enough to be found wherever it should not be. */
export const modelKey = "sk-test-0123456789abcdefghijklmnop";

/** The key of every fallback. */
export const fallbackKey = "sk-other-abcdefghijklmnop0123456789";

/** A reply in words and calls. */
type Said = { type: "say" } & Speech;

/** What the server does with one request. */
export type ModelReply =
  | Said
  | { type: "status"; status: number; words?: string; body?: string; headers?: Record<string, string> }
  /** Sends as it is, with status 200. */
  | { type: "send"; body: string; contentType?: string }
  /** Says something, and then an error, or nothing more: the connection is reset, ends, or stays. */
  | { type: "break"; text?: string; with: { error: string } | "reset" | "end" | "silence" };

/** A reply, or one that is made from the request. */
export type ScriptedReply = ModelReply | ((request: Understood) => ModelReply);

/** One reply for each request, or the same for all. */
export type Script = readonly ScriptedReply[] | ScriptedReply;

/** A request as it came. */
interface ModelRequest extends Understood {
  path: string;
  headers: IncomingMessage["headers"];
  body: Record<string, unknown>;
}

/** A provider for the time of a test. */
export interface ModelServer {
  /** The base URL to configure. */
  readonly url: string;
  /** What it was asked, in order. */
  readonly requests: readonly ModelRequest[];
  /** Everything that its provider would have refused: wrong paths, keys, shapes, and requests beyond the script. */
  readonly problems: readonly string[];
  /** Resolves when a client left a reply before its end. */
  readonly left: Promise<void>;
}

/** Says these words. */
export function says(...text: NonNullable<Speech["text"]>): Said {
  return { type: "say", text };
}

/** Calls these tools. */
export function callsTools(...calls: NonNullable<Speech["calls"]>): Said {
  return { type: "say", calls };
}

/** Refuses with this status. */
export function failsWith(status: number, headers: Record<string, string> = {}): ModelReply {
  return { type: "status", status, headers };
}

/** Starts a server that speaks a provider's protocol and follows a script, one reply a request. */
export async function openModelServer(
  backend: Backend,
  script: Script,
  options: { key?: string | undefined } = { key: modelKey },
): Promise<ModelServer> {
  const protocol = protocols[backend];
  const requests: ModelRequest[] = [];
  const problems: string[] = [];
  const leaving = deferred<void>();

  const server = createServer(async (incoming, outgoing) => {
    outgoing.on("close", () => {
      if (!outgoing.writableFinished) leaving.resolve();
    });
    const request = await read(incoming);
    requests.push(request);
    const reply = Array.isArray(script) ? (script as ScriptedReply[])[requests.length - 1] : (script as ScriptedReply);
    if (request.path !== protocol.path(String(request.model)) || incoming.method !== "POST")
      problems.push(`path ${request.path}`);
    if (options.key !== undefined && protocol.keyOf(incoming.headers) !== options.key) problems.push("wrong key");
    if (!String(incoming.headers["content-type"]).startsWith("application/json")) problems.push("no JSON");
    problems.push(...request.problems);
    if (reply === undefined) problems.push("a request beyond the script");
    await answer(typeof reply === "function" ? reply(request) : reply, request, outgoing);
  });

  const read = async (incoming: IncomingMessage): Promise<ModelRequest> => {
    const chunks: Buffer[] = [];
    for await (const chunk of incoming) chunks.push(chunk as Buffer);
    const body = JSON.parse(Buffer.concat(chunks).toString("utf8")) as Record<string, unknown>;
    const path = incoming.url ?? "";
    return { ...protocol.understand(body, path), path, headers: incoming.headers, body };
  };

  const answer = async (reply: ModelReply | undefined, { model }: ModelRequest, outgoing: ServerResponse) => {
    if (reply === undefined) return void outgoing.writeHead(500).end();
    if (reply.type === "status") {
      const { status, words = "It is so.", headers = {} } = reply;
      outgoing.writeHead(status, { "content-type": "application/json", ...headers });
      return void outgoing.end(reply.body ?? protocol.errorBody(status, words));
    }
    if (reply.type === "send") {
      outgoing.writeHead(200, { "content-type": reply.contentType ?? "text/event-stream" });
      return void outgoing.end(reply.body);
    }
    if (reply.type === "break" && reply.with === "reset" && reply.text === undefined)
      return void outgoing.socket?.resetAndDestroy();
    if (reply.type === "break" && reply.with === "silence" && reply.text === undefined) return;
    outgoing.writeHead(200, { "content-type": "text/event-stream", "x-provider-secret": "provider-header" });
    if (reply.type === "say") {
      for (const event of protocol.render(reply, model)) {
        if (typeof event === "function") await event();
        else outgoing.write(event);
      }
      return void outgoing.end();
    }
    if (reply.text !== undefined) {
      const events = protocol.render({ text: [reply.text] }, model);
      const words = events.findIndex((event) => String(event).includes(JSON.stringify(reply.text)));
      await new Promise((resolve) => outgoing.write(events.slice(0, words + 1).join(""), resolve));
    }
    if (reply.with === "reset") outgoing.socket?.resetAndDestroy();
    if (reply.with === "end") outgoing.end();
    if (typeof reply.with === "object") outgoing.end(protocol.renderError(reply.with.error));
  };

  // A client that is slow to notice would send its next request on a connection that was closed for being idle.
  server.keepAliveTimeout = 0;
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}/v1`, requests, problems, left: leaving.promise };
}

/** What a test differs in: the model's settings, the models that replace it, and the world around them. */
export interface ModelWorldOptions {
  config?: Record<string, unknown>;
  fallbacks?: readonly { backend: Backend; script: Script; config?: Record<string, unknown> }[];
  clock?: RetryClock;
  world?: TurnWorldOptions;
}

/** The settings of a model at this address, as a configuration has them. */
export function settingsOf(
  backend: Backend,
  baseUrl: string,
): { provider: ModelConfig["provider"] } & Record<string, unknown> {
  const provider = backend === "openai-chat" ? "openai" : backend;
  const api = backend === "openai-chat" ? { api: "chat" } : {};
  return { provider, ...api, model: "model-1", baseUrl, apiKeyEnv: "MODEL_KEY" };
}

/** A clock that does not wait, and tells how long it would have. */
export function stoppedClock(): { clock: RetryClock; waits: number[] } {
  const waits: number[] = [];
  const wait = (ms: number): Promise<void> => Promise.resolve(void waits.push(ms));
  return { waits, clock: { now: () => 0, random: () => 0, wait } };
}

/** A whole configuration of a runtime with a model. It is asked once, unless a test says otherwise. */
export function configOf(settings: Record<string, unknown>): ModelConfig {
  return RuntimeConfigSchema.parse({ kind: "model", retries: 0, ...settings }) as ModelConfig;
}

/** A runtime of this configuration, and of keys as the servers know them. */
export async function runtimeOf(config: ModelConfig, options?: ModelRuntimeOptions): Promise<RuntimePlugin> {
  const env = { MODEL_KEY: modelKey, FALLBACK_KEY: fallbackKey };
  return modelRuntime(config, await Promise.all(modelsIn(config).map((model) => openModel(model, env))), options);
}

/** A world whose turns are run by a model on a server of its own. */
export interface ModelWorld extends TurnWorld {
  server: ModelServer;
  /** The servers of the fallbacks. */
  others: ModelServer[];
}

/** Starts a server that follows the script, and a world that thinks with it. */
export async function modelWorldOf(
  backend: Backend,
  script: Script,
  { config, world, fallbacks = [], clock }: ModelWorldOptions = {},
): Promise<ModelWorld> {
  const server = await openModelServer(backend, script);
  const others = await Promise.all(
    fallbacks.map((other) => openModelServer(other.backend, other.script, { key: fallbackKey })),
  );
  const standIns = fallbacks.map((other, place) => ({
    ...settingsOf(other.backend, others[place]?.url ?? ""),
    apiKeyEnv: "FALLBACK_KEY",
    retries: 0,
    ...other.config,
  }));
  const settings = configOf({
    ...settingsOf(backend, server.url),
    ...(standIns.length > 0 && { fallbacks: standIns }),
    ...config,
  });
  const runtime = await runtimeOf(settings, clock && { clock });
  return { ...turnWorldOf(runtime, world), server, others };
}
