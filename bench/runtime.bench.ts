// What the envelope of a turn costs without any model time, next to the same calls without a turn.
import type { AccessContext, Grant, ToolCall, TurnRequest } from "turnpike/contracts";
import { createKernel, defineTool, type ToolHandler } from "turnpike/kernel";
import { createTurnExecutor, type RuntimePlugin } from "turnpike/runtime";
import { memoryGrants } from "turnpike/testing";
import { z } from "zod";
import { measureSubjects, type Subject } from "./support/in-process.ts";
import { digits, publish } from "./support/results.ts";

const counts = [1, 10, 100];
const crowd = 1_000;
const agent = { kind: "agent", agentId: "assistant" } as const;
const alice = { kind: "human", userId: "alice" } as const;
const now = new Date().toISOString();

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
const grant: Grant = {
  id: "grant-1",
  namespaceId: "demo",
  subject: agent,
  issuer: alice,
  capabilities: [
    { resource: { namespace: "service.execution", path: ["agent", "assistant"] }, actions: ["invoke"], scope: "exact" },
    { resource: { namespace: "files", path: ["notes"] }, actions: ["read"], scope: "descendants" },
  ],
  constraints: {},
  issuedAt: "2026-01-01T00:00:00Z",
};

async function read({ note }: { note: string }): Promise<string> {
  return `text of ${note}`;
}

const tool: ToolHandler = defineTool({
  name: "files.read",
  description: "Reads one note.",
  namespace: "files",
  readWrite: "read",
  input: z.strictObject({ note: z.string() }),
  requires: { action: "read", resource: { namespace: "files", path: ["notes"] } },
  run: read,
});
// The sink keeps nothing: what is measured is the audit log's events, not a place to keep them.
const kernel = createKernel({
  grants: memoryGrants([grant]),
  tools: [tool],
  audit: { record: () => Promise.resolve() },
});

const calls: ToolCall[] = Array.from({ length: 100 }, (_, place) => ({
  id: `call-${place}`,
  tool: "files.read",
  arguments: { note: "today" },
  requestedAt: now,
  traceId: "trace-1",
}));

/** Makes as many calls as the request's state says, one after the other. */
const caller: RuntimePlugin = {
  manifest: { id: "caller", version: "1" },
  async run({ state }, host) {
    for (const call of calls.slice(0, Number(state?.["calls"]))) {
      const result = await host.invokeTool(call);
      if (result.status !== "succeeded") throw new Error(result.error.code);
    }
    return { type: "complete", output: null };
  },
};
const turns = createTurnExecutor({ kernel, runtime: caller });
const request: TurnRequest = {
  version: 1,
  executionId: "turn-1",
  agent,
  message: {
    version: 1,
    id: "message-1",
    createdAt: now,
    traceId: "trace-1",
    purpose: "help",
    sender: alice,
    receiver: agent,
    payload: "What do I have to buy?",
  },
};

async function turnWith(count: number): Promise<void> {
  const result = await turns.execute({ ...request, context, state: { calls: count }, options: { maxSteps: 100 } });
  if (result.status !== "succeeded") throw new Error(`the turn ended ${result.status}`);
}

async function callsWithoutTurn(count: number): Promise<void> {
  for (const call of calls.slice(0, count)) {
    const result = await kernel.invokeTool(context, call);
    if (result.status !== "succeeded") throw new Error(result.error.code);
  }
}

async function plainLoop(count: number): Promise<void> {
  for (const call of calls.slice(0, count)) await read({ note: String(call.arguments["note"]) });
}

async function oneAfterTheOther(work: () => Promise<void>): Promise<void> {
  for (let time = 0; time < crowd; time += 1) await work();
}

async function atOnce(work: () => Promise<void>): Promise<void> {
  await Promise.all(Array.from({ length: crowd }, work));
}

const subjects: Subject[] = [
  { name: "turn with 0 calls", run: () => turnWith(0), against: "1 kernel.invokeTool" },
  ...counts.flatMap((count): Subject[] => [
    { name: `${count} plain`, run: () => plainLoop(count) },
    { name: `${count} kernel.invokeTool`, run: () => callsWithoutTurn(count), against: `${count} plain` },
    {
      name: `turn with ${count} calls`,
      run: () => turnWith(count),
      against: `${count} kernel.invokeTool`,
      ...(count === 10 && { goalMicros: 150 }),
    },
  ]),
  { name: `${crowd} turns of 1 call in a row`, run: () => oneAfterTheOther(() => turnWith(1)) },
  {
    name: `${crowd} turns of 1 call at once`,
    run: () => atOnce(() => turnWith(1)),
    against: `${crowd} turns of 1 call in a row`,
  },
];

const measured = await measureSubjects("A turn without a model, next to the same calls without a turn", subjects);

/** Bytes on the heap once everything that can go is gone. */
function heapUsed(): number {
  if (globalThis.gc === undefined) throw new Error("run with node --expose-gc");
  globalThis.gc();
  globalThis.gc();
  return process.memoryUsage().heapUsed;
}

async function growthAfter(count: number): Promise<number> {
  const before = heapUsed();
  for (let time = 0; time < count; time += 1) await turnWith(1);
  return heapUsed() - before;
}

// What 1,000 turns leave behind is the measure: a leak would make 100,000 leave a hundred times as much.
const many = process.argv.includes("--quick") ? 10_000 : 100_000;
const [afterFew, afterMany] = [await growthAfter(1_000), await growthAfter(many)];
publish("runtime", [
  measured,
  {
    title: "What turns leave on the heap",
    head: ["turns", "KiB", "bytes a turn"],
    rows: [
      ["1,000", digits(afterFew / 1024), ""],
      [`${digits(many)} more`, digits(afterMany / 1024), digits(afterMany / many)],
    ],
  },
]);
