import type { Transaction } from "kysely";
import { type Grant, principalKey, type PrincipalRef } from "turnpike/contracts";
import { freshId, type PresentedCredential } from "../access/index.ts";
import { findGrant, insertGrant } from "../grants/index.ts";
import { columnText } from "../shared/index.ts";
import type { Database, Revisions, Schema } from "../storage/index.ts";
import { changeNamespaces } from "../tool-namespaces/index.ts";
import {
  type AuthorizationRequest,
  beginRequest,
  findRequest,
  type PendingRequest,
  readPresented,
} from "./authorization-requests.ts";
import {
  createCode,
  findCode,
  findToken,
  takeCode,
  takeRefresh,
  takeRevocation,
  type TokenAnswer,
  type TokenPorts,
} from "./connection-tokens.ts";
import { type Connection, connectionOf, endConnection, type KnownConnection, subjectOf } from "./connections.ts";
import { grantsOf, type Offer } from "./offers.ts";
import { withoutPort } from "./redirects.ts";

/** What a person allows a client. */
interface Consent {
  chosen: readonly { offer: Offer; isAskedEach: boolean }[];
  purpose: string;
  endsAt?: string | undefined;
  /** The tool namespaces that are switched on for the client. */
  toolNamespaces: readonly string[];
}

/** What an answer of a person came to. */
type Consented =
  | { kind: "connected"; code: string; connection: Connection; isNew: boolean; grants: readonly Grant[] }
  /** It was answered before, or the person is no longer let in. */
  | { kind: "over" }
  /** Something of it is no longer theirs to give. */
  | { kind: "changed" };

/**
 * What clients ask of people, and what came of it. Nothing here is half done: each method is one transaction. INVARIANT: what anyone
 * can make up, such as a code, is looked up before a revision begins, because each one has all hosts read what they cached again.
 */
export interface ConnectionStore {
  /** Stores what a client asks a person who has just signed in, and uses up the code that this ended with; undefined when it was used. */
  begin(
    request: AuthorizationRequest,
    person: { namespaceId: string; presented: PresentedCredential; codeId: string },
    now: Date,
  ): Promise<{ id: string; secret: string } | undefined>;
  /** What a client asks, for the one browser that may answer. */
  findRequest(id: string, secret: string, now: Date): Promise<PendingRequest | undefined>;
  /** Ends it without an answer of the person's; false when it is over. */
  cancel(id: string): Promise<boolean>;
  /**
   * Makes a connection of it, or adds to the one that the person has with this client, with the grants that were chosen and no others.
   * Throws an `InvariantViolatedError` when they break a rule; then nothing has changed.
   */
  consent(id: string, consent: Consent, now: Date): Promise<Consented>;
  /** Exchanges a code, once: a connection ends when one of its codes comes again. */
  exchange(
    sent: { code: string; clientId: string; redirectUri: string; challenge: string; resource?: string | undefined },
    now: Date,
  ): Promise<TokenAnswer>;
  /** Exchanges a refresh token for the next ones: a connection ends when one that was used comes again. */
  refresh(sent: { token: string; clientId: string; resource?: string | undefined }, now: Date): Promise<TokenAnswer>;
  /** By id, those after the connection `after`; of one tenant, or of all. One that has ended is among them. */
  list(page: {
    namespaceId?: string | undefined;
    after?: string | undefined;
    limit: number;
  }): Promise<KnownConnection[]>;
  find(namespaceId: string, id: string): Promise<KnownConnection | undefined>;
  /** The connections of a person that have not ended. */
  listOf(namespaceId: string, principal: PrincipalRef): Promise<KnownConnection[]>;
  /** Ends a connection at once, and for good: its tokens, and what the person granted it. False when it has ended before. */
  end(connection: Connection, at: string): Promise<boolean>;
  /** The same for all connections of a person, in a transaction that ends a revision; returns those that ended. */
  endAll(
    transaction: Transaction<Schema>,
    person: { namespaceId: string; principal: PrincipalRef },
    at: string,
  ): Promise<Connection[]>;
  /** Revokes a token of a client, and the connection with its last one. Returns the connection that it was of. */
  revokeToken(token: string, clientId: string, now: Date): Promise<(Connection & { isOver: boolean }) | undefined>;
}

export function createConnectionStore(
  { db, reporting }: Database,
  revisions: Revisions,
  ports: TokenPorts,
): ConnectionStore {
  const living = (reader: Reader, namespaceId: string, principal: PrincipalRef) =>
    readConnections(reader)
      .where("namespace_id", "=", columnText(namespaceId))
      .where("principal", "=", columnText(principalKey(principal)))
      .where("ended_at", "is", null);
  return {
    begin: (request, person, now) =>
      db.transaction().execute((transaction) => beginRequest(transaction, request, person, now)),
    findRequest: (id, secret, now) => findRequest(db, id, secret, now),
    async cancel(id) {
      const { numDeletedRows } = await db.deleteFrom("authorization_requests").where("id", "=", id).executeTakeFirst();
      return numDeletedRows > 0n;
    },
    consent: (id, consent, now) =>
      revisions
        .write(async (transaction): Promise<Consented> => {
          const taken = await transaction
            .deleteFrom("authorization_requests")
            .where("id", "=", id)
            .where("expires_at", ">", now.toISOString())
            .returningAll()
            .executeTakeFirst();
          const access = taken && (await readPresented(transaction, taken));
          if (taken === undefined || access === undefined) return { kind: "over" };
          const request = JSON.parse(taken.content) as AuthorizationRequest;
          const at = now.toISOString();
          const person = {
            namespaceId: taken.namespace_id,
            credentialId: taken.credential_id,
            principal: access.actor,
          };
          const { connection, isNew } = await openConnection(
            transaction,
            request,
            { ...person, purpose: consent.purpose },
            at,
          );
          const grants = await issue(transaction, connection, consent, at);
          const subject = subjectOf(connection);
          const enable = [...consent.toolNamespaces];
          await changeNamespaces(transaction, { namespaceId: person.namespaceId, actor: subject }, { enable });
          const code = await createCode(transaction, connection, request, now);
          return { kind: "connected", code, connection, isNew, grants };
        })
        .catch((error: unknown): Consented => {
          if (error instanceof ChangedMeanwhileError) return { kind: "changed" };
          throw error;
        }),
    async exchange(sent, now) {
      if ((await findCode(db, sent.code)) === undefined) return { kind: "invalid" };
      return revisions.write((transaction) => takeCode(transaction, sent, ports, now));
    },
    async refresh(sent, now) {
      if ((await findToken(db, sent)) === undefined) return { kind: "invalid" };
      return revisions.write((transaction) => takeRefresh(transaction, sent, ports, now));
    },
    async list({ namespaceId, after, limit }) {
      let rows = readConnections(reporting).orderBy("id").limit(limit);
      if (namespaceId !== undefined) rows = rows.where("namespace_id", "=", columnText(namespaceId));
      if (after !== undefined) rows = rows.where("id", ">", columnText(after));
      return (await rows.execute()).map(knownOf);
    },
    async find(namespaceId, id) {
      const rows = readConnections(db).where("id", "=", columnText(id));
      const row = await rows.where("namespace_id", "=", columnText(namespaceId)).executeTakeFirst();
      return row && knownOf(row);
    },
    listOf: async (namespaceId, principal) => (await living(db, namespaceId, principal).execute()).map(knownOf),
    end: (connection, at) => revisions.write((transaction) => endConnection(transaction, connection, ports, at)),
    async endAll(transaction, { namespaceId, principal }, at) {
      const open = (await living(transaction, namespaceId, principal).execute()).map(knownOf);
      for (const connection of open) await endConnection(transaction, connection, ports, at);
      return open;
    },
    async revokeToken(token, clientId, now) {
      if ((await findToken(db, { token, clientId })) === undefined) return undefined;
      return revisions.write((transaction) => takeRevocation(transaction, { token, clientId }, ports, now));
    },
  };
}

type Reader = Pick<Transaction<Schema>, "selectFrom">;

function readConnections(reader: Reader) {
  return reader
    .selectFrom("connections")
    .selectAll()
    .select((all) =>
      all
        .selectFrom("connection_tokens")
        .innerJoin("credentials", "credentials.id", "connection_tokens.credential_id")
        .whereRef("connection_tokens.connection_id", "=", "connections.id")
        .select(({ fn }) => fn.max("credentials.last_used_at").as("used"))
        .as("last_used_at"),
    );
}

function knownOf(row: Schema["connections"] & { last_used_at: string | null }): KnownConnection {
  return { ...connectionOf(row), ...(row.last_used_at !== null && { lastUsedAt: row.last_used_at }) };
}

/** What a person chose is no longer what they hold. It undoes the transaction. */
class ChangedMeanwhileError extends Error {
  override readonly name = "ChangedMeanwhileError";
}

/** The connection that a person has with a client which is answered at one place, or a new one. */
async function openConnection(
  transaction: Transaction<Schema>,
  { clientId, clientName, redirectUri }: AuthorizationRequest,
  person: { namespaceId: string; credentialId: string; principal: PrincipalRef; purpose: string },
  at: string,
): Promise<{ connection: Connection; isNew: boolean }> {
  const namespace_id = columnText(person.namespaceId);
  const principal = columnText(principalKey(person.principal));
  const redirect = withoutPort(redirectUri);
  const known = await transaction
    .updateTable("connections")
    .set({ changed_at: at, client_name: columnText(clientName), credential_id: person.credentialId })
    .where("namespace_id", "=", namespace_id)
    .where("principal", "=", principal)
    .where("client_id", "=", columnText(clientId))
    .where("redirect", "=", redirect)
    .where("ended_at", "is", null)
    .returningAll()
    .executeTakeFirst();
  if (known !== undefined) return { connection: connectionOf(known), isNew: false };
  const row = {
    id: freshId(),
    namespace_id,
    principal,
    credential_id: person.credentialId,
    client_id: columnText(clientId),
    client_name: columnText(clientName),
    redirect,
    purpose: person.purpose,
    created_at: at,
    changed_at: at,
    ended_at: null,
  };
  await transaction.insertInto("connections").values(row).execute();
  // A client that someone let in is no longer removed as one that no one uses.
  const used = transaction.updateTable("oauth_clients").set({ used_at: at }).where("id", "=", row.client_id);
  await used.where("used_at", "is", null).execute();
  return { connection: connectionOf(row), isNew: true };
}

/** Derives and stores the grants that were chosen, from what the person holds in this transaction. */
async function issue(
  transaction: Transaction<Schema>,
  connection: Connection,
  { chosen, endsAt }: Consent,
  at: string,
): Promise<readonly Grant[]> {
  const { namespaceId, purpose } = connection;
  const parents: Grant[] = [];
  for (const id of new Set(chosen.map(({ offer }) => offer.grantId))) {
    const parent = await findGrant(transaction, namespaceId, id);
    if (parent === undefined || principalKey(parent.subject) !== principalKey(connection.principal))
      throw new ChangedMeanwhileError("A grant of the person is gone.");
    parents.push(parent);
  }
  const terms = { subject: subjectOf(connection), purpose, at, endsAt };
  const grants = grantsOf(parents, chosen, { ...terms, freshId: () => `connection-${freshId()}` });
  if (grants === undefined) throw new ChangedMeanwhileError("A grant of the person has changed.");
  for (const grant of grants) await insertGrant(transaction, grant, { at });
  return grants;
}
