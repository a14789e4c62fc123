import { createHash } from "node:crypto";
import { sql } from "kysely";
import type { HeldFiles } from "./held-files.ts";

/** A content as its columns keep it: JSON, which both databases keep to the last character. */
export interface KeptContent {
  digest: string;
  content: string;
}

/** The bytes that a row of `contents` keeps, if there is one. */
export const keptBytes = sql<number>`coalesce(octet_length(contents.content), 0)`;

export function keptContent(text: string): KeptContent {
  const content = JSON.stringify(text);
  return { digest: createHash("sha256").update(content).digest("hex"), content };
}

/** Keeps a content once, however many files and snapshots of the owner have it, and returns its digest. */
export async function keepContent({ transaction, mine }: HeldFiles, text: string): Promise<string> {
  const kept = keptContent(text);
  await transaction
    .insertInto("contents")
    .values({ ...mine, ...kept })
    .onConflict((conflict) => conflict.doNothing())
    .execute();
  return kept.digest;
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
