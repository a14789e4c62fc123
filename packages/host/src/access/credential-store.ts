import { hash as digest, randomBytes, timingSafeEqual } from "node:crypto";
import type { Transaction } from "kysely";
import { columnText } from "../base/index.ts";
import type { Database, ReadCache, Revisions, Schema } from "../storage/index.ts";
import {
  type CredentialAccess,
  CredentialAccessSchema,
  type CredentialRecord,
  operatorsTenant,
} from "../management/index.ts";
import { isAdminOfAll, operatorScope } from "./operator.ts";

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
  /**
   * Revokes a credential unless nobody else would be an admin of all tenants then. Of two that are revoked at the same time,
   * also through two hosts, one stays.
   */
  revokeUnlessLastAdmin(id: string, at: string): Promise<"revoked" | "revoked before" | "last admin">;
  /** Gives a credential another token, at once: the one before is nobody's. Undefined for one that is not valid. */
  rotate(id: string, now: Date): Promise<string | undefined>;
}

interface Stored extends Credential, Validity {
  secretHash: Buffer;
}

type Validity = Pick<Schema["credentials"], "expires_at" | "revoked_at">;

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
  expires_at: null,
  revoked_at: new Date(0).toISOString(),
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
        expires_at: row.expires_at,
        revoked_at: row.revoked_at,
      }
    );
  };
  const revokeIn = async (transaction: Transaction<Schema>, id: string, at: string): Promise<boolean> => {
    const { numUpdatedRows } = await transaction
      .updateTable("credentials")
      .set({ revoked_at: at })
      .where("id", "=", columnText(id))
      .where("revoked_at", "is", null)
      .executeTakeFirst();
    return numUpdatedRows > 0n;
  };
  const keep = (id: string, find: () => Promise<Stored | undefined>): Promise<Stored | undefined> =>
    cache.get(`credential ${id}`, find);
  return {
    async create({ id = freshCredentialId(), namespaceId, access, expiresAt }) {
      if (!isStorable(namespaceId)) throw new TypeError("The name of the tenant cannot be kept as it is.");
      const secret = freshSecret();
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
      return { id, token: tokenOf(id, secret) };
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
    revoke: (id, at) => revisions.write((transaction) => revokeIn(transaction, id, at)),
    revokeUnlessLastAdmin: (id, at) =>
      // INVARIANT: every write locks the row of the revision first, so nobody else is revoking an admin meanwhile.
      revisions.write(async (transaction) => {
        const admins = await validAdmins(transaction, new Date(at));
        if (admins.length === 1 && admins[0] === id) return "last admin";
        return (await revokeIn(transaction, id, at)) ? "revoked" : "revoked before";
      }),
    async rotate(id, now) {
      const secret = freshSecret();
      const isRotated = await revisions.write(async (transaction) => {
        const key = columnText(id);
        const row = await transaction.selectFrom("credentials").selectAll().where("id", "=", key).executeTakeFirst();
        if (row === undefined || !isValid(row, now)) return false;
        const secret_hash = hash(secret).toString("hex");
        await transaction.updateTable("credentials").set({ secret_hash }).where("id", "=", key).execute();
        return true;
      });
      return isRotated ? tokenOf(id, secret) : undefined;
    },
  };
}

/** A new random id. */
export function freshCredentialId(): string {
  return randomBytes(8).toString("hex");
}

function freshSecret(): string {
  return randomBytes(32).toString("hex");
}

function tokenOf(id: string, secret: string): string {
  return `tp_${id}_${secret}`;
}

/** The ids of the credentials with which somebody is an admin of all tenants now. */
async function validAdmins(transaction: Transaction<Schema>, now: Date): Promise<string[]> {
  const rows = await transaction
    .selectFrom("credentials")
    .selectAll()
    .where("namespace_id", "=", operatorsTenant)
    .where("revoked_at", "is", null)
    .execute();
  const valid = rows.filter((row) => isValid(row, now) && isAdminOfAll(operatorScope(recordOf(row).access)));
  return valid.map(({ id }) => id);
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

function isValid({ expires_at: expiresAt, revoked_at: revokedAt }: Validity, now: Date): boolean {
  return revokedAt === null && (expiresAt === null || Date.parse(expiresAt) > now.getTime());
}
