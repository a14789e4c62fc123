import { sql } from "kysely";
import { parsePrincipal, type Grant, type PrincipalRef } from "turnpike/contracts";
import { columnText } from "../shared/index.ts";
import type { CredentialAccess } from "../admin-contract/index.ts";
import { type Database, distinctNames } from "../storage/index.ts";

/** A principal that grants or credentials of a tenant name. */
interface KnownPrincipal {
  principal: PrincipalRef;
  /** Its place in the list. */
  name: string;
}

/** How often a principal is named. */
interface PrincipalCounts {
  /** Grants that it is the subject of. */
  held: number;
  /** Grants that it issued. */
  issued: number;
  /** Credentials that act as it and were not revoked. */
  credentials: number;
}

/** The principals of every tenant: there is no list of them, only grants and credentials that name them. */
export interface PrincipalStore {
  /** So many behind a name, in the order of `kind:id`; `next` is the name behind which there are others. */
  list(
    namespaceId: string,
    after: string | undefined,
    most: number,
  ): Promise<{ principals: KnownPrincipal[]; next?: string }>;
  /** The counts of some of them, by name. */
  count(namespaceId: string, names: readonly string[]): Promise<Map<string, PrincipalCounts>>;
}

export function createPrincipalStore({ reporting }: Pick<Database, "reporting">): PrincipalStore {
  /** The principal of a name that no column can store, and that is therefore a hash. */
  const findHashed = async (tenant: string, name: string): Promise<PrincipalRef | undefined> => {
    for (const role of ["subject", "issuer"] as const) {
      const grants = reporting.selectFrom("grants").select("content").where("namespace_id", "=", tenant);
      const row = await grants.where(role, "=", name).orderBy("id").limit(1).executeTakeFirst();
      if (row !== undefined) return (JSON.parse(row.content) as Grant)[role];
    }
    const credentials = reporting.selectFrom("credentials").select("access").where("namespace_id", "=", tenant);
    const row = await credentials.where("actor", "=", name).limit(1).executeTakeFirst();
    return row && (JSON.parse(row.access) as CredentialAccess).actor;
  };
  const countBy = async (table: "grants" | "credentials", column: string, tenant: string, names: readonly string[]) => {
    const isCounted = table === "credentials" ? sql`revoked_at is null` : sql`true`;
    const { rows } = await sql<{ name: string; count: number }>`
      select ${sql.ref(column)} as name, count(*) as count from ${sql.table(table)}
      where namespace_id = ${tenant} and ${sql.ref(column)} in (${sql.join(["", ...names])}) and ${isCounted}
      group by ${sql.ref(column)}`.execute(reporting);
    return new Map(rows.map(({ name, count }) => [name, Number(count)]));
  };
  return {
    async list(namespaceId, after, most) {
      const tenant = columnText(namespaceId);
      const where = sql<boolean>`namespace_id = ${tenant}`;
      const columns = [
        { table: "grants", column: "subject", where },
        { table: "grants", column: "issuer", where },
        { table: "credentials", column: "actor", where },
      ] as const;
      const names = await distinctNames(reporting, columns, { after: after && columnText(after), most: most + 1 });
      const principals: KnownPrincipal[] = [];
      for (const name of names.slice(0, most)) {
        // A hash reads as no principal: its `sha256:` is no kind of one.
        const principal = parsePrincipal(name) ?? (await findHashed(tenant, name));
        if (principal !== undefined) principals.push({ principal, name });
      }
      const next = names.length > most ? names[most - 1] : undefined;
      return { principals, ...(next !== undefined && { next }) };
    },
    async count(namespaceId, names) {
      const tenant = columnText(namespaceId);
      const held = await countBy("grants", "subject", tenant, names);
      const issued = await countBy("grants", "issuer", tenant, names);
      const credentials = await countBy("credentials", "actor", tenant, names);
      return new Map(
        names.map((name) => [
          name,
          { held: held.get(name) ?? 0, issued: issued.get(name) ?? 0, credentials: credentials.get(name) ?? 0 },
        ]),
      );
    },
  };
}
