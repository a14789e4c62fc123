import type { components } from "./generated/schema.ts";

type Schemas = components["schemas"];

declare module "vitest" {
  /** What generate.js provides: the demo, and the token of Alice's assistant. */
  interface ProvidedContext {
    url: string;
    token: string;
  }
}

/** The trace of everything that one client does. A header says it, because each body does. */
export function requestsOf(client: string) {
  const traceId = `trace-${client}`;
  const requestedAt = new Date().toISOString();
  const assistant = { kind: "agent", agentId: "assistant" } as const;
  const read = (id: string, path: string): Schemas["ToolCall"] => ({
    id,
    tool: "files.read",
    arguments: { path },
    requestedAt,
    traceId,
  });
  const turn: Schemas["TurnRequest"] = {
    version: 1,
    executionId: `turn-${client}`,
    agent: assistant,
    message: {
      version: 1,
      id: `message-${client}`,
      createdAt: requestedAt,
      traceId,
      purpose: "demo",
      sender: { kind: "human", userId: "alice" },
      receiver: assistant,
      payload: { read: "notes/todo.md" },
    },
  };
  return { traceId, allowed: read("allowed", "notes/todo.md"), denied: read("denied", "private/diary.md"), turn };
}

/** What reading the note gives. */
export const todo = { content: "- water the plants\n- call Bob\n", version: 1 };
