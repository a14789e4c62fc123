import type { JsonObject, JsonValue, RouteName } from "../contracts/index.ts";

// The turns of the story that openapi-examples.ts tells.

/** A request to one operation and what is answered. */
export interface OperationExample {
  summary: string;
  /** The path and query that are asked for; those of the route when absent. */
  path?: string;
  /** The header `prefer`. */
  prefer?: string;
  request?: JsonValue;
  status: 200 | 202;
  response: JsonValue;
}

const alice: JsonObject = { kind: "human", userId: "alice" };
export const assistant: JsonObject = { kind: "agent", agentId: "assistant" };
const runtime: JsonObject = { id: "scripted", version: "1" };
export const diary: JsonObject = { namespace: "files", path: ["private", "diary.md"] };
export const diaryAuthority: JsonObject = {
  id: "ee989eb25d96382798f19a692cda70984fd8bfe2aa4ad663adbad33d7345979d",
  namespaceId: "demo",
  owner: alice,
  requester: assistant,
  purpose: "demo",
  requestedAt: "2026-01-15T09:30:00.000Z",
  capabilities: [{ resource: diary, actions: ["read"], scope: "exact" }],
};

/** How the turn `turn-1` ended. */
const answered: JsonObject = {
  version: 1,
  executionId: "turn-1",
  traceId: "trace-1",
  startedAt: "2026-01-15T09:30:00.000Z",
  completedAt: "2026-01-15T09:30:00.000Z",
  events: [
    {
      version: 1,
      eventId: "event-1",
      executionId: "turn-1",
      traceId: "trace-1",
      sequence: 0,
      type: "turn.started",
      data: { runtime, limits: { maxSteps: 4, maxToolCalls: 4, timeoutMs: 30_000 } },
      occurredAt: "2026-01-15T09:30:00.000Z",
    },
    {
      version: 1,
      eventId: "event-2",
      executionId: "turn-1",
      traceId: "trace-1",
      sequence: 1,
      type: "tool.requested",
      data: { callId: "call-1-1", tool: "files.read" },
      occurredAt: "2026-01-15T09:30:00.000Z",
    },
    {
      version: 1,
      eventId: "event-3",
      executionId: "turn-1",
      traceId: "trace-1",
      sequence: 2,
      type: "tool.completed",
      data: { callId: "call-1-1", tool: "files.read", status: "succeeded" },
      occurredAt: "2026-01-15T09:30:00.000Z",
    },
    {
      version: 1,
      eventId: "event-4",
      executionId: "turn-1",
      traceId: "trace-1",
      sequence: 3,
      type: "turn.completed",
      data: {},
      occurredAt: "2026-01-15T09:30:00.000Z",
    },
  ],
  status: "succeeded",
  output: [{ content: "- water the plants\n- call Bob\n", version: 1 }],
  metadata: { runtime },
};

const now = "2026-01-15T09:30:00.000Z";
const common = { version: 1, traceId: "trace-1", agent: assistant, startedAt: now, updatedAt: now };

const ended: JsonObject = {
  ...common,
  executionId: "turn-1",
  status: "succeeded",
  completedAt: now,
  steps: 2,
  toolCalls: 1,
  result: answered,
};

const waits: JsonObject = {
  ...common,
  executionId: "turn-2",
  status: "waiting",
  steps: 1,
  toolCalls: 0,
  escalation: {
    status: "pending",
    reason: "I was asked to read private/diary.md.",
    requestedAt: now,
    reviewer: alice,
    requestedAuthority: diaryAuthority,
  },
};

const runs: JsonObject = { ...common, executionId: "turn-4", status: "running", steps: 0, toolCalls: 0 };

/** The operations of turns. */
type TurnRouteName = Extract<RouteName, `${string}Turn${string}`>;

/** By operation, then by the name that pairs a request with its response. */
export const turnExamples: Record<TurnRouteName, Record<string, OperationExample>> = {
  executeTurn: {
    succeeded: {
      summary: "The assistant reads a note and answers.",
      request: {
        version: 1,
        executionId: "turn-1",
        agent: assistant,
        message: {
          version: 1,
          id: "message-4",
          createdAt: "2026-01-15T09:29:58Z",
          traceId: "trace-1",
          purpose: "demo",
          sender: alice,
          receiver: assistant,
          payload: { read: "notes/todo.md" },
        },
        options: { maxSteps: 4, timeoutMs: 30_000 },
      },
      status: 200,
      response: answered,
    },
    escalated: {
      summary: "The assistant lacks authority and ends with an escalation to the owner.",
      request: {
        version: 1,
        executionId: "turn-2",
        agent: assistant,
        message: {
          version: 1,
          id: "message-5",
          createdAt: "2026-01-15T09:29:58Z",
          traceId: "trace-1",
          purpose: "demo",
          sender: alice,
          receiver: assistant,
          payload: { read: "private/diary.md" },
        },
      },
      status: 200,
      response: {
        version: 1,
        executionId: "turn-2",
        traceId: "trace-1",
        startedAt: "2026-01-15T09:30:00.000Z",
        completedAt: "2026-01-15T09:30:00.000Z",
        events: [
          {
            version: 1,
            eventId: "event-1",
            executionId: "turn-2",
            traceId: "trace-1",
            sequence: 0,
            type: "turn.started",
            data: { runtime, limits: { maxSteps: 16, maxToolCalls: 16, timeoutMs: 120_000 } },
            occurredAt: "2026-01-15T09:30:00.000Z",
          },
          {
            version: 1,
            eventId: "event-2",
            executionId: "turn-2",
            traceId: "trace-1",
            sequence: 1,
            type: "turn.escalated",
            data: {},
            occurredAt: "2026-01-15T09:30:00.000Z",
          },
        ],
        status: "escalated",
        escalation: {
          status: "pending",
          reason: "I was asked to read private/diary.md.",
          requestedAt: "2026-01-15T09:30:00.000Z",
          reviewer: alice,
          requestedAuthority: diaryAuthority,
        },
        metadata: { runtime },
      },
    },
    denied: {
      summary: "The caller acts as another agent than the one it asks for.",
      request: {
        version: 1,
        executionId: "turn-3",
        agent: { kind: "agent", agentId: "auditor" },
        message: {
          version: 1,
          id: "message-6",
          createdAt: "2026-01-15T09:29:58Z",
          traceId: "trace-1",
          purpose: "demo",
          sender: alice,
          receiver: { kind: "agent", agentId: "auditor" },
          payload: { read: "notes/todo.md" },
        },
      },
      status: 200,
      response: {
        version: 1,
        executionId: "turn-3",
        traceId: "trace-1",
        startedAt: "2026-01-15T09:30:00.000Z",
        completedAt: "2026-01-15T09:30:00.000Z",
        events: [
          {
            version: 1,
            eventId: "event-1",
            executionId: "turn-3",
            traceId: "trace-1",
            sequence: 0,
            type: "turn.denied",
            data: { code: "actor_mismatch" },
            occurredAt: "2026-01-15T09:30:00.000Z",
          },
        ],
        status: "denied",
        error: { code: "actor_mismatch", message: "The context's actor is not the turn's agent.", retryable: false },
        metadata: { runtime },
      },
    },
    async: {
      summary: "The turn goes on without its caller.",
      prefer: "respond-async",
      request: {
        version: 1,
        executionId: "turn-4",
        agent: assistant,
        message: {
          version: 1,
          id: "message-7",
          createdAt: "2026-01-15T09:29:58Z",
          traceId: "trace-1",
          purpose: "demo",
          sender: alice,
          receiver: assistant,
          payload: { read: "private/diary.md" },
        },
      },
      status: 202,
      response: runs,
    },
  },
  listTurns: {
    all: {
      summary: "The two newest turns; there are older ones.",
      path: "/v1/turns?limit=2",
      status: 200,
      response: { turns: [runs, waits], next: "2" },
    },
    waiting: {
      summary: "The turns that wait for an answer.",
      path: "/v1/turns?status=waiting",
      status: 200,
      response: { turns: [waits] },
    },
  },
  getTurn: {
    succeeded: { summary: "A turn that has ended.", path: "/v1/turns/turn-1", status: 200, response: ended },
    waiting: {
      summary: "A turn that waits until its owner answers.",
      path: "/v1/turns/turn-2",
      status: 200,
      response: waits,
    },
  },
  listTurnEvents: {
    later: {
      summary: "What happened after the third event.",
      path: "/v1/turns/turn-1/events?after=2",
      status: 200,
      response: { events: (answered["events"] as JsonObject[]).slice(3) },
    },
  },
  cancelTurn: {
    cancelled: {
      summary: "The turn stops before its next step.",
      path: "/v1/turns/turn-4/cancel",
      status: 202,
      response: runs,
    },
    ended: {
      summary: "A turn that has ended stays as it is.",
      path: "/v1/turns/turn-1/cancel",
      status: 200,
      response: ended,
    },
  },
};
