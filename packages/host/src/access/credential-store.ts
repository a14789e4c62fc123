import { hash as digest, randomBytes, timingSafeEqual } from "node:crypto";
import { columnText } from "../base/index.ts";
import type { Database, ReadCache, Revisions, Schema } from "../storage/index.ts";
import { type CredentialAccess, CredentialAccessSchema, type CredentialRecord } from "../management/index.ts";

/** A credential that was presented and is valid now. */
export interface Credential {
  id: string;
  namespaceId: string;
  access: CredentialAccess;
}

/** The credentials of every tenant. Only hashes of their secrets are kept. */
export interface CredentialStore {
  /** Makes a credential and returns its token, which is stored nowhere. Throws when no column can store the tenant's name. */
  create(options: {
    id?: string;
    namespaceId: string;
    access: CredentialAccess;
    expiresAt?: string;
  }): Promise<{ id: string; token: string }>;
  /** The credential of a token; undefined for an unknown, expired or revoked one alike. */
  verify(token: string, now: Date): Promise<Credential | undefined>;
  /** Whether a credential that was presented before is still valid. Throws when that cannot be read. */
  stands(id: string, now: Date): Promise<boolean>;
  /** What is known of a credential, except for its secret, which is not stored. */
  find(id: string): Promise<CredentialRecord | undefined>;
  /** The credentials of a tenant, or of all, by id; those after the credential `after`. */
  list(options: {
    namespaceId?: string | undefined;
    after?: string | undefined;
    limit: number;
  }): Promise<CredentialRecord[]>;
  /** Revokes a credential at once and for good; false when there is none to revoke. */
  revoke(id: string, at: string): Promise<boolean>;
}

interface Stored extends Credential {
  secretHash: Buffer;
  expiresAt: string | null;
  isRevoked: boolean;
}

/** The credential to compare with when the id is unknown, so that this takes as long as a wrong secret. */
const nobody: Stored = {
  id: "",
  namespaceId: "",
  access: {
    actor: { kind: "service", serviceId: "nobody" },
    owner: { kind: "service", serviceId: "nobody" },
    purposes: ["none"],
  },
  secretHash: hash(randomBytes(32).toString("hex")),
  expiresAt: null,
  isRevoked: true,
};

export function createCredentialStore(
  { db, reports }: Database,
  cache: ReadCache,
  revisions: Revisions,
): CredentialStore {
  const read = async (id: string): Promise<Stored | undefined> => {
    const row = await db.selectFrom("credentials").selectAll().where("id", "=", id).executeTakeFirst();
    return (
      row && {
        id,
        namespaceId: row.namespace_id,
        access: CredentialAccessSchema.parse(JSON.parse(row.access)),
        secretHash: Buffer.from(row.secret_hash, "hex"),
        expiresAt: row.expires_at,
        isRevoked: row.revoked_at !== null,
      }
    );
  };
  const keep = (id: string, find: () => Promise<Stored | undefined>): Promise<Stored | undefined> =>
    cache.get(`credential ${id}`, find);
  return {
    async create({ id = freshCredentialId(), namespaceId, access, expiresAt }) {
      if (!isStorable(namespaceId)) throw new TypeError("The name of the tenant cannot be kept as it is.");
      const secret = randomBytes(32).toString("hex");
      const row = {
        id,
        namespace_id: namespaceId,
        secret_hash: hash(secret).toString("hex"),
        access: JSON.stringify(CredentialAccessSchema.parse(access)),
        created_at: new Date().toISOString(),
        expires_at: expiresAt ?? null,
        revoked_at: null,
      };
      await revisions.write((transaction) => transaction.insertInto("credentials").values(row).execute());
      return { id, token: `tp_${id}_${secret}` };
    },
    async verify(token, now) {
      const [, id = "", secret = ""] = /^tp_([0-9a-f]{16})_([0-9a-f]{64})$/.exec(token) ?? [];
      let isRead = false;
      const find = (): Promise<Stored | undefined> => {
        isRead = true;
        return read(id);
      };
      const stored = (await keep(id, find)) ?? nobody;
      const isSecret = timingSafeEqual(hash(secret), stored.secretHash);
      const { namespaceId, access } = stored;
      if (isSecret && isValid(stored, now)) return { id, namespaceId, access };
      // An unknown id is read every time, so a known one is read here too: both take the same time.
      if (!isRead) await read(id);
      return undefined;
    },
    async stands(id, now) {
      const stored = await keep(id, () => read(id));
      return stored !== undefined && isValid(stored, now);
    },
    async find(id) {
      const row = await db.selectFrom("credentials").selectAll().where("id", "=", columnText(id)).executeTakeFirst();
      return row && recordOf(row);
    },
    async list({ namespaceId, after, limit }) {
      let all = reports.selectFrom("credentials").selectAll().orderBy("id").limit(limit);
      if (namespaceId !== undefined) all = all.where("namespace_id", "=", columnText(namespaceId));
      if (after !== undefined) all = all.where("id", ">", columnText(after));
      return (await all.execute()).map(recordOf);
    },
    async revoke(id, at) {
      const { numUpdatedRows } = await revisions.write((transaction) =>
        transaction
          .updateTable("credentials")
          .set({ revoked_at: at })
          .where("id", "=", columnText(id))
          .where("revoked_at", "is", null)
          .executeTakeFirst(),
      );
      return numUpdatedRows > 0n;
    },
  };
}

/** A new random id. */
export function freshCredentialId(): string {
  return randomBytes(8).toString("hex");
}

/** Whether a column can store a name unchanged, which the tenant of a credential has to be. */
export function isStorable(name: string): boolean {
  return columnText(name) === name;
}

function recordOf(row: Schema["credentials"]): CredentialRecord {
  return {
    id: row.id,
    namespaceId: row.namespace_id,
    access: CredentialAccessSchema.parse(JSON.parse(row.access)),
    createdAt: row.created_at,
    ...(row.expires_at !== null && { expiresAt: row.expires_at }),
    ...(row.revoked_at !== null && { revokedAt: row.revoked_at }),
  };
}

function hash(secret: string): Buffer {
  return digest("sha256", secret, "buffer");
}

function isValid({ expiresAt, isRevoked }: Stored, now: Date): boolean {
  return !isRevoked && (expiresAt === null || Date.parse(expiresAt) > now.getTime());
}
