import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, inject, onTestFinished } from "vitest";
import type { Database } from "../src/storage/database.ts";
import { openDatabase } from "../src/storage/open-database.ts";

/** The databases every store has to work on. */
export const databaseKinds: readonly Database["kind"][] = ["sqlite", "postgres"];

/** A folder of the test that runs, gone when it ends. */
export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "turnpike-test-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** Where there is no database yet: a file, or an empty database of a real PostgreSQL. */
export async function newLocation(kind: Database["kind"], folder?: string): Promise<string> {
  if (kind === "sqlite") return join(folder ?? temporaryFolder(), "turnpike.db");
  const response = await fetch(inject("newPostgresDatabase"));
  const answer = await response.text();
  if (!response.ok) throw new Error(`PostgreSQL did not start: ${answer}`);
  return answer;
}

/** A host's handle on a database, closed when the test ends. */
export async function openHost(location: string): Promise<Database> {
  const database = await openDatabase(location);
  onTestFinished(() => database.close());
  return database;
}

/** A new and empty database. */
export async function openFresh(kind: Database["kind"]): Promise<Database> {
  return openHost(await newLocation(kind));
}

/** For tests that keep apart by themselves: one database for the block it is called in, opened when first asked for. */
export function sharedDatabase(kind: Database["kind"]): () => Promise<Database> {
  let opened: Promise<Database> | undefined;
  const folder = mkdtempSync(join(tmpdir(), "turnpike-test-"));
  afterAll(async () => {
    await (await opened)?.close();
    rmSync(folder, { recursive: true, force: true });
  });
  return () => (opened ??= newLocation(kind, folder).then(openDatabase));
}

let tenants = 0;

/** A tenant that no other test of the file uses. */
export function newTenant(): string {
  tenants += 1;
  return `own-tenant-${tenants}`;
}

/** Two hosts on one new PostgreSQL database. */
export async function openPair(): Promise<[Database, Database]> {
  const location = await newLocation("postgres");
  return [await openHost(location), await openHost(location)];
}
