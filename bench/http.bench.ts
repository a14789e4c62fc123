// The handler called in process, against a bare Fetch handler that parses the same body and answers with as many bytes.
import type { AccessContext, Grant } from "turnpike/contracts";
import { createServiceApi, createServiceHandler } from "turnpike/http";
import { createKernel, type ToolHandler } from "turnpike/kernel";
import { createTurnExecutor, standardRuntime } from "turnpike/runtime";
import { memoryGrants, scriptedDriver } from "turnpike/testing";

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

const rounds = 15;
const callsARound = 1500;

/** Microseconds of processor time a call; the making of the request is part of it, because both sides need a new one. */
async function measure(handle: Handler, path: string, text: string | undefined): Promise<number> {
  globalThis.gc?.();
  const start = process.cpuUsage();
  for (let call = 0; call < callsARound; call += 1) await handle(requestOf(path, text));
  const { user, system } = process.cpuUsage(start);
  return (user + system) / callsARound;
}

function quantile(values: readonly number[], share: number): number {
  return values.toSorted((one, other) => one - other)[Math.floor(values.length * share)] ?? Number.NaN;
}

// Processor time, not the clock: a call takes long enough for other processes to get in between. The bare handler is
// measured twice; how far `noise` is from 1 is how little a ratio of this run means.
console.log(["http, in process".padEnd(22), "µs", "bare µs", "ratio", "quartiles", "noise"].join("\t"));
for (const { name, path, body } of requests) {
  const text = body && JSON.stringify(body);
  const response = await handler(requestOf(path, text));
  if (response.status !== 200) throw new Error(`${name} answers ${response.status}: ${await response.text()}`);
  const bare = bareTwin(await response.json());

  const samples: { own: number; twin: number; again: number }[] = [];
  // The first two rounds warm up. The order turns around every round, so that neither side always comes first.
  for (let round = -2; round < rounds; round += 1) {
    const isTurned = round % 2 !== 0;
    const first = await measure(isTurned ? bare : handler, path, text);
    const twin = await measure(bare, path, text);
    const last = await measure(isTurned ? handler : bare, path, text);
    if (round >= 0) samples.push({ own: isTurned ? last : first, twin, again: isTurned ? first : last });
  }
  const ratios = samples.map(({ own, twin }) => own / twin);
  const noise = samples.map(({ again, twin }) => again / twin);
  const columns = [samples.map(({ own }) => own), samples.map(({ twin }) => twin)];
  const [own = "", twin = ""] = columns.map((column) => quantile(column, 0.5).toFixed(1));
  const [low = "", ratio = "", high = ""] = [0.25, 0.5, 0.75].map((share) => quantile(ratios, share).toFixed(2));
  console.log(
    [name.padEnd(22), own, twin, `${ratio}x`, `${low}-${high}`, `${quantile(noise, 0.5).toFixed(2)}x`].join("\t"),
  );
}
