/** A small deployment behind a handler: the agent of `tool-world.ts`, one tool, every port in memory. */
import type { DiscoveryContext } from "../src/contracts/index.ts";
import type { KernelOptions } from "../src/kernel/index.ts";
import {
  createServiceApi,
  createServiceHandler,
  type ServiceApi,
  type ServiceHandlerOptions,
} from "../src/http/index.ts";
import { createTurnExecutor, standardRuntime, type RuntimePlugin, type TurnJournal } from "../src/runtime/index.ts";
import { memoryMessages, memoryNamespaceSettings, memoryResources, scriptedDriver } from "../src/testing/index.ts";
import { capability, contextOf, grantOf, noteTool, now, runAgent, worldOf, type World } from "./deployment.ts";

/** One request and its answer, as the wire has them. */
export interface Exchange {
  readonly method: string;
  readonly path: string;
  readonly body?: unknown;
  readonly status: number;
  readonly answer: unknown;
}

const envelope = {
  version: 1,
  id: "message-1",
  createdAt: "2026-01-01T12:00:00Z",
  traceId: "trace-1",
  purpose: "help",
  sender: { kind: "agent", agentId: "helper" },
  receiver: { kind: "human", userId: "bob" },
  payload: "hello",
} as const;

const turnEvent = {
  version: 1,
  executionId: "turn-1",
  traceId: "trace-1",
  occurredAt: "2026-01-01T12:00:00Z",
} as const;

/** Every route, asked for what it grants. */
export const exchanges = {
  health: { method: "GET", path: "/health", status: 200, answer: { status: "ok", protocolVersion: "1" } },
  authorize: {
    method: "POST",
    path: "/v1/authorize",
    body: { action: "read", resource: { namespace: "files", path: ["notes", "today"] } },
    status: 200,
    answer: { allowed: true, reasonCode: "allowed", matchedGrantId: "notes" },
  },
  reach: {
    method: "GET",
    path: "/v1/reach",
    status: 200,
    answer: {
      status: "computed",
      reach: [
        { namespace: "files", path: ["notes"], actions: ["*"], scope: "descendants" },
        { namespace: "service.execution", path: ["agent", "helper"], actions: ["invoke"], scope: "exact" },
        { namespace: "service.messaging", path: ["human", "bob"], actions: ["send"], scope: "descendants" },
      ],
    },
  },
  listTools: {
    method: "GET",
    path: "/v1/tools",
    status: 200,
    answer: [
      {
        name: "files.read",
        description: "Reads one note.",
        namespace: "files",
        source: "host",
        readWrite: "read",
        inputSchema: { type: "object" },
        requiredCapability: { action: "read", resource: { namespace: "files", path: ["notes"] } },
      },
    ],
  },
  listToolNamespaces: {
    method: "GET",
    path: "/v1/tools/namespaces",
    status: 200,
    answer: {
      namespaces: [{ namespace: "files", sources: ["host"], toolCount: 1, enabled: true }],
      summary: { enabled: 1, disabled: 0, total: 1 },
    },
  },
  updateToolNamespaces: {
    method: "PUT",
    path: "/v1/tools/namespaces",
    body: { enable: ["mail", "mail"], disable: ["files"] },
    status: 200,
    answer: {
      namespaces: [{ namespace: "files", sources: ["host"], toolCount: 1, enabled: false }],
      summary: { enabled: 0, disabled: 1, total: 1 },
    },
  },
  invokeTool: {
    method: "POST",
    path: "/v1/tools/invoke",
    body: {
      id: "call-1",
      tool: "files.read",
      arguments: { note: "today" },
      requestedAt: "2026-01-01T12:00:00Z",
      traceId: "trace-1",
    },
    status: 200,
    answer: {
      status: "succeeded",
      callId: "call-1",
      tool: "files.read",
      completedAt: "2026-01-01T12:00:00Z",
      output: "text of today",
    },
  },
  invokeResource: {
    method: "POST",
    path: "/v1/resources/invoke",
    body: {
      operationId: "operation-1",
      action: "write",
      resource: { namespace: "files", path: ["notes", "today"] },
      input: { text: "eggs" },
    },
    status: 200,
    answer: {
      status: "succeeded",
      operationId: "operation-1",
      completedAt: "2026-01-01T12:00:00Z",
      output: { text: "eggs" },
    },
  },
  sendMessage: {
    method: "POST",
    path: "/v1/messages",
    body: envelope,
    status: 200,
    answer: { status: "delivered", messageId: "message-1", timestamp: "2026-01-01T12:00:00Z" },
  },
  executeTurn: {
    method: "POST",
    path: "/v1/turns",
    body: {
      version: 1,
      executionId: "turn-1",
      agent: { kind: "agent", agentId: "helper" },
      message: {
        ...envelope,
        sender: { kind: "human", userId: "alice" },
        receiver: { kind: "agent", agentId: "helper" },
      },
    },
    status: 200,
    answer: {
      version: 1,
      executionId: "turn-1",
      traceId: "trace-1",
      startedAt: "2026-01-01T12:00:00Z",
      completedAt: "2026-01-01T12:00:00Z",
      events: [
        {
          ...turnEvent,
          eventId: "event-1",
          sequence: 0,
          type: "turn.started",
          data: {
            runtime: { id: "scripted", version: "1" },
            limits: { maxSteps: 16, maxToolCalls: 16, timeoutMs: 120_000 },
          },
        },
        { ...turnEvent, eventId: "event-2", sequence: 1, type: "turn.completed", data: {} },
      ],
      status: "succeeded",
      output: "done",
      metadata: { runtime: { id: "scripted", version: "1" } },
    },
  },
} as const satisfies Record<string, Exchange>;

/** The routes that need a body. */
export const withBody: readonly (Exchange & { body: object })[] = Object.values<Exchange>(exchanges).flatMap(
  (exchange) =>
    typeof exchange.body === "object" && exchange.body !== null ? [{ ...exchange, body: exchange.body }] : [],
);

/** What the handler was told to do differently. */
export interface HttpWorldOptions {
  kernel?: Partial<Omit<KernelOptions, "grants">> & Pick<Parameters<typeof worldOf>[0] & object, "grants" | "source">;
  runtime?: RuntimePlugin;
  /** Operations to replace. */
  api?: Partial<ServiceApi>;
  context?: (request: Request) => Promise<DiscoveryContext>;
  journal?: TurnJournal;
  basePath?: string;
  onError?: ServiceHandlerOptions["onError"];
}

/** A handler, and what it told the host. */
export interface HttpWorld extends World {
  handler: (request: Request) => Promise<Response>;
  /** The requests whose context was resolved. */
  resolved: Request[];
  told: { error: unknown; request: Request; requestId: string }[];
}

/** Everything in `exchanges` is granted; parts can be replaced. */
export function httpWorldOf(options: HttpWorldOptions = {}): HttpWorld {
  const { kernel, runtime, api, context, journal, basePath, onError } = options;
  const world = worldOf({
    grants: [
      grantOf("notes", { capabilities: [capability("files", ["notes"], "*")] }),
      grantOf("run", { capabilities: [runAgent] }),
      grantOf("send", { capabilities: [capability("service.messaging", ["human", "bob"], "send")] }),
    ],
    tools: [noteTool()],
    resources: [memoryResources("files")],
    messages: memoryMessages(),
    namespaceSettings: memoryNamespaceSettings(["files"]),
    ...kernel,
  });
  let ids = 0;
  const turns = createTurnExecutor({
    kernel: world.kernel,
    runtime: runtime ?? standardRuntime(scriptedDriver([{ type: "complete", output: "done" }])),
    clock: () => now,
    createId: () => `event-${(ids += 1)}`,
  });
  const resolved: Request[] = [];
  const told: HttpWorld["told"] = [];
  const handler = createServiceHandler({
    api: { ...createServiceApi({ kernel: world.kernel, turns }), ...api },
    ...(journal && { journal }),
    ...(basePath !== undefined && { basePath }),
    resolveContext(request) {
      resolved.push(request);
      return context === undefined ? Promise.resolve(contextOf()) : context(request);
    },
    onError(error, request, requestId) {
      told.push({ error, request, requestId });
      return onError?.(error, request, requestId);
    },
  });
  return { ...world, handler, resolved, told };
}

/** A request with the id `request-1`; a body that is no text and no bytes is sent as JSON. */
export function requestFor(
  { method, path, body }: Pick<Exchange, "method" | "path" | "body">,
  { headers, signal }: { headers?: Record<string, string>; signal?: AbortSignal } = {},
): Request {
  const isRaw = typeof body === "string" || body instanceof Uint8Array;
  return new Request(`http://service.test${path}`, {
    method,
    headers: { "x-request-id": "request-1", ...headers },
    ...(body !== undefined && { body: isRaw ? (body as BodyInit) : JSON.stringify(body) }),
    ...(signal && { signal }),
  });
}

/** An answer, read to its end. */
export interface Answer {
  status: number;
  headers: Record<string, string>;
  body: unknown;
}

/** Reads an answer whose body is JSON. */
export async function answerOf(response: Response): Promise<Answer> {
  const body: unknown = JSON.parse(await response.text());
  return { status: response.status, headers: Object.fromEntries(response.headers), body };
}

/** The headers of every answer that is JSON, for the id `request-1`. */
export const jsonHeaders = {
  "cache-control": "no-store",
  "content-type": "application/json",
  "x-request-id": "request-1",
};

/** The whole answer of a request-level error. */
export function errorAnswer(
  status: number,
  code: string,
  message: unknown,
  headers: Record<string, string> = {},
): Answer {
  return {
    status,
    headers: { ...jsonHeaders, ...headers },
    body: { error: { code, message, requestId: "request-1" } },
  };
}
