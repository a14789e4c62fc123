import type { Transaction } from "kysely";
import { columnText } from "../shared/index.ts";
import type { Database, ReadCache, Revisions, Schema } from "../storage/index.ts";
import {
  type ClosedEscalation,
  type CredentialAccess,
  CredentialAccessSchema,
  type CredentialRecord,
  operatorsTenant,
} from "../admin-contract/index.ts";
import { type ClientCertificate, isCurrent, isUsableOver } from "./client-certificate.ts";
import { createCredentialUses } from "./credential-uses.ts";
import {
  insertCredential,
  type PresentedCredential,
  presentedBy,
  revokeCredential,
  tokenOf,
} from "./credential-writes.ts";
import { isAdminOfAll, operatorScope } from "./operator.ts";
import { freshId, freshSecret, isSameHash, secretHashOf } from "./secrets.ts";

/** A credential that was presented and is valid now. */
export interface Credential {
  id: string;
  namespaceId: string;
  access: CredentialAccess;
}

/** The credentials of every tenant. Only hashes of their secrets are stored. */
export interface CredentialStore {
  /** Makes a credential and returns its token, which is stored nowhere. Throws when no column can store the tenant's name. */
  create(options: {
    id?: string;
    namespaceId: string;
    access: CredentialAccess;
    expiresAt?: string;
    /** Whether its token is always needed, because the certificate that it names does not suffice alone. */
    isTokenNeeded?: boolean;
  }): Promise<{ id: string; token: string }>;
  /**
   * The credential of a token; undefined for an unknown, expired or revoked one alike, and for one that names a certificate
   * which is not the one shown.
   */
  verify(token: string, now: Date, shown?: ClientCertificate): Promise<Credential | undefined>;
  /** The credential that a certificate alone identifies; undefined when there is none, or more than one. */
  verifyCertificate(
    shown: ClientCertificate,
    now: Date,
  ): Promise<{ credential: Credential; presented: PresentedCredential } | undefined>;
  /** Whether a credential that was presented before is still valid. Throws when that cannot be read. */
  isValidAt(id: string, now: Date): Promise<boolean>;
  /** The same credential later; undefined when it is no longer valid, or was rotated since. */
  verifyAgain(presented: PresentedCredential, now: Date): Promise<Credential | undefined>;
  /** What is known of a credential, except for its secret, which is not stored. */
  find(id: string): Promise<CredentialRecord | undefined>;
  /** The credentials of a tenant, or of all, by id; those after the credential `after`. */
  list(options: {
    namespaceId?: string | undefined;
    after?: string | undefined;
    limit: number;
  }): Promise<CredentialRecord[]>;
  /**
   * Revokes a credential at once and for good; false when there is none to revoke. `also` is done in the same transaction, for
   * one that was revoked before, too, with the escalations that were closed because they were made with it.
   */
  revoke(id: string, at: string, also?: InTransaction): Promise<boolean>;
  /**
   * Revokes a credential unless it is the last admin of all tenants. Of two that are revoked at the same time,
   * also through two hosts, one stays.
   */
  revokeUnlessLastAdmin(
    id: string,
    at: string,
    also?: InTransaction,
  ): Promise<"revoked" | "revoked before" | "last admin">;
  /** Gives a credential another token; the one before is invalid at once. Undefined for a credential that is not valid. */
  rotate(id: string, now: Date): Promise<string | undefined>;
  /** Stores when credentials were last used, from the uses noted since the last write. */
  writeUses(): Promise<void>;
}

/** What is done together with a change of credentials. */
type InTransaction = (transaction: Transaction<Schema>, closed: readonly ClosedEscalation[]) => Promise<unknown>;

export interface CredentialStoreOptions {
  /** Called when a credential is revoked, in its transaction; closes the escalations that were made with it. */
  onRevoked?: (transaction: Transaction<Schema>, id: string, at: string) => Promise<readonly ClosedEscalation[]>;
}

interface Stored extends Credential, Validity {
  secretHash: string;
}

type Validity = Pick<Schema["credentials"], "expires_at" | "revoked_at" | "token_expires_at">;

/** The credential to compare with when the id is unknown, so that this takes as long as a wrong secret. */
const noCredential: Stored = {
  id: "",
  namespaceId: "",
  access: {
    actor: { kind: "service", serviceId: "nobody" },
    owner: { kind: "service", serviceId: "nobody" },
    purposes: ["none"],
  },
  secretHash: secretHashOf(freshSecret()),
  expires_at: null,
  revoked_at: new Date(0).toISOString(),
  token_expires_at: null,
};

export function createCredentialStore(
  { db, reporting }: Database,
  cache: ReadCache,
  revisions: Revisions,
  { onRevoked = () => Promise.resolve([]) }: CredentialStoreOptions = {},
): CredentialStore {
  const read = async (id: string): Promise<Stored | undefined> => {
    const row = await db.selectFrom("credentials").selectAll().where("id", "=", id).executeTakeFirst();
    return row && storedOf(row);
  };
  const readByCertificate = async (names: readonly string[]): Promise<Stored[]> => {
    const rows = await db
      .selectFrom("credentials")
      .selectAll()
      .where("certificate", "in", names)
      .where("revoked_at", "is", null)
      .limit(maxOfCertificate)
      .execute();
    return rows.map(storedOf);
  };
  const revokeIn = async (
    transaction: Transaction<Schema>,
    id: string,
    at: string,
    also?: InTransaction,
  ): Promise<boolean> => {
    const isRevoked = await revokeCredential(transaction, id, at);
    const closed = isRevoked ? await onRevoked(transaction, id, at) : [];
    await also?.(transaction, closed);
    return isRevoked;
  };
  const uses = createCredentialUses({ db });
  const cached = (id: string, find: () => Promise<Stored | undefined>): Promise<Stored | undefined> =>
    cache.get(`credential ${id}`, find);
  return {
    async create({ id = freshId(), ...made }) {
      const secret = freshSecret();
      await revisions.write((transaction) => insertCredential(transaction, { id, secret, ...made }));
      return { id, token: tokenOf(id, secret) };
    },
    async verify(token, now, shown) {
      const { id, secretHash } = presentedBy(token);
      let isRead = false;
      const find = (): Promise<Stored | undefined> => {
        isRead = true;
        return read(id);
      };
      const stored = (await cached(id, find)) ?? noCredential;
      const isSecret = isSameHash(secretHash, stored.secretHash);
      const { namespaceId, access } = stored;
      if (isSecret && isValid(stored, now) && !isTokenOver(stored, now) && isUsableOver(access, shown, now)) {
        uses.note(id, now);
        return { id, namespaceId, access };
      }
      // An unknown id is read every time, so a known one is read here too: both take the same time.
      if (!isRead) await read(id);
      return undefined;
    },
    async verifyCertificate(shown, now) {
      if (!isCurrent(shown, now)) return undefined;
      const find = (): Promise<Stored[]> => readByCertificate(shown.names);
      const all = await cache.get(`certificate ${shown.names[0]}`, find);
      const [one, ...others] = all.filter((stored) => isValid(stored, now));
      if (one === undefined || others.length > 0 || all.length === maxOfCertificate) return undefined;
      const { id, namespaceId, access, secretHash } = one;
      uses.note(id, now);
      return { credential: { id, namespaceId, access }, presented: { id, secretHash } };
    },
    async isValidAt(id, now) {
      const stored = await cached(id, () => read(id));
      return stored !== undefined && isValid(stored, now);
    },
    async verifyAgain({ id, secretHash }, now) {
      const stored = await cached(id, () => read(id));
      if (stored === undefined || !isSameHash(secretHash, stored.secretHash) || !isValid(stored, now)) return undefined;
      uses.note(id, now);
      return { id, namespaceId: stored.namespaceId, access: stored.access };
    },
    async find(id) {
      const row = await db.selectFrom("credentials").selectAll().where("id", "=", columnText(id)).executeTakeFirst();
      return row && recordOf(row);
    },
    async list({ namespaceId, after, limit }) {
      let all = reporting.selectFrom("credentials").selectAll().orderBy("id").limit(limit);
      if (namespaceId !== undefined) all = all.where("namespace_id", "=", columnText(namespaceId));
      if (after !== undefined) all = all.where("id", ">", columnText(after));
      return (await all.execute()).map(recordOf);
    },
    revoke: (id, at, also) => revisions.write((transaction) => revokeIn(transaction, id, at, also)),
    revokeUnlessLastAdmin: (id, at, also) =>
      // INVARIANT: every write locks the row of the revision first, so no other transaction revokes an admin meanwhile.
      revisions.write(async (transaction) => {
        const admins = await validAdmins(transaction, new Date(at));
        if (admins.length === 1 && admins[0] === id) return "last admin";
        return (await revokeIn(transaction, id, at, also)) ? "revoked" : "revoked before";
      }),
    async rotate(id, now) {
      const secret = freshSecret();
      const isRotated = await revisions.write(async (transaction) => {
        const key = columnText(id);
        const row = await transaction.selectFrom("credentials").selectAll().where("id", "=", key).executeTakeFirst();
        if (row === undefined || !isValid(row, now)) return false;
        // The tokens of those who sign in, and of the clients that act for them, are not an operator's to make.
        if (row.token_expires_at !== null || recordOf(row).access.signedIn === true) return false;
        const secret_hash = secretHashOf(secret);
        await transaction.updateTable("credentials").set({ secret_hash }).where("id", "=", key).execute();
        return true;
      });
      return isRotated ? tokenOf(id, secret) : undefined;
    },
    writeUses: () => uses.write(),
  };
}

/** With so many that were not revoked, also expired ones, a certificate alone identifies no credential. */
const maxOfCertificate = 100;

function storedOf(row: Schema["credentials"]): Stored {
  return {
    id: row.id,
    namespaceId: row.namespace_id,
    access: CredentialAccessSchema.parse(JSON.parse(row.access)),
    secretHash: row.secret_hash,
    expires_at: row.expires_at,
    revoked_at: row.revoked_at,
    token_expires_at: row.token_expires_at,
  };
}

/** The ids of the credentials that are valid now and make their bearer an admin of all tenants. */
async function validAdmins(transaction: Transaction<Schema>, now: Date): Promise<string[]> {
  const rows = await transaction
    .selectFrom("credentials")
    .selectAll()
    .where("namespace_id", "=", operatorsTenant)
    .where("revoked_at", "is", null)
    .execute();
  const valid = rows.filter((row) => {
    const { access } = recordOf(row);
    // Who signs in is let in by a provider that may be away, or may no longer know them.
    return isValid(row, now) && access.signedIn !== true && isAdminOfAll(operatorScope(access));
  });
  return valid.map(({ id }) => id);
}

function recordOf(row: Schema["credentials"]): CredentialRecord {
  return {
    id: row.id,
    namespaceId: row.namespace_id,
    access: CredentialAccessSchema.parse(JSON.parse(row.access)),
    createdAt: row.created_at,
    ...(row.expires_at !== null && { expiresAt: row.expires_at }),
    ...(row.revoked_at !== null && { revokedAt: row.revoked_at }),
    ...(row.last_used_at !== null && { lastUsedAt: row.last_used_at }),
  };
}

/** Whether the present token of a credential has ended. What began with it goes on as long as the credential is valid. */
function isTokenOver({ token_expires_at: endsAt }: Validity, now: Date): boolean {
  return endsAt !== null && Date.parse(endsAt) <= now.getTime();
}

function isValid({ expires_at: expiresAt, revoked_at: revokedAt }: Validity, now: Date): boolean {
  return revokedAt === null && (expiresAt === null || Date.parse(expiresAt) > now.getTime());
}
