import type { Transaction } from "kysely";
import {
  createWithShortToken,
  freshId,
  freshSecret,
  isSameHash,
  isSameText,
  presentedBy,
  renewShortToken,
  secretHashOf,
} from "../access/index.ts";
import { columnText } from "../shared/index.ts";
import type { Schema } from "../storage/index.ts";
import type { AuthorizationRequest } from "./authorization-requests.ts";
import {
  type Connection,
  connectionOf,
  endConnection,
  type EndingPorts,
  isPersonLetIn,
  subjectOf,
} from "./connections.ts";

/** The tokens of a client. None of them is stored. */
interface IssuedTokens {
  accessToken: string;
  refreshToken: string;
  credentialId: string;
}

/** What a code or a refresh token came to. */
export type TokenAnswer =
  | { kind: "issued"; tokens: IssuedTokens; connection: Connection; isNoted: boolean }
  | { kind: "invalid" }
  /** It was used before, so someone else has it as well: its connection has ended. */
  | { kind: "reused"; connection: Connection; isOver: boolean };

/** What tokens are made with, and ended with. */
export interface TokenPorts extends EndingPorts {
  accessTokenMs: number;
  refreshMs: number;
}

const codeMs = 60_000;
const dayMs = 86_400_000;

type CodeContent = Pick<AuthorizationRequest, "clientId" | "redirectUri" | "challenge" | "resource">;

/** Makes a code of a connection, which is exchanged once within a minute. */
export async function createCode(
  transaction: Transaction<Schema>,
  { id: connection_id, namespaceId }: Connection,
  { clientId, redirectUri, challenge, resource }: AuthorizationRequest,
  now: Date,
): Promise<string> {
  const [id, secret] = [freshId(), freshSecret()];
  const content: CodeContent = { clientId, redirectUri, challenge, resource };
  const row = {
    id,
    namespace_id: columnText(namespaceId),
    connection_id,
    secret_hash: secretHashOf(secret),
    content: JSON.stringify(content),
    expires_at: after(now, codeMs),
    used_at: null,
  };
  await transaction.insertInto("authorization_codes").values(row).execute();
  return `${id}_${secret}`;
}

/** Exchanges a code in a transaction that ends a revision. */
export async function takeCode(
  transaction: Transaction<Schema>,
  sent: { code: string; clientId: string; redirectUri: string; challenge: string; resource?: string | undefined },
  ports: TokenPorts,
  now: Date,
): Promise<TokenAnswer> {
  const row = await findCode(transaction, sent.code);
  if (row === undefined) return { kind: "invalid" };
  const connection = await readConnection(transaction, row.connection_id);
  if (connection === undefined) return { kind: "invalid" };
  // INVARIANT: of two who have the same code one is a thief, and it is not known which.
  if (row.used_at !== null) return reuse(transaction, connection, ports, now);
  const content = JSON.parse(row.content) as CodeContent;
  const isRight =
    row.expires_at > now.toISOString() &&
    content.clientId === sent.clientId &&
    content.redirectUri === sent.redirectUri &&
    isSameText(content.challenge, sent.challenge) &&
    content.resource === (sent.resource ?? content.resource);
  if (!isRight || connection.endedAt !== undefined || !(await isPersonLetIn(transaction, connection)))
    return { kind: "invalid" };
  await transaction
    .updateTable("authorization_codes")
    .set({ used_at: now.toISOString() })
    .where("id", "=", row.id)
    .execute();
  const { namespaceId, principal, purpose } = connection;
  const { id: credentialId, token: accessToken } = await createWithShortToken(transaction, {
    namespaceId,
    access: { actor: subjectOf(connection), owner: principal, authority: principal, purposes: [purpose] },
    tokenExpiresAt: after(now, ports.accessTokenMs),
  });
  const [family, fresh] = [freshSecret(), freshSecret()];
  const tokens = {
    credential_id: credentialId,
    namespace_id: row.namespace_id,
    connection_id: connection.id,
    client_id: columnText(content.clientId),
    resource: content.resource,
    family_hash: secretHashOf(family),
    secret_hash: secretHashOf(fresh),
    noted_at: now.toISOString(),
    expires_at: after(now, ports.refreshMs),
  };
  await transaction.insertInto("connection_tokens").values(tokens).execute();
  const refreshToken = refreshTokenOf({ credentialId, family, secret: fresh });
  return { kind: "issued", tokens: { accessToken, refreshToken, credentialId }, connection, isNoted: true };
}

/** Exchanges a refresh token in a transaction that ends a revision. */
export async function takeRefresh(
  transaction: Transaction<Schema>,
  sent: { token: string; clientId: string; resource?: string | undefined },
  ports: TokenPorts,
  now: Date,
): Promise<TokenAnswer> {
  const found = await findFamily(transaction, sent);
  if (found === undefined) return { kind: "invalid" };
  const { row, connection, family, isPresent } = found;
  const at = now.toISOString();
  if (connection.endedAt !== undefined) return { kind: "invalid" };
  // INVARIANT: a token that was used before is shown by two, of whom one is a thief.
  if (!isPresent) return reuse(transaction, connection, ports, now);
  const isRight = row.expires_at > at && row.resource === (sent.resource ?? row.resource);
  if (!isRight || !(await isPersonLetIn(transaction, connection))) return { kind: "invalid" };
  const credentialId = row.credential_id;
  const accessToken = await renewShortToken(transaction, credentialId, after(now, ports.accessTokenMs));
  if (accessToken === undefined) return { kind: "invalid" };
  const secret = freshSecret();
  const isNoted = Date.parse(row.noted_at) + dayMs <= now.getTime();
  await transaction
    .updateTable("connection_tokens")
    .set({
      secret_hash: secretHashOf(secret),
      expires_at: after(now, ports.refreshMs),
      ...(isNoted && { noted_at: at }),
    })
    .where("credential_id", "=", credentialId)
    .execute();
  const refreshToken = refreshTokenOf({ credentialId, family, secret });
  return { kind: "issued", tokens: { accessToken, refreshToken, credentialId }, connection, isNoted };
}

/** Revokes a token of either kind, and with it the other one of its pair, in a transaction that ends a revision. */
export async function takeRevocation(
  transaction: Transaction<Schema>,
  { token, clientId }: { token: string; clientId: string },
  ports: EndingPorts,
  now: Date,
): Promise<(Connection & { isOver: boolean }) | undefined> {
  const found = await findToken(transaction, { token, clientId });
  if (found === undefined || found.connection.endedAt !== undefined) return undefined;
  const { connection, row } = found;
  await ports.revokeCredential(transaction, row.credential_id, now.toISOString());
  await transaction.deleteFrom("connection_tokens").where("credential_id", "=", row.credential_id).execute();
  const other = await transaction
    .selectFrom("connection_tokens")
    .select("credential_id")
    .where("connection_id", "=", connection.id)
    .executeTakeFirst();
  // A client that nothing is left of acts for no one.
  const isOver = other === undefined && (await endConnection(transaction, connection, ports, now.toISOString()));
  return { ...connection, isOver };
}

async function reuse(
  transaction: Transaction<Schema>,
  connection: Connection,
  ports: EndingPorts,
  now: Date,
): Promise<TokenAnswer> {
  const isOver = await endConnection(transaction, connection, ports, now.toISOString());
  return { kind: "reused", connection, isOver };
}

/** A code that was issued; undefined for one that was made up. */
export async function findCode(reader: Reader, code: string): Promise<Schema["authorization_codes"] | undefined> {
  const [, id = "", secret = ""] = /^([0-9a-f]{16})_([0-9a-f]{64})$/.exec(code) ?? [];
  const row = await reader.selectFrom("authorization_codes").selectAll().where("id", "=", id).executeTakeFirst();
  return row !== undefined && isSameHash(secretHashOf(secret), row.secret_hash) ? row : undefined;
}

/** What a token of either kind is of; undefined for one that was made up, or that another client sends. */
export function findToken(
  reader: Reader,
  { token, clientId }: { token: string; clientId: string },
): Promise<Found | undefined> {
  return token.startsWith("tp_") ? findByAccessToken(reader, token, clientId) : findFamily(reader, { token, clientId });
}

type Reader = Pick<Transaction<Schema>, "selectFrom">;

interface Found {
  row: Schema["connection_tokens"];
  connection: Connection;
}

async function findByAccessToken(reader: Reader, token: string, clientId: string): Promise<Found | undefined> {
  const { id, secretHash } = presentedBy(token);
  const credential = await reader
    .selectFrom("credentials")
    .select("secret_hash")
    .where("id", "=", id)
    .executeTakeFirst();
  if (credential === undefined || !isSameHash(secretHash, credential.secret_hash)) return undefined;
  return findTokens(reader, id, clientId);
}

/** What a refresh token is of. One that was made up, or that another client sends, is of nothing. */
async function findFamily(
  reader: Reader,
  { token, clientId }: { token: string; clientId: string },
): Promise<(Found & { family: string; isPresent: boolean }) | undefined> {
  const [, credentialId = "", family = "", secret = ""] =
    /^tpr_([0-9a-f]{16})_([0-9a-f]{64})_([0-9a-f]{64})$/.exec(token) ?? [];
  const found = await findTokens(reader, credentialId, clientId);
  if (found === undefined || !isSameHash(secretHashOf(family), found.row.family_hash)) return undefined;
  return { ...found, family, isPresent: isSameHash(secretHashOf(secret), found.row.secret_hash) };
}

async function findTokens(reader: Reader, credentialId: string, clientId: string): Promise<Found | undefined> {
  const row = await reader
    .selectFrom("connection_tokens")
    .selectAll()
    .where("credential_id", "=", credentialId)
    .executeTakeFirst();
  if (row === undefined || row.client_id !== columnText(clientId)) return undefined;
  const connection = await readConnection(reader, row.connection_id);
  return connection && { row, connection };
}

async function readConnection(reader: Reader, id: string): Promise<Connection | undefined> {
  const row = await reader.selectFrom("connections").selectAll().where("id", "=", id).executeTakeFirst();
  return row && connectionOf(row);
}

function refreshTokenOf({ credentialId, family, secret }: { credentialId: string; family: string; secret: string }) {
  return `tpr_${credentialId}_${family}_${secret}`;
}

function after(now: Date, ms: number): string {
  return new Date(now.getTime() + ms).toISOString();
}
