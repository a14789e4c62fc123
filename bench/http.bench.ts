// The handler called in process, against a bare Fetch handler that parses the same body and answers with as many bytes.
import type { AccessContext, Grant } from "turnpike/contracts";
import { createServiceApi, createServiceHandler } from "turnpike/http";
import { createKernel, type ToolHandler } from "turnpike/kernel";
import { createTurnExecutor, standardRuntime } from "turnpike/runtime";
import { memoryGrants, scriptedDriver } from "turnpike/testing";
import { measureSubjects, type Subject } from "./support/in-process.ts";
import { publish } from "./support/results.ts";

type Handler = (request: Request) => Promise<Response>;

const now = "2026-02-01T09:00:00Z";
const alice = { kind: "human", userId: "alice" } as const;
const agent = { kind: "agent", agentId: "helper" } as const;
const context: AccessContext = {
  actor: agent,
  authority: alice,
  enabledToolNamespaces: ["files"],
  namespaceId: "demo",
  now,
  owner: alice,
  purpose: "help",
  traceId: "trace-1",
};

function grantOf(id: string, namespace: string, path: string[]): Grant {
  const capabilities = [{ resource: { namespace, path }, actions: ["*"], scope: "descendants" as const }];
  return { id, namespaceId: "demo", subject: agent, issuer: alice, capabilities, constraints: {}, issuedAt: now };
}

function toolOf(name: string): ToolHandler {
  return {
    descriptor: {
      name,
      description: "Reads one note of the owner, by its name, and returns its text.",
      namespace: "files",
      source: "host",
      readWrite: "read",
      inputSchema: { type: "object", properties: { note: { type: "string" } }, required: ["note"] },
      requiredCapability: { action: "read", resource: { namespace: "files", path: ["notes"] } },
    },
    parse: (args) => args,
    invoke: (_context, { id, tool }) =>
      Promise.resolve({ status: "succeeded", callId: id, tool, completedAt: now, output: "milk, bread" }),
  };
}

const kernel = createKernel({
  grants: memoryGrants([
    grantOf("notes", "files", ["notes"]),
    grantOf("run", "service.execution", ["agent", "helper"]),
  ]),
  tools: Array.from({ length: 12 }, (_, index) => toolOf(`files.read${index}`)),
  audit: "none",
});
const turns = createTurnExecutor({
  kernel,
  runtime: standardRuntime(scriptedDriver([{ type: "complete", output: "done" }])),
});
const handler = createServiceHandler({
  api: createServiceApi({ kernel, turns }),
  resolveContext: () => Promise.resolve(context),
});

const message = {
  version: 1,
  id: "message-1",
  createdAt: now,
  traceId: "trace-1",
  purpose: "help",
  sender: alice,
  receiver: agent,
  payload: { text: "What do I have to buy?" },
};
const requests: { name: string; path: string; body?: object }[] = [
  { name: "GET /v1/tools", path: "/v1/tools" },
  {
    name: "POST /v1/authorize",
    path: "/v1/authorize",
    body: { action: "read", resource: { namespace: "files", path: ["notes", "today.md"] } },
  },
  {
    name: "POST /v1/tools/invoke",
    path: "/v1/tools/invoke",
    body: { id: "call-1", tool: "files.read3", arguments: { note: "today.md" }, requestedAt: now, traceId: "trace-1" },
  },
  { name: "POST /v1/turns", path: "/v1/turns", body: { version: 1, executionId: "turn-1", agent, message } },
];

/** Parses what there is to parse and answers with what the service answered. */
function bareTwin(answer: unknown): Handler {
  return async (request) => {
    if (request.method !== "GET") await request.json();
    return new Response(JSON.stringify(answer), {
      headers: { "content-type": "application/json", "cache-control": "no-store", "x-request-id": "request-1" },
    });
  };
}

function requestOf(path: string, text: string | undefined): Request {
  const headers = { "content-type": "application/json", "x-request-id": "request-1", authorization: "Bearer t0ken" };
  const url = `http://127.0.0.1:8787${path}`;
  return text === undefined ? new Request(url, { headers }) : new Request(url, { method: "POST", headers, body: text });
}

// The making of the request is part of what is measured, because both sides need a new one. The bare handler is measured
// twice: how far the second one is from 1 is how little a ratio of this run means.
const subjects: Subject[] = [];
for (const { name, path, body } of requests) {
  const text = body && JSON.stringify(body);
  const response = await handler(requestOf(path, text));
  if (response.status !== 200) throw new Error(`${name} answers ${response.status}: ${await response.text()}`);
  const bare = bareTwin(await response.json());
  const against = `${name}, bare`;
  subjects.push(
    { name: against, run: () => bare(requestOf(path, text)) },
    { name: `${name}, bare again`, run: () => bare(requestOf(path, text)), against },
    {
      name: `${name}, the handler in process`,
      run: () => handler(requestOf(path, text)),
      against,
      ...(path === "/v1/authorize" && { goalRatio: 1.35 }),
    },
  );
}
publish("http", [await measureSubjects("The handler in process, next to a bare Fetch handler", subjects)]);
