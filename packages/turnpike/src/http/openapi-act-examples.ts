import type { JsonObject, RouteName } from "../contracts/index.ts";
import { diary, diaryAuthority, type OperationExample } from "./openapi-turn-examples.ts";

/** The operations of acts. */
type ActRouteName = Extract<RouteName, `${string}Act`>;

const requestedAt = "2026-01-15T09:29:59Z";
const act = { version: 1, id: "act-1", tool: "summarize", requestedAt, traceId: "trace-1" };
const todo: JsonObject = { namespace: "files", path: ["notes", "todo.md"] };

const allowed: JsonObject = {
  status: "allowed",
  id: "act-1",
  expiresAt: "2026-01-15T09:35:00.000Z",
  grants: ["assistant-notes"],
};

/** By operation, then by the name that pairs a request with its response. */
export const actExamples: Record<ActRouteName, Record<string, OperationExample>> = {
  beginAct: {
    allowed: {
      summary: "The assistant reads a note with a tool of its own: the act is its own for five minutes.",
      request: { ...act, needs: [{ action: "read", resource: todo }], write: false },
      status: 200,
      response: allowed,
    },
    denied: {
      summary: "Nothing covers one of the things that are needed, so nothing is taken.",
      request: { ...act, id: "act-2", needs: [{ action: "read", resource: diary }] },
      status: 200,
      response: {
        status: "denied",
        id: "act-2",
        error: { code: "no_matching_grant", message: "No grant covers the act.", retryable: false },
        requiredAuthority: diaryAuthority,
      },
    },
    waiting: {
      summary: "Alice is asked first. The same request is allowed once she has approved it.",
      request: {
        ...act,
        id: "act-3",
        tool: "pay_invoice",
        needs: [{ action: "pay", resource: { namespace: "payments", path: ["bob"] } }],
        arguments: { invoice: "2026-17", amount: 20 },
      },
      status: 202,
      response: {
        status: "waiting",
        id: "act-3",
        escalationId: "escalation-1",
        requestHash: "bb6c90705e77b1b781d7116d45bfd948f4d8d8f4e72ddcd607649420742ade99",
        expiresAt: "2026-01-16T09:30:00.000Z",
      },
    },
  },
  finishAct: {
    succeeded: {
      summary: "The note was read.",
      path: "/v1/acts/act-1/outcome",
      request: { version: 1, traceId: "trace-1", status: "succeeded", output: "Two things are left to do." },
      status: 200,
      response: {
        status: "succeeded",
        id: "act-1",
        completedAt: "2026-01-15T09:30:00.000Z",
        output: "Two things are left to do.",
      },
    },
  },
  getAct: {
    allowed: {
      summary: "The act has begun, and its outcome was not reported yet.",
      path: "/v1/acts/act-1?traceId=trace-1",
      status: 200,
      response: allowed,
    },
  },
};
