import { check, deepFreeze, GrantSchema, principalKey, type Grant } from "turnpike/contracts";
import type { Kysely } from "kysely";
import type { GrantSource } from "turnpike/kernel";
import { columnText } from "../database/column-text.ts";
import type { Database } from "../database/database.ts";
import type { Schema } from "../database/schema.ts";
import type { ReadCache } from "./read-cache.ts";
import type { Revisions } from "./revisions.ts";

/** The grants of every tenant. */
export interface GrantStore extends GrantSource {
  find(namespaceId: string, grantId: string): Promise<Grant | undefined>;
  /** Keeps a new grant. Throws when it does not fit the contract or its id is taken. */
  issue(grant: Grant): Promise<void>;
  /** Revokes a grant from `at` on; false when there is none that could be revoked. */
  revoke(namespaceId: string, grantId: string, at: string): Promise<boolean>;
}

/** Reads are cached and frozen, so that the kernel compiles a set once a revision. */
export function createGrantStore({ db }: Database, cache: ReadCache, revisions: Revisions): GrantStore {
  return {
    load({ namespaceId, actor, authority }) {
      const subject = columnText(principalKey(actor));
      const issuer = authority && columnText(principalKey(authority));
      return cache.get(JSON.stringify(["grants", namespaceId, subject, issuer]), async () => {
        const all = db
          .selectFrom("grants")
          .select("content")
          .where("namespace_id", "=", columnText(namespaceId))
          .where("subject", "=", subject)
          .orderBy("id");
        const rows = await (issuer === undefined ? all : all.where("issuer", "=", issuer)).execute();
        return Object.freeze(rows.map(({ content }) => parse(content)));
      });
    },
    find: (namespaceId, grantId) =>
      cache.get(JSON.stringify(["grant", namespaceId, grantId]), () => read(db, namespaceId, grantId)),
    async issue(grant) {
      const checked = check(GrantSchema, grant);
      if (!checked.ok) throw new TypeError(`The grant does not fit the contract: ${checked.message}`);
      const { namespaceId, id, subject, issuer } = checked.value;
      const row = {
        namespace_id: columnText(namespaceId),
        id: columnText(id),
        subject: columnText(principalKey(subject)),
        issuer: columnText(principalKey(issuer)),
      };
      await revisions.write((transaction) =>
        transaction
          .insertInto("grants")
          .values({ ...row, content: JSON.stringify(checked.value) })
          .execute(),
      );
    },
    revoke: (namespaceId, grantId, at) =>
      // The write's own revision row is locked first, so that two revocations come one after the other.
      revisions.write(async (transaction) => {
        const grant = await read(transaction, namespaceId, grantId);
        if (grant === undefined || grant.revokedAt !== undefined) return false;
        await transaction
          .updateTable("grants")
          .set({ content: JSON.stringify({ ...grant, revokedAt: at }) })
          .where("namespace_id", "=", columnText(namespaceId))
          .where("id", "=", columnText(grantId))
          .execute();
        return true;
      }),
  };
}

async function read(db: Kysely<Schema>, namespaceId: string, grantId: string): Promise<Grant | undefined> {
  const row = await db
    .selectFrom("grants")
    .select("content")
    .where("namespace_id", "=", columnText(namespaceId))
    .where("id", "=", columnText(grantId))
    .executeTakeFirst();
  return row && parse(row.content);
}

function parse(content: string): Grant {
  return deepFreeze(JSON.parse(content) as Grant);
}
