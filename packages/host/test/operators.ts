import type { CredentialAccess, OperatorRole } from "../src/admin-contract/records.ts";
import { bob, type Office } from "./office.ts";

/** What Bob may do as an operator with a role, in one tenant or in all. */
export function bobAs(role: OperatorRole, tenant?: string): CredentialAccess {
  return { actor: bob, owner: bob, purposes: ["operate"], admin: true, role, ...(tenant !== undefined && { tenant }) };
}

/** An operator's own way to ask an office. */
export interface OperatorAccess {
  id: string;
  token: string;
  send<Body>(path: string, body?: unknown): Promise<{ status: number; body: Body }>;
}

/** Admits Bob as an operator, and asks with his token: a POST when there is a body. */
export async function enterAs(office: Office, role: OperatorRole, tenant?: string): Promise<OperatorAccess> {
  const made = await office.stores.credentials.create({ namespaceId: "operators", access: bobAs(role, tenant) });
  return { ...made, send: (path, body) => sendAs(office, made.token, path, body) };
}

/** Asks an office with any token. */
export async function sendAs<Body>(
  { handler }: Office,
  token: string,
  path: string,
  body?: unknown,
): Promise<{ status: number; body: Body }> {
  const init = { headers: { authorization: `Bearer ${token}` } };
  const sent = body === undefined ? init : { ...init, method: "POST", body: JSON.stringify(body) };
  const response = await handler(new Request(`http://host${path}`, sent));
  if (response === undefined) throw new Error(`${path} is not the operators'.`);
  return { status: response.status, body: (await response.json()) as Body };
}
