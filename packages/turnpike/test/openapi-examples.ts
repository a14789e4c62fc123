/** The deployment that the examples of the API description come from: every port in memory, fixed clock and ids. */
import { z } from "zod";
import type {
  AccessContext,
  ActOutcome,
  ActRequest,
  AgentRef,
  Capability,
  Escalation,
  Grant,
  PrincipalRef,
  TurnRequest,
  TurnResult,
} from "../src/contracts/index.ts";
import { createServiceApi, createServiceHandler } from "../src/http/index.ts";
import {
  createKernel,
  defineTool,
  type KernelOptions,
  type MessageTransport,
  type ResourceProvider,
  type ToolHandler,
} from "../src/kernel/index.ts";
import { operationExamples } from "../src/http/openapi-examples.ts";
import {
  createTurnExecutor,
  escalationTool,
  KnownTurnError,
  standardRuntime,
  type JournalEntry,
  type KnownTurn,
  type TurnToBegin,
} from "../src/runtime/index.ts";
import {
  memoryActs,
  memoryAudit,
  memoryGrants,
  memoryNamespaceSettings,
  memoryPermits,
  memoryTurnJournal,
  memoryUsage,
  scriptedDriver,
  type ScriptedStep,
} from "../src/testing/index.ts";

/** The instant at which everything happens. */
export const now = "2026-01-15T09:30:00.000Z";

const alice: PrincipalRef = { kind: "human", userId: "alice" };
const assistant: AgentRef = { kind: "agent", agentId: "assistant" };

/** How one example's deployment differs from the usual one. */
interface Circumstance {
  kernel?: Partial<KernelOptions>;
  without?: keyof KernelOptions;
  enabled?: readonly string[];
  context?: Partial<AccessContext> | (() => never);
  isAborted?: boolean;
  /** What is known of the turn that is asked for. */
  known?: Partial<KnownTurn>;
  /** What was done with the act `act-1` before. */
  act?: "begun" | "finished";
}

const todo = { content: "- water the plants\n- call Bob\n", version: 1 };

function grant(id: string, ...capabilities: Capability[]): Grant {
  return {
    id,
    namespaceId: "demo",
    subject: assistant,
    issuer: alice,
    capabilities,
    constraints: {},
    issuedAt: "2026-01-01T00:00:00Z",
  };
}

function exactly(namespace: string, path: string[], action: string): Capability {
  return { resource: { namespace, path }, actions: [action], scope: "exact" };
}

function below(namespace: string, path: string[], actions: string[]): Capability {
  return { resource: { namespace, path }, actions, scope: "descendants" };
}

const grants = [
  grant("assistant-notes", below("files", ["notes"], ["read", "list", "search"])),
  grant(
    "assistant-turns",
    exactly("service.execution", ["agent", "assistant"], "invoke"),
    exactly("service", ["escalation"], "request"),
  ),
  grant(
    "assistant-messages",
    exactly("service.messaging", ["agent", "assistant"], "receive"),
    exactly("service.messaging", ["human", "alice"], "send"),
  ),
  grant("assistant-payments", { ...below("payments", [], ["pay"]), approval: "each" }),
];

const tools: ToolHandler[] = [
  defineTool({
    name: "files.read",
    description: "Reads a file.",
    namespace: "files",
    readWrite: "read",
    annotations: { readOnly: true },
    input: z.strictObject({ path: z.string() }),
    output: z.strictObject({ content: z.string(), version: z.number() }),
    requires: {
      ceiling: { action: "read", resource: { namespace: "files", path: [] } },
      of: ({ path }) => ({ action: "read", resource: { namespace: "files", path: path.split("/") } }),
    },
    run: () => todo,
  }),
  defineTool({
    name: "messages.inbox",
    description: "Reads the actor's own messages.",
    namespace: "messages",
    readWrite: "read",
    input: z.strictObject({}),
    requires: { action: "receive", resource: { namespace: "service.messaging", path: [] } },
    run: () => [],
  }),
  defineTool({
    name: "payments.pay",
    description: "Pays somebody from the owner's account.",
    namespace: "payments",
    source: "demo",
    readWrite: "write",
    input: z.strictObject({ to: z.string(), amount: z.number() }),
    requires: {
      ceiling: { action: "pay", resource: { namespace: "payments", path: [] } },
      of: ({ to }) => ({ action: "pay", resource: { namespace: "payments", path: [to] } }),
    },
    run: () => "paid",
  }),
  escalationTool(),
];
const everyNamespace = ["files", "messages", "payments", "service"];

const files: ResourceProvider = {
  namespace: "files",
  invoke: ({ operationId, context }) =>
    Promise.resolve({ status: "succeeded", operationId, completedAt: context.now, output: todo }),
};

/** Takes every message, as the host's inbox does. */
const messages: MessageTransport = {
  deliver: ({ now: timestamp }, { id: messageId }) => Promise.resolve({ status: "accepted", messageId, timestamp }),
};

/** What the assistant does with a message: it reads what is named there, and asks for what it may not read. */
const script: ScriptedStep[] = [
  (_results, { message: { payload } }) => {
    const { read } = payload as { read: string };
    if (read.startsWith("notes/")) return { type: "tools", calls: [{ tool: "files.read", arguments: { path: read } }] };
    const requestedAuthority = { capabilities: [exactly("files", read.split("/"), "read")] };
    return { type: "escalate", reason: `I was asked to read ${read}.`, requestedAuthority };
  },
  (results) => ({
    type: "complete",
    output: results.map((read) => (read.status === "succeeded" ? read.output : null)),
  }),
];

const fails = (): Promise<never> => Promise.reject(new Error("The store is down."));

/** The circumstances of the examples that need some: by code, or by operation and name. */
const circumstances: Readonly<Record<string, Circumstance>> = {
  "invokeTool approval": { enabled: everyNamespace },
  "listToolNamespaces catalog": { enabled: everyNamespace },
  "updateToolNamespaces disable": { enabled: everyNamespace },
  "reach unavailable": { kernel: { grants: { load: fails } } },
  "executeTurn escalated": { enabled: everyNamespace },
  "finishAct succeeded": { act: "begun" },
  "getAct allowed": { act: "begun" },
  outcome_conflict: { act: "finished" },
  permission_denied: {
    context() {
      throw Object.assign(new Error("Not from this network."), { code: "permission_denied" });
    },
  },
  request_aborted: { isAborted: true },
  replay_conflict: { known: { isSame: false } },
  replay_pending: { known: { isAsync: false } },
  replay_interrupted: { known: { state: { ...runs(), status: "failed" } } },
  internal_error: {
    context() {
      throw new Error("A secret of the host's.");
    },
  },
  invalid_access_context: { context: { now: "today" } },
  namespace_settings_not_configured: { without: "namespaceSettings" },
  namespace_settings_unavailable: { kernel: { namespaceSettings: { applyUpdate: fails } } },
  authority_unavailable: { kernel: { grants: { load: fails } } },
  audit_unavailable: { kernel: { audit: { record: fails } } },
};

/** What is sent. */
interface Sent {
  method: string;
  path: string;
  body?: string | undefined;
  accept?: string;
  prefer?: string | undefined;
}

/** A request to the deployment of one example; built anew for each, so no example depends on another. */
export async function answerOf(example: string, { method, path, body, accept, prefer }: Sent): Promise<Response> {
  const { isAborted = false, ...changes } = circumstances[example] ?? {};
  const request = new Request(`https://turnpike.test${path}`, {
    method,
    headers: { "x-request-id": "request-1", ...(accept && { accept }), ...(prefer && { prefer }) },
    ...(body !== undefined && { body }),
    ...(isAborted && { signal: AbortSignal.abort() }),
  });
  return (await deployed(changes))(request);
}

async function deployed({
  kernel: ports,
  without,
  enabled = ["files"],
  context: changes,
  known,
  act,
}: Circumstance): Promise<(request: Request) => Promise<Response>> {
  const settings = memoryNamespaceSettings(enabled);
  const context = (): AccessContext => ({
    actor: assistant,
    authority: alice,
    enabledToolNamespaces: settings.enabled({ namespaceId: "demo", actor: assistant }),
    namespaceId: "demo",
    now,
    owner: alice,
    purpose: "demo",
    traceId: "trace-1",
    ...(typeof changes === "function" ? changes() : changes),
  });
  const options: KernelOptions = {
    grants: memoryGrants(grants),
    usage: memoryUsage(),
    tools,
    resources: [files],
    permits: memoryPermits(),
    acts: memoryActs(),
    namespaceSettings: settings,
    messages,
    audit: memoryAudit(),
    ...ports,
  };
  if (without !== undefined) delete options[without as "policy"];
  const kernel = createKernel(options);
  let ids = 0;
  const runtime = standardRuntime(scriptedDriver(script));
  const turns = createTurnExecutor({ kernel, runtime, clock: () => now, createId: () => `event-${(ids += 1)}` });
  const api = createServiceApi({ kernel, turns });
  if (act !== undefined)
    await kernel.beginAct(context(), operationExamples.beginAct["allowed"]?.request as unknown as ActRequest);
  if (act === "finished")
    await kernel.finishAct(
      context(),
      "act-1",
      operationExamples.finishAct["succeeded"]?.request as unknown as ActOutcome,
    );
  const journal = memoryTurnJournal();
  for (const { name, entries, steps, toolCalls } of recordedTurns) {
    const { request } = operationExamples.executeTurn[name] ?? {};
    const begun = await journal.begin(turnOf(request as unknown as TurnRequest), {});
    if (begun.kind === "begun") await begun.writer.write(entries, { at: now, steps, toolCalls, ranMs: 0 });
  }
  const executeTurn: typeof api.executeTurn = (accessContext, request, call) => {
    if (known !== undefined) throw new KnownTurnError({ state: runs(), isAsync: true, isSame: true, ...known });
    if (call?.isAsync === true) call.onBegun?.(runs());
    return api.executeTurn(accessContext, request, call);
  };
  return createServiceHandler({ api: { ...api, executeTurn }, journal, resolveContext: async () => context() });
}

/** The turns that are in the journal, the oldest first, and what is stored of them. */
const recordedTurns: readonly { name: string; entries: JournalEntry[]; steps: number; toolCalls: number }[] = [
  { name: "succeeded", entries: endedEntries(), steps: 2, toolCalls: 1 },
  { name: "escalated", entries: waitingEntries(), steps: 1, toolCalls: 0 },
  { name: "async", entries: [], steps: 0, toolCalls: 0 },
];

function endedEntries(): JournalEntry[] {
  const { events, ...result } = responseOf<TurnResult>("succeeded");
  return [...events.map((event) => ({ kind: "event" as const, event })), { kind: "ended", result }];
}

function responseOf<Response>(name: string): Response {
  return operationExamples.executeTurn[name]?.response as unknown as Response;
}

function waitingEntries(): JournalEntry[] {
  const { escalation } = responseOf<{ escalation: Escalation }>("escalated");
  return [{ kind: "waiting", callId: "call-1", escalation }];
}

function turnOf(request: TurnRequest): TurnToBegin {
  const { executionId } = request;
  const by = { actor: assistant, authority: alice, owner: alice, namespaceId: "demo" };
  const context = { ...by, enabledToolNamespaces: [], executionId, now, purpose: "demo", traceId: "trace-1" };
  const limits = { maxSteps: 16, maxToolCalls: 16, timeoutMs: 120_000 };
  return { request, context, isAsync: true, runtime: { id: "scripted", version: "1" }, limits, startedAt: now };
}

/** The state of a turn that has just begun. */
function runs(): KnownTurn["state"] {
  const ids = { version: 1, executionId: "turn-4", traceId: "trace-1", agent: assistant } as const;
  return { ...ids, status: "running", startedAt: now, updatedAt: now, steps: 0, toolCalls: 0 };
}
