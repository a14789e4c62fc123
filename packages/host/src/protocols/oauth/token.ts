import { createHash } from "node:crypto";
import type { Reply } from "turnpike/http";
import { createOperator, type Operator } from "../../access/index.ts";
import { type Connection, subjectOf } from "../../connections/index.ts";
import type { IncomingRequest } from "../../front/index.ts";
import { oauthError, oauthReply, readForm } from "./form.ts";
import type { OAuthServices } from "./oauth-services.ts";

/** Gives a client its tokens, for a code or for a refresh token. */
export async function giveTokens(services: OAuthServices, incoming: IncomingRequest): Promise<Reply> {
  const { config, clients, connections, ports } = services;
  const form = await readForm(incoming.request);
  const twice = [...new Set(form.keys())].find((name) => form.getAll(name).length > 1);
  if (twice !== undefined) return oauthError(400, "invalid_request", `${twice}: expected it once`);
  const of = (name: string): string => form.get(name) ?? "";
  const clientId = of("client_id");
  const client = await clients.find(clientId);
  if (client === undefined)
    return oauthError(401, "invalid_client", "client_id: expected that of a client of this host");
  const resource = form.get("resource") ?? undefined;
  const now = ports.clock();
  const take = () => {
    switch (of("grant_type")) {
      case "authorization_code":
        return connections.exchange(
          {
            code: of("code"),
            clientId,
            redirectUri: of("redirect_uri"),
            challenge: challengeOf(of("code_verifier")),
            resource,
          },
          now,
        );
      case "refresh_token":
        return connections.refresh({ token: of("refresh_token"), clientId, resource }, now);
      default:
        return undefined;
    }
  };
  const taken = await take();
  if (taken === undefined)
    return oauthError(400, "unsupported_grant_type", "grant_type: expected authorization_code or refresh_token");
  if (taken.kind === "reused" && taken.isOver)
    await record(services, incoming, taken.connection, "connection.revoked", { reason: "reused" });
  if (taken.kind !== "issued" || (await services.isDeleted(taken.connection.namespaceId)))
    return oauthError(400, "invalid_grant", "This is unknown, used, over, or of another client. Ask the person again.");
  const { tokens, connection, isNoted } = taken;
  const isFirst = of("grant_type") === "authorization_code";
  if (isNoted)
    await record(services, incoming, connection, isFirst ? "credential.create" : "connection.refreshed", {
      credential: tokens.credentialId,
    });
  return oauthReply(200, {
    access_token: tokens.accessToken,
    token_type: "Bearer",
    expires_in: config.accessTokenMinutes * 60,
    refresh_token: tokens.refreshToken,
    scope: "offline_access",
  });
}

/** Revokes a token (RFC 7009). Whether there was one is not said. */
export async function revokeToken(services: OAuthServices, incoming: IncomingRequest): Promise<Reply> {
  const form = await readForm(incoming.request);
  const of = (name: string): string => form.get(name) ?? "";
  const ended = await services.connections.revokeToken(of("token"), of("client_id"), services.ports.clock());
  if (ended?.isOver === true) await record(services, incoming, ended, "connection.revoked", { reason: "client" });
  return { status: 200, headers: { "cache-control": "no-store" }, body: null };
}

async function record(
  { ports }: OAuthServices,
  { record: { requestId } }: IncomingRequest,
  connection: Connection,
  action: string,
  metadata: Record<string, string>,
): Promise<void> {
  const actor = subjectOf(connection);
  const self: Operator = createOperator({ id: "oauth", actor, role: "reviewer", requestId }, ports.audit, (error) =>
    ports.onAuditError(error),
  );
  const { namespaceId, clientId: client } = connection;
  await self.recordMade([{ namespaceId, action, receiver: actor, metadata: { client, ...metadata } }]);
}

function challengeOf(verifier: string): string {
  return createHash("sha256").update(verifier).digest("base64url");
}
