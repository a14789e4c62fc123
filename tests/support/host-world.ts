import type { PrincipalRef } from "../../packages/turnpike/src/contracts/index.ts";
import { alice, assistant } from "../../packages/host/test/records.ts";
import { ask } from "../../packages/host/test/host-calls.ts";

export { alice, assistant } from "../../packages/host/test/records.ts";

/** A host that can be asked as its operator. */
export interface Operated {
  readonly url: string;
  operatorToken(): string;
}

/** What a new credential differs in. */
export interface CredentialWish {
  tenant?: string;
  purposes?: readonly string[];
  expiresAt?: string;
  authority?: PrincipalRef;
}

/** Makes a credential of the assistant, who acts for Alice; the first tenant is acme and the purpose support. */
export async function makeCredential(
  host: Operated,
  wish: CredentialWish = {},
): Promise<{ id: string; token: string }> {
  const { tenant = "acme", purposes = ["support"], expiresAt, authority = alice } = wish;
  const access = { actor: assistant, owner: alice, authority, purposes };
  const body = { namespaceId: tenant, access, ...(expiresAt !== undefined && { expiresAt }) };
  const made = await ask(host.url, "/admin/v1/credentials", { token: host.operatorToken(), body });
  if (made.status !== 201) throw new Error(`No credential: ${made.text}`);
  return made.body as { id: string; token: string };
}

/** What a new grant differs in. */
export interface GrantWish {
  id: string;
  tenant?: string;
  resource: string;
  actions: readonly string[];
  maxUses?: number;
  approval?: "each";
}

/** Issues a grant from Alice to the assistant. */
export async function makeGrant(host: Operated, { id, tenant = "acme", ...wish }: GrantWish): Promise<void> {
  const [namespace = "", ...path] = wish.resource.split("/");
  const body = {
    id,
    namespaceId: tenant,
    subject: assistant,
    issuer: alice,
    capabilities: [
      {
        resource: { namespace, path },
        actions: wish.actions,
        scope: "descendants",
        ...(wish.approval && { approval: wish.approval }),
      },
    ],
    constraints: wish.maxUses === undefined ? {} : { maxUses: wish.maxUses },
    issuedAt: "2026-01-01T00:00:00Z",
  };
  const made = await ask(host.url, "/admin/v1/grants", { token: host.operatorToken(), body });
  if (made.status !== 201) throw new Error(`No grant: ${made.text}`);
}

/** A tenant whose assistant may list files below `notes` and run turns, and the assistant's token. */
export async function makeTenant(host: Operated, wish: CredentialWish = {}): Promise<string> {
  const tenant = wish.tenant ?? "acme";
  await makeGrant(host, { id: "notes", tenant, resource: "files/notes", actions: ["list", "read"] });
  await makeGrant(host, { id: "turns", tenant, resource: "service.execution/agent/assistant", actions: ["invoke"] });
  const { token } = await makeCredential(host, wish);
  await ask(host.url, "/v1/tools/namespaces", { token, method: "PUT", body: { enable: ["files"] } });
  return token;
}

/** A call of `files.list`. */
export function listCall(id: string, traceId: string, path = "notes"): Record<string, unknown> {
  return { id, tool: "files.list", arguments: { path }, requestedAt: "2026-01-01T00:00:00Z", traceId };
}

/** A turn of the assistant. */
export function turn(
  executionId: string,
  traceId: string,
  payload: unknown = {},
  createdAt = "2026-01-01T00:00:00Z",
): Record<string, unknown> {
  const message = {
    version: 1,
    id: `message-${executionId}`,
    createdAt,
    traceId,
    purpose: "support",
    sender: alice,
    receiver: assistant,
    payload,
  };
  return { version: 1, executionId, agent: assistant, message };
}
