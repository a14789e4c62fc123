import type { HostProcess } from "./host-process.ts";

const tenant = "bench";
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

/** Lets an agent in, as an operator would, and writes the file that it will read. Returns the agent's token. */
export async function openWorld({ url, operator }: HostProcess): Promise<string> {
  const access = { actor: assistant, owner: alice, authority: alice, purposes: [purpose] };
  const { token } = await operator.request("createCredential", { namespaceId: tenant, access });
  await operator.request("createGrant", {
    id: "assistant",
    namespaceId: tenant,
    subject: assistant,
    issuer: alice,
    capabilities,
    constraints: {},
    issuedAt: new Date(Date.now() - 60_000).toISOString(),
  });
  const update = { enable: ["files", "messages"] };
  await operator.request("changeNamespaces", { namespaceId: tenant, actor: assistant, update });
  await invokeResource(url, token, "create", notePath, { content: "- milk\n- bread\n" });
  return token;
}

/** One operation on files, with a credential; throws when it does not succeed. */
async function invokeResource(
  url: string,
  token: string,
  action: string,
  path: readonly string[],
  input: object,
): Promise<unknown> {
  const operation = { operationId: crypto.randomUUID(), action, resource: { namespace: "files", path }, input };
  return call(url, token, "/v1/resources/invoke", operation);
}

async function call(url: string, token: string, path: string, body: object): Promise<unknown> {
  const headers = {
    authorization: `Bearer ${token}`,
    "content-type": "application/json",
  };
  const response = await fetch(new URL(path, url), { method: "POST", headers, body: JSON.stringify(body) });
  const text = await response.text();
  const result = JSON.parse(text) as { status?: string; output?: unknown };
  if (response.status !== 200 || result.status !== "succeeded") throw new Error(`${path} answers ${text}`);
  return result.output;
}
