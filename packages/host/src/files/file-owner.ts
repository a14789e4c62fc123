import { sql, type RawBuilder, type SqlBool } from "kysely";
import { principalKey, sha256, type PrincipalRef } from "turnpike/contracts";
import { columnText } from "../base/index.ts";

/** Whose files: an owner in a tenant. */
export interface FileOwner {
  namespaceId: string;
  owner: PrincipalRef;
}

/** The columns that bind a query to one owner in one tenant. */
export interface OwnerColumns {
  namespace_id: string;
  owner: string;
}

export function ownerColumns({ namespaceId, owner }: FileOwner): OwnerColumns {
  return { namespace_id: columnText(namespaceId), owner: columnText(principalKey(owner)) };
}

/** One short key for all files of an owner, which leaves room for their paths in an index. */
export function shelfOf({ namespace_id, owner }: OwnerColumns): string {
  return sha256(JSON.stringify([namespace_id, owner])).slice(0, 32);
}

/** Whether a row of `files` is the owner's. */
export function isOwn(mine: OwnerColumns): RawBuilder<SqlBool> {
  return sql`files.shelf = ${shelfOf(mine)} and files.namespace_id = ${mine.namespace_id} and files.owner = ${mine.owner}`;
}
