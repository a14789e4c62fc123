import { type Transaction } from "kysely";
import type { Database, Schema } from "../storage/index.ts";
import { ownerKey, type OwnerColumns } from "./file-columns.ts";
import { fullTextOf } from "./file-rows.ts";

/** Removes some rows of the files, contents and snapshots of a tenant; returns how many, 0 when nothing is left. */
export async function removeSomeFiles(
  { kind }: Pick<Database, "kind">,
  transaction: Transaction<Schema>,
  tenant: string,
  most: number,
): Promise<number> {
  const owners = transaction.selectFrom("owners").select(["namespace_id", "owner"]).where("namespace_id", "=", tenant);
  const mine = await owners.limit(1).executeTakeFirst();
  if (mine === undefined) return 0;
  const removed =
    (await removeSnapshotRows(transaction, mine, most)) || (await removeFileRows(kind, transaction, mine, most));
  if (removed > 0) return removed;
  await transaction
    .deleteFrom("owners")
    .where((row) => row.and(mine))
    .execute();
  return 1;
}

async function removeSnapshotRows(transaction: Transaction<Schema>, mine: OwnerColumns, most: number): Promise<number> {
  const snapshots = transaction.selectFrom("snapshots").select(["id", "sequence"]);
  const snapshot = await snapshots
    .where((row) => row.and(mine))
    .limit(1)
    .executeTakeFirst();
  if (snapshot === undefined) return 0;
  const captured = await transaction
    .selectFrom("captures")
    .select(["file", "digest"])
    .where("snapshot", "=", snapshot.id)
    .limit(most)
    .execute();
  if (captured.length === 0) {
    await transaction
      .deleteFrom("snapshots")
      .where((row) => row.and({ ...mine, sequence: snapshot.sequence }))
      .execute();
    return 1;
  }
  await transaction
    .deleteFrom("captures")
    .where("snapshot", "=", snapshot.id)
    .where(
      "file",
      "in",
      captured.map(({ file }) => file),
    )
    .execute();
  await removeContents(transaction, mine, captured);
  return captured.length;
}

async function removeFileRows(
  kind: Database["kind"],
  transaction: Transaction<Schema>,
  mine: OwnerColumns,
  most: number,
): Promise<number> {
  const files = await transaction
    .selectFrom("files")
    .select(["id", "digest"])
    .where((row) => row.and({ ...mine, shelf: ownerKey(mine) }))
    .limit(most)
    .execute();
  if (files.length === 0) return 0;
  for (const { id } of files) await fullTextOf(kind).forget(id).execute(transaction);
  await transaction
    .deleteFrom("files")
    .where(
      "id",
      "in",
      files.map(({ id }) => id),
    )
    .execute();
  await removeContents(transaction, mine, files);
  return files.length;
}

/** Whatever else of the owner has these contents goes as well. */
async function removeContents(
  transaction: Transaction<Schema>,
  mine: OwnerColumns,
  rows: readonly { digest: string | null }[],
): Promise<void> {
  const digests = rows.flatMap(({ digest }) => digest ?? []);
  if (digests.length === 0) return;
  await transaction
    .deleteFrom("contents")
    .where((row) => row.and(mine))
    .where("digest", "in", digests)
    .execute();
}
