import {
  copyFileSync,
  linkSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { dirname, join, relative } from "node:path";
import { expect, test, vi } from "vitest";
import { connectSqlite, newLocation, openHost, temporaryFolder } from "../../../test/databases.ts";
import { patience } from "../../../test/host-calls.ts";
import { opening, otherProcess } from "../../../test/other-process.ts";
import type { Database } from "../database.ts";
import { openDatabase } from "../open-database.ts";
import { isOutage, outageReason } from "../outage.ts";

const inUse = (path: string): string =>
  `refused: The database ${path} is in use by another process, or cannot be written.`;

for (const row of [
  {
    name: "a symbolic link",
    path(location: string) {
      const path = join(temporaryFolder(), "link.db");
      symlinkSync(location, path);
      return path;
    },
  },
  {
    name: "a symbolic link to its folder",
    path(location: string) {
      const path = join(temporaryFolder(), "folder");
      symlinkSync(dirname(location), path);
      return join(path, "turnpike.db");
    },
  },
  { name: "a relative path", path: (location: string) => relative(process.cwd(), location) },
  {
    // As a file that is mounted elsewhere is: the same file, and neither its lock nor its log is beside it.
    name: "another path to the same file",
    path(location: string) {
      const path = join(temporaryFolder(), "elsewhere.db");
      renameSync(location, path);
      return path;
    },
  },
])
  test(`a host is refused on a file that another one has, by ${row.name}`, async () => {
    const location = await newLocation("sqlite");
    await openHost(location);
    const path = row.path(location);
    expect((await otherProcess(opening(path))).said).toBe(inUse(path));
  });

test("a symbolic link to a file that is not there yet is that file", async () => {
  const location = await newLocation("sqlite");
  const link = join(temporaryFolder(), "link.db");
  symlinkSync(location, link);
  await openHost(link);
  expect((await otherProcess(opening(location))).said).toBe(inUse(location));
});

test("a file with two names is refused in one sentence, and with one again it is opened", async () => {
  const location = await newLocation("sqlite");
  await (await openDatabase(location)).close();
  const other = join(temporaryFolder(), "other.db");
  linkSync(location, other);
  await expect(openDatabase(location)).rejects.toThrow(
    `database: ${location} is one file under 2 names (hard links), and each name would have a log of its own. ` +
      "Remove the other names, or copy the file while no host runs on it, and name the copy.",
  );
  rmSync(other);
  expect((await openHost(location)).hostId).toBe(2);
});

const lost =
  "The file of the database was removed, replaced or cut short, or another host has opened it. Nothing is written to it.";

/** How a write ends. */
function write({ db }: Database): Promise<string> {
  const written = db.insertInto("owners").values({ namespace_id: crypto.randomUUID(), owner: "x" }).execute();
  return written.then(
    () => "acknowledged",
    (error: unknown) => (isOutage(error) ? outageReason(error) : String(error)),
  );
}

for (const row of [
  { name: "is removed", harm: (location: string) => rmSync(location) },
  {
    name: "is replaced by a copy of itself",
    harm(location: string) {
      copyFileSync(location, `${location}.copy`);
      renameSync(`${location}.copy`, location);
    },
  },
  { name: "is cut short", harm: (location: string) => truncateSync(location, 8192) },
  { name: "is cut to nothing", harm: (location: string) => truncateSync(location, 0) },
  { name: "loses its log", harm: (location: string) => rmSync(`${location}-wal`) },
])
  test(`a file that ${row.name} while its host runs is acknowledged into no longer`, async () => {
    const location = await newLocation("sqlite");
    // What a host left is in the file, and what this one writes is in the log.
    await (await openDatabase(location)).close();
    const database = await openHost(location);
    expect(await write(database)).toBe("acknowledged");
    row.harm(location);
    await vi.waitFor(async () => expect(await write(database)).toBe(lost), patience);
    expect(await write(database)).toBe(lost);
  });

test("a file that comes back is written to again", async () => {
  const location = await newLocation("sqlite");
  const database = await openHost(location);
  renameSync(location, `${location}.away`);
  await vi.waitFor(async () => expect(await write(database)).toBe(lost), patience);
  renameSync(`${location}.away`, location);
  expect(await write(database)).toBe("acknowledged");
});

test("a host that was replaced without a log of its own leaves the log of the new file alone", async () => {
  const location = await newLocation("sqlite");
  const database = await openDatabase(location);
  await write(database);
  rmSync(location);
  writeFileSync(location, "new");
  writeFileSync(`${location}-wal`, "log of another host");
  await database.close();
  expect(readFileSync(`${location}-wal`, "utf8")).toBe("log of another host");
});

test("a host that sees a row of a later host writes no longer, whatever became of the lock", async () => {
  const location = await newLocation("sqlite");
  const database = await openHost(location);
  const other = connectSqlite(location);
  await other.insertInto("hosts").values({ started_at: "2026-01-01T00:00:00.000Z" }).execute();
  await other.destroy();
  await vi.waitFor(async () => expect(await write(database)).toBe(lost), patience);
});
