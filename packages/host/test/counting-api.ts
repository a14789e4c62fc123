import type { MessageEnvelope, ResourceOperationRequest, ToolCall, TurnEvent, TurnRequest } from "turnpike/contracts";
import type { ServiceApi } from "turnpike/http";
import { alice, assistant, now } from "./records.ts";

export const call: ToolCall = {
  id: "id-1",
  tool: "files.read",
  arguments: { path: "a", deep: { list: [1, { b: 2, a: 1 }] } },
  requestedAt: now,
  traceId: "trace-1",
};

export const operation: ResourceOperationRequest = {
  operationId: "id-1",
  action: "append",
  resource: { namespace: "files", path: ["a"] },
  input: { text: "x" },
};

export const envelope: MessageEnvelope = {
  version: 1,
  id: "id-1",
  createdAt: now,
  traceId: "trace-1",
  purpose: "support",
  sender: assistant,
  receiver: alice,
  payload: "hello",
};

export const turn: TurnRequest = {
  version: 1,
  executionId: "id-1",
  agent: { kind: "agent", agentId: "assistant" },
  message: envelope,
};

export const events: readonly TurnEvent[] = (["turn.started", "runtime.event", "turn.completed"] as const).map(
  (type, sequence) => ({
    version: 1,
    eventId: `event-${sequence}`,
    executionId: "id-1",
    traceId: "trace-1",
    sequence,
    type,
    data: { sequence },
    occurredAt: now,
  }),
);

/** An api that counts its effects; its other operations are not there. */
export interface CountingApi {
  api: ServiceApi;
  effects: string[];
}

const absent = (): Promise<never> => Promise.reject(new Error("not part of this test"));

/** `before` runs within every effect, after it was counted. */
export function countingApi(before: (effect: string) => Promise<void> = () => Promise.resolve()): CountingApi {
  const effects: string[] = [];
  const happen = async (effect: string): Promise<number> => {
    effects.push(effect);
    const count = effects.length;
    await before(effect);
    return count;
  };
  const api: ServiceApi = {
    authorize: absent,
    listToolNamespaces: absent,
    listTools: absent,
    reach: absent,
    updateToolNamespaces: absent,
    async invokeTool(_context, { id, tool }) {
      const count = await happen(`tool ${id}`);
      return { status: "succeeded", callId: id, tool, completedAt: now, output: { count, exact: "ä\u0000\ud800" } };
    },
    async invokeResource(_context, { operationId }) {
      const count = await happen(`resource ${operationId}`);
      return { status: "succeeded", operationId, completedAt: now, output: { count, exact: [1e21, null, -1.5] } };
    },
    async sendMessage(_context, { id }) {
      const count = await happen(`message ${id}`);
      return { status: "accepted", messageId: id, timestamp: now, metadata: { count } };
    },
    async executeTurn(_context, { executionId }, options) {
      const count = await happen(`turn ${executionId}`);
      for (const event of events) options?.onEvent?.(event);
      const common = { version: 1, executionId, traceId: "trace-1", startedAt: now, completedAt: now } as const;
      return { status: "succeeded", ...common, events: [...events], output: { count } };
    },
  };
  return { api, effects };
}
