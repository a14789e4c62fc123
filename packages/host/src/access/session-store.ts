import { sql, type Transaction } from "kysely";
import type { Database, ReadCache, Revisions, Schema } from "../storage/index.ts";
import { countOnce, type Once } from "./count-once.ts";
import type { Credential, CredentialStore } from "./credential-store.ts";
import type { PresentedCredential } from "./credential-writes.ts";
import { freshSecret, isSameHash, secretHashOf } from "./secrets.ts";

/** How long a session lasts. */
export const sessionMs = 12 * 3_600_000;
const codeMs = 10 * 60_000;

/** What an operator has shown: a valid credential, or the session or code that was made with it. */
export interface Proof {
  credential: Credential;
  presented: PresentedCredential;
}

/**
 * What a browser shows of its session. A cookie goes to every port of a host name, and with whatever a browser sends there, so
 * it is nothing without the half that the page alone holds.
 */
export interface SessionHalves {
  cookie: string;
  page: string;
}

/** A session that has not ended. */
export interface Session {
  id: string;
  expiresAt: string;
}

/**
 * Sessions of operators, and codes that begin one. Only hashes of their secrets are stored. Both end with the credential that
 * they are for: when it is revoked, expires or gets another token.
 */
export interface SessionStore {
  /**
   * Begins a session of this id, and uses up the code it is begun with, if any. Undefined when the code has been used: of two
   * who use it at the same instant, also through two hosts, one begins a session. Its halves are stored nowhere.
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
  /** The open sessions of a credential and its present token, by id; all of them, or those of a page. */
  listOpen(
    credentialId: string,
    now: Date,
    page?: { after?: string | undefined; limit: number },
  ): Promise<(Session & { createdAt: string })[]>;
  /** Ends every session of a credential in a transaction that ends the revision. */
  endAll(transaction: Transaction<Schema>, credentialId: string): Promise<void>;
  /**
   * Ends the sessions of an identity provider's session and of credentials, and the codes that would begin one; returns the
   * sessions that ended. What says so may count once: undefined when it has counted before, and then nothing ends. Both are one
   * transaction, so that a host that is killed meanwhile leaves no session which the provider cannot end any more.
   */
  endOfProvider(which: ProviderEnd): Promise<EndedSession[] | undefined>;
  /** Makes a code of this id, which begins one session. The code is stored nowhere. */
  createCode(
    id: string,
    presented: PresentedCredential,
    now: Date,
    bound?: CodeBounds,
  ): Promise<{ code: string; expiresAt: string }>;
  /**
   * Whom a code is for; undefined for an unknown, used or expired one alike, and for one that another browser was given. It can be
   * used afterwards.
   */
  verifyCode(code: string, now: Date, browserHash?: string): Promise<(Proof & { codeId: string }) | undefined>;
}

/** What a code is bound to that ends a sign-in. */
interface CodeBounds {
  /** The hash of what the browser shows that the code is for. */
  browserHash: string;
  /** The hash of the identity provider's session, if it named one. */
  providerSession?: string | undefined;
  /** When the identity provider's session ends, if it said so: the session here ends then at the latest. */
  endsAt?: Date | undefined;
}

/** What an identity provider ends: one of its sessions, or all sessions of a user. */
interface ProviderEnd {
  providerSession?: string | undefined;
  credentialIds: readonly string[];
  once?: Once | undefined;
}

/** A session that ended with the identity provider's. */
interface EndedSession {
  id: string;
  credentialId: string;
}

type SessionRow = Schema["sessions"];

export function createSessionStore(
  { db, reporting }: Database,
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
  // A new revision makes all hosts drop what they cached of the session.
  const end = (id: string): Promise<unknown> =>
    revisions.write((transaction) => transaction.deleteFrom("sessions").where("id", "=", id).execute());
  return {
    async begin(id, { presented, codeId }, now) {
      const [secret, page] = [freshSecret(), freshSecret()];
      const row = {
        id,
        secret_hash: secretHashOf(secret),
        page_hash: secretHashOf(page),
        credential_id: presented.id,
        credential_hash: presented.secretHash,
        created_at: now.toISOString(),
      };
      const expiresAt = await db.transaction().execute(async (transaction) => {
        let expires_at = after(now, sessionMs);
        let provider_session: string | null = null;
        if (codeId !== undefined) {
          const code = await transaction
            .updateTable("one_time_codes")
            .set({ used_at: now.toISOString() })
            .where("id", "=", codeId)
            .where("used_at", "is", null)
            .returning(["provider_session", "session_ends_at"])
            .executeTakeFirst();
          if (code === undefined) return undefined;
          ({ provider_session } = code);
          expires_at = earlier(expires_at, code.session_ends_at);
        }
        await transaction
          .insertInto("sessions")
          .values({ ...row, expires_at, provider_session })
          .execute();
        return expires_at;
      });
      return expiresAt === undefined ? undefined : { cookie: `${id}_${secret}`, page, expiresAt };
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
    async listOpen(credentialId, now, page) {
      if (!(await credentials.isValidAt(credentialId, now))) return [];
      let open = reporting
        .selectFrom("sessions")
        .innerJoin("credentials", (join) =>
          join
            .onRef("credentials.id", "=", "sessions.credential_id")
            .onRef("credentials.secret_hash", "=", "sessions.credential_hash"),
        )
        .select(["sessions.id", "sessions.created_at", "sessions.expires_at"])
        .where("sessions.credential_id", "=", credentialId)
        .where("sessions.expires_at", ">", now.toISOString())
        .orderBy("sessions.id");
      if (page?.after !== undefined) open = open.where("sessions.id", ">", page.after);
      if (page !== undefined) open = open.limit(page.limit);
      const rows = await open.execute();
      return rows.map((row) => ({ id: row.id, createdAt: row.created_at, expiresAt: row.expires_at }));
    },
    async endAll(transaction, credentialId) {
      await transaction.deleteFrom("sessions").where("credential_id", "=", credentialId).execute();
    },
    endOfProvider: ({ providerSession, credentialIds, once }) =>
      revisions.write(async (transaction) => {
        if (once !== undefined && !(await countOnce(transaction, once))) return undefined;
        const isOver = sql<boolean>`(credential_id in (${sql.join(["", ...credentialIds])})
          or provider_session = ${providerSession ?? null})`;
        await transaction.deleteFrom("one_time_codes").where(isOver).execute();
        const ended = transaction.deleteFrom("sessions").where(isOver).returning(["id", "credential_id"]);
        return (await ended.execute()).map(({ id, credential_id }) => ({ id, credentialId: credential_id }));
      }),
    async createCode(id, presented, now, bound) {
      // The code is part of an address, which should fit on a line. Ten minutes do not suffice to guess it.
      const secret = freshSecret(16);
      const session_ends_at = bound?.endsAt === undefined ? null : endWithin(codeMs + sessionMs, now, bound.endsAt);
      const expiresAt = earlier(after(now, codeMs), session_ends_at);
      const row = {
        id,
        secret_hash: secretHashOf(secret),
        credential_id: presented.id,
        credential_hash: presented.secretHash,
        expires_at: expiresAt,
        used_at: null,
        browser_hash: bound?.browserHash ?? null,
        provider_session: bound?.providerSession ?? null,
        session_ends_at,
      };
      await db.insertInto("one_time_codes").values(row).execute();
      return { code: `${id}_${secret}`, expiresAt };
    },
    async verifyCode(code, now, browserHash = "") {
      const [id, secret] = partsOf(code);
      const row = await db.selectFrom("one_time_codes").selectAll().where("id", "=", id).executeTakeFirst();
      if (row === undefined || row.used_at !== null) return undefined;
      // INVARIANT: a code that ends a sign-in begins a session in the browser that began that, and in no other.
      if (row.browser_hash !== null && !isSameHash(browserHash, row.browser_hash)) return undefined;
      const remove = () => db.deleteFrom("one_time_codes").where("id", "=", id).execute();
      const proof = await proofOf(row, secret, now, remove);
      return proof && { ...proof, codeId: id };
    },
  };
}

/** The id and the secret of a session or a code; for any other text, an id that does not exist. */
function partsOf(value: string): [id: string, secret: string] {
  const [, id = "", secret = ""] = /^([0-9a-f]{16})_([0-9a-f]{32,64})$/.exec(value) ?? [];
  return [id, secret];
}

/** The earlier of two instants, of which the second may never come. */
function earlier(one: string, other: string | null): string {
  return other !== null && other < one ? other : one;
}

/** An instant, or the last one that matters, because texts of times are compared and a far one is written otherwise. */
function endWithin(ms: number, now: Date, end: Date): string {
  return new Date(Math.min(end.getTime(), now.getTime() + ms)).toISOString();
}

function after(now: Date, ms: number): string {
  return new Date(now.getTime() + ms).toISOString();
}
