import type { Database, ReadCache, Revisions, Schema } from "../storage/index.ts";
import type { Credential, CredentialStore, PresentedCredential } from "./credential-store.ts";
import { freshSecret, isSameHash, secretHashOf } from "./secrets.ts";

/** How long a session lasts. */
export const sessionMs = 12 * 3_600_000;
const codeMs = 10 * 60_000;

/** What somebody has shown: a valid credential, or what stands for it. */
export interface Proof {
  credential: Credential;
  presented: PresentedCredential;
}

/**
 * What a browser shows of its session. A cookie goes to every port of a host name, and with whatever a browser sends there, so
 * it is nothing without the half that the page alone keeps.
 */
export interface SessionHalves {
  cookie: string;
  page: string;
}

/** A session that goes on. */
export interface Session {
  id: string;
  expiresAt: string;
}

/**
 * Sessions of operators, and codes that begin one. Only hashes of their secrets are kept. Both are over with the credential that
 * they are for: when it is revoked, expires or gets another token.
 */
export interface SessionStore {
  /**
   * Begins a session of this id, and uses up the code it is begun with, if any. Undefined when the code has been used: of two
   * who use it at the same moment, also through two hosts, one begins a session. Its halves are stored nowhere.
   */
  begin(
    id: string,
    of: { presented: PresentedCredential; codeId?: string },
    now: Date,
  ): Promise<(SessionHalves & { expiresAt: string }) | undefined>;
  /** The session of two halves; undefined for an unknown, ended or expired one alike, and for one half alone. */
  verify(halves: SessionHalves, now: Date): Promise<(Proof & { session: Session }) | undefined>;
  /** Ends a session at once, on every host. */
  end(id: string): Promise<void>;
  /** Makes a code of this id, which begins one session. The code is stored nowhere. */
  createCode(id: string, presented: PresentedCredential, now: Date): Promise<{ code: string; expiresAt: string }>;
  /** Whom a code is for; undefined for an unknown, used or expired one alike. It can be used afterwards. */
  verifyCode(code: string, now: Date): Promise<(Proof & { codeId: string }) | undefined>;
}

type SessionRow = Schema["sessions"];

export function createSessionStore(
  { db }: Database,
  { cache, revisions, credentials }: { cache: ReadCache; revisions: Revisions; credentials: CredentialStore },
): SessionStore {
  const read = (id: string): Promise<SessionRow | undefined> =>
    db.selectFrom("sessions").selectAll().where("id", "=", id).executeTakeFirst();
  const proofOf = async (
    row: Pick<SessionRow, "secret_hash" | "credential_id" | "credential_hash" | "expires_at">,
    secret: string,
    now: Date,
    remove: () => Promise<unknown>,
  ): Promise<Proof | undefined> => {
    if (!isSameHash(secretHashOf(secret), row.secret_hash)) return undefined;
    if (row.expires_at <= now.toISOString()) {
      // What was refused as expired does not count again when the clock is set back.
      await remove();
      return undefined;
    }
    const presented = { id: row.credential_id, secretHash: row.credential_hash };
    const credential = await credentials.verifyAgain(presented, now);
    return credential && { credential, presented };
  };
  // A new revision: nobody goes on with what they read of the session before.
  const end = (id: string): Promise<unknown> =>
    revisions.write((transaction) => transaction.deleteFrom("sessions").where("id", "=", id).execute());
  return {
    async begin(id, { presented, codeId }, now) {
      const [secret, page] = [freshSecret(), freshSecret()];
      const expiresAt = after(now, sessionMs);
      const row = {
        id,
        secret_hash: secretHashOf(secret),
        page_hash: secretHashOf(page),
        credential_id: presented.id,
        credential_hash: presented.secretHash,
        created_at: now.toISOString(),
        expires_at: expiresAt,
      };
      const isBegun = await db.transaction().execute(async (transaction) => {
        if (codeId !== undefined) {
          const { numUpdatedRows } = await transaction
            .updateTable("one_time_codes")
            .set({ used_at: now.toISOString() })
            .where("id", "=", codeId)
            .where("used_at", "is", null)
            .executeTakeFirst();
          if (numUpdatedRows === 0n) return false;
        }
        await transaction.insertInto("sessions").values(row).execute();
        return true;
      });
      return isBegun ? { cookie: `${id}_${secret}`, page, expiresAt } : undefined;
    },
    async verify({ cookie, page }, now) {
      const [id, secret] = partsOf(cookie);
      const row = await cache.get(`session ${id}`, () => read(id));
      if (row === undefined || !isSameHash(secretHashOf(page), row.page_hash)) return undefined;
      const proof = await proofOf(row, secret, now, () => end(id));
      return proof && { ...proof, session: { id, expiresAt: row.expires_at } };
    },
    async end(id) {
      await end(id);
    },
    async createCode(id, presented, now) {
      // It is typed by nobody, but it is part of an address, which should fit on a line. It is guessed in no ten minutes.
      const secret = freshSecret(16);
      const expiresAt = after(now, codeMs);
      const row = {
        id,
        secret_hash: secretHashOf(secret),
        credential_id: presented.id,
        credential_hash: presented.secretHash,
        expires_at: expiresAt,
        used_at: null,
      };
      await db.insertInto("one_time_codes").values(row).execute();
      return { code: `${id}_${secret}`, expiresAt };
    },
    async verifyCode(code, now) {
      const [id, secret] = partsOf(code);
      const row = await db.selectFrom("one_time_codes").selectAll().where("id", "=", id).executeTakeFirst();
      if (row === undefined || row.used_at !== null) return undefined;
      const remove = () => db.deleteFrom("one_time_codes").where("id", "=", id).execute();
      const proof = await proofOf(row, secret, now, remove);
      return proof && { ...proof, codeId: id };
    },
  };
}

/** The id and the secret of a session or a code; of anything else those of nobody's. */
function partsOf(value: string): [id: string, secret: string] {
  const [, id = "", secret = ""] = /^([0-9a-f]{16})_([0-9a-f]{32,64})$/.exec(value) ?? [];
  return [id, secret];
}

function after(now: Date, ms: number): string {
  return new Date(now.getTime() + ms).toISOString();
}
