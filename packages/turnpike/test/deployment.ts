/** A small deployment for kernel tests: an agent that acts for alice, notes to read, and every port in memory. */
import type {
  AccessContext,
  AgentRef,
  AuditEvent,
  Capability,
  Constraints,
  Grant,
  JsonObject,
  MessageEnvelope,
  PrincipalRef,
  ResourceOperationRequest,
  ToolCall,
  ToolDescriptor,
} from "../src/contracts/index.ts";
import {
  createKernel,
  type AuditSink,
  type GrantSource,
  type Kernel,
  type KernelOptions,
  type PortFailure,
  type ToolHandler,
  type ToolProvider,
  type UsageStore,
  type WriteScope,
} from "../src/kernel/index.ts";
import { memoryAudit, memoryGrants, memoryUsage, type MemoryGrants } from "../src/testing/index.ts";

export const now = "2026-01-01T12:00:00Z";
export const later = "2026-01-01T12:10:00Z";
export const alice: PrincipalRef = { kind: "human", userId: "alice" };
export const bob: PrincipalRef = { kind: "human", userId: "bob" };
export const agent: AgentRef = { kind: "agent", agentId: "helper" };

export function contextOf(changes: Partial<AccessContext> = {}): AccessContext {
  return {
    actor: agent,
    authority: alice,
    enabledToolNamespaces: ["files"],
    namespaceId: "demo",
    now,
    owner: alice,
    purpose: "help",
    traceId: "trace-1",
    ...changes,
  };
}

/** A capability over the path and everything below, unless it is `exact`. */
export function capability(
  namespace: string,
  path: readonly string[],
  action: string,
  changes: { scope?: "exact"; owner?: PrincipalRef } = {},
): Capability {
  const { scope = "descendants", owner } = changes;
  return { resource: { namespace, path: [...path], ...(owner && { owner }) }, actions: [action], scope };
}

/** Reading all of the notes. */
const readNotes: Capability = capability("files", ["notes"], "read");

/** A grant from alice to the agent; reading all of the notes unless said otherwise. */
export function grantOf(id: string, changes: Partial<Grant> & { constraints?: Constraints } = {}): Grant {
  return {
    id,
    namespaceId: "demo",
    subject: agent,
    issuer: alice,
    capabilities: [readNotes],
    constraints: {},
    issuedAt: "2026-01-01T00:00:00Z",
    ...changes,
  };
}

/** What it takes to run the agent. */
export const runAgent: Capability = capability("service.execution", ["agent", "helper"], "invoke", { scope: "exact" });

export function callOf(changes: Partial<ToolCall> = {}): ToolCall {
  return {
    id: "call-1",
    tool: "files.read",
    arguments: { note: "today" },
    requestedAt: now,
    traceId: "trace-1",
    ...changes,
  };
}

export function operationOf(changes: Partial<ResourceOperationRequest> = {}): ResourceOperationRequest {
  return {
    operationId: "operation-1",
    action: "read",
    resource: { namespace: "files", path: ["notes", "today"] },
    ...changes,
  };
}

export function envelopeOf(changes: Partial<MessageEnvelope> = {}): MessageEnvelope {
  return {
    version: 1,
    id: "message-1",
    createdAt: now,
    traceId: "trace-1",
    purpose: "help",
    sender: agent,
    receiver: bob,
    payload: "hello",
    ...changes,
  };
}

export function descriptorOf(changes: Partial<ToolDescriptor> = {}): ToolDescriptor {
  return {
    name: "files.read",
    description: "Reads one note.",
    namespace: "files",
    source: "host",
    readWrite: "read",
    inputSchema: { type: "object" },
    requiredCapability: { action: "read", resource: { namespace: "files", path: ["notes"] } },
    ...changes,
  };
}

/** A tool that records the calls that reached it. */
export interface TestTool extends ToolHandler {
  readonly calls: readonly ToolCall[];
}

/** Reads the note named in its arguments: needs `files` / `["notes", note]` / `read`. Parts can be replaced. */
export function noteTool(changes: Partial<ToolHandler> & { name?: string } = {}): TestTool {
  const { name = "files.read", ...parts } = changes;
  const calls: ToolCall[] = [];
  const namespace = name.slice(0, name.lastIndexOf("."));
  return {
    descriptor: descriptorOf({ name, namespace }),
    parse: (args) => args,
    requirement: (_context, args) => needs("notes", noteOf(args)),
    ...parts,
    calls,
    invoke(context, call, signal, reportProgress) {
      calls.push(call);
      if (parts.invoke !== undefined) return parts.invoke(context, call, signal, reportProgress);
      return Promise.resolve({
        status: "succeeded",
        callId: call.id,
        tool: call.tool,
        completedAt: context.now,
        output: `text of ${noteOf(call.arguments)}`,
      });
    },
  };
}

/** The act of reading one place in `files`. */
export function needs(...path: string[]): { action: string; resource: { namespace: string; path: string[] } } {
  return { action: "read", resource: { namespace: "files", path } };
}

function noteOf(args: JsonObject): string {
  return String(args["note"] ?? "");
}

/** A provider that counts how often it was asked. */
export interface TestProvider extends ToolProvider {
  readonly asked: number;
}

/** Serves one namespace, unless more are named, with what `tools` returns. */
export function providerOf(
  id: string,
  namespaces: readonly string[],
  tools: ToolProvider["tools"] = () => Promise.resolve([]),
): TestProvider {
  let asked = 0;
  return {
    id,
    namespaces,
    get asked() {
      return asked;
    },
    tools(context, signal) {
      asked += 1;
      return tools(context, signal);
    },
  };
}

/** A kernel, and what its ports saw. */
export interface World {
  kernel: Kernel;
  grants: MemoryGrants;
  usage: UsageStore;
  events: readonly AuditEvent[];
  portErrors: { error: unknown; failure: PortFailure }[];
  auditErrors: { error: unknown; event: AuditEvent }[];
}

/** Every port in memory, each replaceable; `grants` are those that are issued at first. */
export function worldOf(
  options: Partial<Omit<KernelOptions, "grants">> & {
    grants?: readonly Grant[];
    source?: GrantSource;
    countsUses?: boolean;
  } = {},
): World {
  const { grants: issued = [], source, countsUses = true, ...ports } = options;
  const grants = memoryGrants(issued);
  const usage = ports.usage ?? memoryUsage();
  const audit = memoryAudit();
  const portErrors: World["portErrors"] = [];
  const auditErrors: World["auditErrors"] = [];
  const kernel = createKernel({
    ...(countsUses && { usage }),
    audit,
    onPortError: (error, failure) => portErrors.push({ error, failure }),
    onAuditError: (error, event) => auditErrors.push({ error, event }),
    ...ports,
    grants: source ?? grants,
  });
  return { kernel, grants, usage, events: audit.events, portErrors, auditErrors };
}

/** What a failing port says; it must never reach a caller. */
export const portSecret = "s3cret-text-of-a-port";

/** A port method that fails. */
export function fails(): Promise<never> {
  return Promise.reject(new Error(portSecret));
}

/** A sink that refuses the events that `refuses` picks and stores the others. */
export function refusingAudit(refuses: (event: AuditEvent) => boolean): AuditSink & { events: readonly AuditEvent[] } {
  const events: AuditEvent[] = [];
  return {
    events,
    record(event) {
      if (refuses(event)) return fails();
      events.push(event);
      return Promise.resolve();
    },
  };
}

/** The status of a result, or the code of its error. */
export function said(result: { status: string } | { error: { code: string } }): string {
  return "error" in result ? result.error.code : result.status;
}

/** A promise that the test settles. */
export interface Deferred<T> {
  promise: Promise<T>;
  resolve(value: T): void;
}

export function deferred<T>(): Deferred<T> {
  const settlers: ((value: T) => void)[] = [];
  const promise = new Promise<T>((settle) => {
    settlers.push(settle);
  });
  return { promise, resolve: (value) => settlers.forEach((settle) => settle(value)) };
}

/** What an operation rejects with. */
export async function rejection(operation: Promise<unknown>): Promise<unknown> {
  try {
    await operation;
  } catch (error) {
    return error;
  }
  throw new Error("The operation did not reject.");
}

/** A value that the types forbid, as untyped callers and ports send it. */
export function untyped<T>(value: unknown): T {
  return value as T;
}

/** A scope of writes in which everything counts as stored at once. */
export function scopeOf(): WriteScope {
  return { decide: () => Promise.resolve(0), record: () => Promise.resolve(), pendingEvents: [] };
}
