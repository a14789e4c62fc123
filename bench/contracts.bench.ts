// What it costs to accept a request body, next to reading the same text as JSON.
import { MessageEnvelopeSchema, ToolCallSchema, TurnRequestSchema } from "turnpike/contracts";
import { readBody } from "turnpike/http";
import { measureSubjects, type Subject } from "./support/in-process.ts";
import { publish } from "./support/results.ts";

const message = {
  version: 1,
  id: "message-1",
  createdAt: "2026-02-01T09:00:00Z",
  traceId: "trace-1",
  purpose: "help",
  sender: { kind: "human", userId: "alice" },
  receiver: { kind: "agent", agentId: "assistant" },
  payload: { text: "What do I have to buy?", attachments: [{ name: "list.md", bytes: 120 }], urgent: false },
  replyTo: "message-0",
  provenance: { source: "inbox", parentIds: ["message-0"] },
};
const call = {
  id: "call-1",
  tool: "files.read",
  arguments: { path: ["notes", "today.md"], range: { from: 0, to: 4096 }, encoding: "utf8" },
  requestedAt: "2026-02-01T09:00:00Z",
  traceId: "trace-1",
};
const turn = {
  version: 1,
  executionId: "turn-1",
  agent: { kind: "agent", agentId: "assistant" },
  message,
  metadata: { channel: "cli" },
  state: { history: ["hello", "hi"], step: 2 },
  options: { maxSteps: 16, maxToolCalls: 16, timeoutMs: 120_000 },
};

interface Shape {
  readonly name: string;
  readonly schema: Parameters<typeof readBody>[1];
  readonly valid: object;
  readonly invalid: object;
}

const shapes: Shape[] = [
  {
    name: "message envelope",
    schema: MessageEnvelopeSchema,
    valid: message,
    invalid: { ...message, version: 2, grants: [] },
  },
  { name: "tool call", schema: ToolCallSchema, valid: call, invalid: { ...call, id: "", grants: [] } },
  { name: "turn request", schema: TurnRequestSchema, valid: turn, invalid: { ...turn, version: 2, grants: [] } },
];

/** A body as the adapter takes it in; undefined when it does not fit. */
function taken(schema: Shape["schema"], value: object): () => Promise<unknown> {
  const bytes = new TextEncoder().encode(JSON.stringify(value)).buffer;
  const source = { arrayBuffer: () => Promise.resolve(bytes) };
  return () => readBody(source, schema).catch(() => undefined);
}

const subjects: Subject[] = [];
for (const { name, schema, valid, invalid } of shapes) {
  const text = JSON.stringify(valid);
  const [takeValid, takeInvalid] = [taken(schema, valid), taken(schema, invalid)];
  const isAsNamed = (await takeValid()) !== undefined && (await takeInvalid()) === undefined;
  if (!isAsNamed) throw new Error(`the samples of ${name} are not what they are called`);
  subjects.push(
    { name: `${name}: JSON.parse`, run: () => JSON.parse(text) },
    { name: `${name}: readBody, valid`, run: takeValid, against: `${name}: JSON.parse` },
    { name: `${name}: readBody, invalid`, run: takeInvalid, against: `${name}: JSON.parse` },
  );
}

publish("contracts", [await measureSubjects("Accepting a body, next to parsing it", subjects)]);
