import { createHash } from "node:crypto";
import { sql } from "kysely";
import type { HeldFiles } from "./held-files.ts";

/** The bytes that a row of `contents` keeps, if there is one. */
export const keptBytes = sql<number>`coalesce(octet_length(contents.content), 0)`;

/** Keeps a content once, however many files and snapshots of the owner have it, and returns its digest. */
export async function keepContent({ transaction, mine }: HeldFiles, text: string): Promise<string> {
  // As JSON both databases keep it to the last character.
  const content = JSON.stringify(text);
  const digest = createHash("sha256").update(content).digest("hex");
  await transaction
    .insertInto("contents")
    .values({ ...mine, digest, content })
    .onConflict((conflict) => conflict.doNothing())
    .execute();
  return digest;
}

export async function readContent({ transaction, mine }: HeldFiles, digest: string): Promise<string> {
  const { content } = await transaction
    .selectFrom("contents")
    .select("content")
    .where((row) => row.and({ ...mine, digest }))
    .executeTakeFirstOrThrow();
  return JSON.parse(content) as string;
}

/** Lets go of a content that no file and no snapshot of the owner has any more. */
export async function dropContent({ transaction, mine }: HeldFiles, digest: string): Promise<void> {
  const having = { ...mine, digest };
  const inFiles = transaction
    .selectFrom("files")
    .select("files.id")
    .where((row) => row.and(having));
  const inSnapshots = transaction
    .selectFrom("captures")
    .select("captures.file")
    .where((row) => row.and(having));
  await transaction
    .deleteFrom("contents")
    .where((row) => row.and(having))
    .where(({ not, exists }) => not(exists(inFiles)))
    .where(({ not, exists }) => not(exists(inSnapshots)))
    .execute();
}
