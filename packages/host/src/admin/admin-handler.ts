import { check, GrantSchema, IdentifierSchema, TimestampSchema, type Grant } from "turnpike/contracts";
import { ServiceHttpError } from "turnpike/http";
import { z } from "zod";
import type { Stores } from "../stores/stores.ts";
import { CredentialAccessSchema } from "../stores/credential-store.ts";

/** Where operators make and revoke credentials and grants. */
export const adminPaths = {
  credentials: "/admin/v1/credentials",
  revokeCredential: "/admin/v1/credentials/revoke",
  grants: "/admin/v1/grants",
  revokeGrant: "/admin/v1/grants/revoke",
} as const;

const unavailable = new ServiceHttpError(503, "authority_unavailable", "The stores cannot be reached right now.");

const NewCredentialSchema = z.strictObject({
  namespaceId: IdentifierSchema,
  access: CredentialAccessSchema.omit({ admin: true }),
  expiresAt: TimestampSchema.optional(),
});

const CredentialRefSchema = z.strictObject({ id: IdentifierSchema });
const GrantRefSchema = z.strictObject({ namespaceId: IdentifierSchema, id: IdentifierSchema });

/** Answers operators; undefined for paths that are not theirs. Only an operator's credential is let in. */
export function createAdminHandler(
  stores: Stores,
  onError: (error: unknown) => void,
  onChange: (facts: { operator: string; path: string; changed: string }) => void,
): (request: Request) => Promise<Response | undefined> {
  const operations: Record<string, (body: unknown) => Promise<{ id: string } | { revoked: string }>> = {
    async [adminPaths.credentials](body) {
      const { namespaceId, access, expiresAt } = read(NewCredentialSchema, body);
      return stores.credentials.create({ namespaceId, access, ...(expiresAt !== undefined && { expiresAt }) });
    },
    async [adminPaths.grants](body) {
      const grant = read<Grant>(GrantSchema, body);
      if ((await stores.grants.find(grant.namespaceId, grant.id)) !== undefined) {
        throw new ServiceHttpError(409, "invalid_request", "/id: expected an id that no grant of this tenant has.");
      }
      await stores.grants.issue(grant);
      return grant;
    },
    async [adminPaths.revokeCredential](body) {
      const { id } = read(CredentialRefSchema, body);
      return revoked(id, await stores.credentials.revoke(id, new Date().toISOString()));
    },
    async [adminPaths.revokeGrant](body) {
      const { namespaceId, id } = read(GrantRefSchema, body);
      return revoked(id, await stores.grants.revoke(namespaceId, id, new Date().toISOString()));
    },
  };
  return async (request) => {
    const path = new URL(request.url).pathname;
    if (!path.startsWith("/admin/")) return undefined;
    const requestId = crypto.randomUUID();
    try {
      const operator = await requireOperator(stores, request.headers);
      const operation = operations[path];
      if (operation === undefined) throw new ServiceHttpError(404, "not_found", "There is nothing at this path.");
      if (request.method !== "POST")
        throw new ServiceHttpError(405, "method_not_allowed", "This path knows POST.", { headers: { allow: "POST" } });
      const changed = await operation(await readJsonBody(request));
      onChange({ operator, path, changed: "id" in changed ? changed.id : changed.revoked });
      return reply(201, changed, requestId);
    } catch (error) {
      if (!(error instanceof ServiceHttpError)) onError(error);
      const { status, code, message, headers } = error instanceof ServiceHttpError ? error : unavailable;
      return reply(status, { error: { code, message, requestId } }, requestId, headers);
    }
  };
}

function revoked(id: string, isRevoked: boolean): { revoked: string } {
  if (isRevoked) return { revoked: id };
  throw new ServiceHttpError(404, "not_found", "There is nothing of this id that could be revoked.");
}

/** The id of the operator's credential; throws when it is not one. */
async function requireOperator({ credentials }: Stores, headers: Headers): Promise<string> {
  const [, token = ""] = /^bearer +([^ ]+)$/i.exec(headers.get("authorization") ?? "") ?? [];
  const credential = await credentials.verify(token, new Date());
  if (credential === undefined) {
    throw new ServiceHttpError(
      401,
      "unauthenticated",
      "Send an operator's credential: authorization: Bearer <token>.",
      {
        headers: { "www-authenticate": 'Bearer realm="turnpike"' },
      },
    );
  }
  if (credential.access.admin !== true)
    throw new ServiceHttpError(403, "permission_denied", "This credential is not an operator's.");
  return credential.id;
}

async function readJsonBody(request: Request): Promise<unknown> {
  const bytes = await request.arrayBuffer();
  try {
    return JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
  } catch {
    throw new ServiceHttpError(400, "invalid_json", "The body is not JSON.");
  }
}

function read<T>(schema: z.ZodType<T>, body: unknown): T {
  const checked = check(schema, body);
  if (!checked.ok) throw new ServiceHttpError(400, "invalid_request", checked.message);
  return checked.value;
}

function reply(
  status: number,
  body: unknown,
  requestId: string,
  headers: Readonly<Record<string, string>> = {},
): Response {
  const common = { "content-type": "application/json", "cache-control": "no-store", "x-request-id": requestId };
  return new Response(JSON.stringify(body), { status, headers: { ...headers, ...common } });
}
