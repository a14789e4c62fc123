import { z } from "zod";
import { isPostgres } from "../shared/index.ts";

const ServerUrlSchema = z.string().refine(isPostgres, "expected a postgres:// URL");

const ServerSchema = z
  .strictObject({
    url: ServerUrlSchema.describe("postgres:// URL"),
    pooler: z.enum(["session", "transaction"]).optional().describe("mode of the pooler that the URL leads to"),
    directUrl: ServerUrlSchema.optional().describe("postgres:// URL of the server itself, where tables are migrated"),
  })
  // Migrations take longer than poolers wait, and turn off the time limits of their session.
  .refine(({ pooler, directUrl }) => pooler !== "transaction" || directUrl !== undefined, {
    path: ["directUrl"],
    message: "expected the postgres:// URL of the server itself, beside database.pooler",
  });

/** Where the database is. */
export const DatabaseSettingsSchema = z.union([
  z
    .string()
    .min(1)
    // The URL of anything else would become a path, with the password in the names of its folders.
    .refine((location) => isPostgres(location) || !isUrl(location), "expected a postgres:// URL, or a path of a file")
    .describe("postgres:// URL, or path of an SQLite file"),
  ServerSchema,
]);

export type DatabaseSettings = z.infer<typeof DatabaseSettingsSchema>;

/** A PostgreSQL, and the way to it. */
export type ServerSettings = z.infer<typeof ServerSchema>;

/** The way to a PostgreSQL is not the one that the settings tell of. The message says what to correct. */
export class PoolerError extends Error {
  override readonly name = "PoolerError";
}

/** Also one that lacks a slash. A single letter is a drive. */
function isUrl(location: string): boolean {
  return /^[a-z][a-z\d+.-]+:\//i.test(location);
}
