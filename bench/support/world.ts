import type { HostProcess } from "./host-process.ts";

export const tenant = "bench";
export const purpose = "measure";
export const alice = { kind: "human", userId: "alice" } as const;
export const assistant = { kind: "agent", agentId: "assistant" } as const;
export const notePath = ["notes", "today.md"];

/** Everything that the measured calls need, and nothing that is counted or expires. */
const capabilities = [
  { resource: { namespace: "files", path: [] }, actions: ["*"], scope: "descendants" },
  { resource: { namespace: "service.execution", path: ["agent", "assistant"] }, actions: ["invoke"], scope: "exact" },
  { resource: { namespace: "service.messaging", path: [] }, actions: ["*"], scope: "descendants" },
];

/**
 * Lets an agent in, as an operator would, and writes the file that it will read. It may do everything with `further` resources as
 * well, and has the tool namespaces `enabled`. Returns the agent's token.
 */
export async function openWorld(
  { url, operator }: HostProcess,
  further: readonly { namespace: string; path: readonly string[] }[] = [],
  enabled: readonly string[] = [],
): Promise<string> {
  const more = further.map((resource) => ({ resource, actions: ["*"], scope: "descendants" }) as const);
  const access = { actor: assistant, owner: alice, authority: alice, purposes: [purpose] };
  const { token } = await operator.request("createCredential", { namespaceId: tenant, access });
  await operator.request("createGrant", {
    id: "assistant",
    namespaceId: tenant,
    subject: assistant,
    issuer: alice,
    capabilities: [...capabilities, ...more],
    constraints: {},
    issuedAt: new Date(Date.now() - 60_000).toISOString(),
  });
  const update = { enable: ["files", "messages", ...enabled] };
  await operator.request("changeNamespaces", { namespaceId: tenant, actor: assistant, update });
  await invokeResource(url, token, "create", notePath, { content: "- milk\n- bread\n" });
  return token;
}

/** One operation on files, with a credential; throws when it does not succeed. */
export async function invokeResource(
  url: string,
  token: string,
  action: string,
  path: readonly string[],
  input: object,
): Promise<unknown> {
  const operation = { operationId: crypto.randomUUID(), action, resource: { namespace: "files", path }, input };
  return call(url, token, "/v1/resources/invoke", operation);
}

/** One call of a tool, with a credential; throws when it does not succeed. */
export async function invokeTool(url: string, token: string, tool: string, args: object): Promise<unknown> {
  const traceId = crypto.randomUUID();
  const requestedAt = new Date().toISOString();
  return call(url, token, "/v1/tools/invoke", { id: traceId, tool, arguments: args, requestedAt, traceId }, traceId);
}

/** Asks whether the agent may read its note; throws when it may not. */
export async function authorize(url: string, token: string): Promise<void> {
  const body = { action: "read", resource: { namespace: "files", path: notePath } };
  const { text } = await post(url, token, "/v1/authorize", body);
  if (!text.includes('"allowed":true')) throw new Error(`/v1/authorize answers ${text}`);
}

/** A turn of the scripted runtime, which reads one file. Returns how it ended. */
export async function startTurn(
  url: string,
  token: string,
  agent: { kind: "agent"; agentId: string },
  read: string,
): Promise<string | undefined> {
  const traceId = crypto.randomUUID();
  const createdAt = new Date().toISOString();
  const envelope = { version: 1, id: traceId, createdAt, traceId, purpose, sender: alice, receiver: agent };
  const turn = { version: 1, executionId: traceId, agent, message: { ...envelope, payload: { read } } };
  const { text } = await post(url, token, "/v1/turns", turn, traceId);
  return (JSON.parse(text) as { status?: string }).status;
}

async function call(url: string, token: string, path: string, body: object, traceId?: string): Promise<unknown> {
  const { status, text } = await post(url, token, path, body, traceId);
  const result = JSON.parse(text) as { status?: string; output?: unknown };
  if (status !== 200 || result.status !== "succeeded") throw new Error(`${path} answers ${text}`);
  return result.output;
}

async function post(url: string, token: string, path: string, body: object, traceId?: string) {
  const headers = {
    authorization: `Bearer ${token}`,
    "content-type": "application/json",
    ...(traceId !== undefined && { "x-trace-id": traceId }),
  };
  const response = await fetch(new URL(path, url), { method: "POST", headers, body: JSON.stringify(body) });
  return { status: response.status, text: await response.text() };
}
