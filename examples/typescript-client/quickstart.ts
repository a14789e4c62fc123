// Alice's assistant at the gate, through the typed client: one method per route, and every answer checked.
import { randomUUID } from "node:crypto";
import { createServiceClient, ServiceClientError } from "turnpike/client";
import type { ToolCall, TurnRequest } from "turnpike/contracts";

const { TURNPIKE_URL: baseUrl = "http://127.0.0.1:8787", TURNPIKE_TOKEN: token } = process.env;
if (!token) {
  console.error("Set TURNPIKE_TOKEN to the token of a credential, such as that of the assistant in the demo.");
  process.exit(1);
}

const client = createServiceClient({ baseUrl, token });
const traceId = randomUUID();
const now = () => new Date().toISOString();

/** Reads one of Alice's files. A denial is an answer, with its reason; it is not an exception. */
async function read(path: string): Promise<void> {
  const call: ToolCall = { id: randomUUID(), tool: "files.read", arguments: { path }, requestedAt: now(), traceId };
  const result = await client.invokeTool(call);
  if (result.status === "succeeded") console.log(path, result.output);
  else console.log(path, result.status, result.error.code, result.error.message);
}

/** Alice has her assistant read a file in a turn, whose events arrive while it runs. */
async function readInTurn(path: string): Promise<void> {
  const agent = { kind: "agent", agentId: "assistant" } as const;
  const request: TurnRequest = {
    version: 1,
    executionId: randomUUID(),
    agent,
    message: {
      version: 1,
      id: randomUUID(),
      createdAt: now(),
      traceId,
      purpose: "demo",
      sender: { kind: "human", userId: "alice" },
      receiver: agent,
      payload: { read: path },
    },
  };
  const turn = client.streamTurn(request);
  for await (const event of turn) console.log(event.sequence, event.type);
  console.log((await turn.result()).status);
}

try {
  console.log((await client.listTools()).map(({ name }) => name).join(" "));
  await read("notes/todo.md");
  await read("private/diary.md");
  await readInTurn("notes/todo.md");
} catch (error) {
  // No host answered, or the request itself was refused: an unknown token, too many requests.
  if (!(error instanceof ServiceClientError)) throw error;
  console.error(`${error.code}: ${error.message}`);
  process.exitCode = 1;
}
