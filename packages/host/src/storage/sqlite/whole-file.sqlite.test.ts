import {
  closeSync,
  existsSync,
  openSync,
  readFileSync,
  statSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { expect, onTestFinished, test } from "vitest";
import { newLocation, openHost } from "../../../test/databases.ts";
import { otherProcess } from "../../../test/other-process.ts";
import { openDatabase } from "../open-database.ts";
import { SqliteFile } from "./sqlite-file.ts";
import { refuseDamaged } from "./whole-file.ts";

const pageSize = 4096;
const advice = (path: string): string =>
  `Nothing was changed. Put a backup in its place: turnpike restore <backup> --database ${path} --force, which keeps this file aside.`;

/** The file of a host that has ended in order, with something in it. */
async function endedHost(): Promise<string> {
  const path = await newLocation("sqlite");
  const database = await openDatabase(path);
  await fill(database.db);
  await database.close();
  return path;
}

async function fill(db: Awaited<ReturnType<typeof openDatabase>>["db"]): Promise<void> {
  const rows = Array.from({ length: 200 }, (_, place) => ({
    namespace_id: "acme",
    id: `grant-${place}`,
    subject: "agent:a",
    issuer: "human:alice",
    content: "x".repeat(500),
  }));
  for (const row of rows) await db.insertInto("grants").values(row).execute();
}

/** The files of a host that was killed: the last of what it acknowledged is in the log. */
async function killedHost(): Promise<string> {
  const path = await newLocation("sqlite");
  const other = await otherProcess(`
    const { db } = await openDatabase(${JSON.stringify(path)});
    await db.insertInto("uses").values({ namespace_id: "acme", grant_id: "grant-1", used: 7 }).execute();
    console.log("acknowledged");
    setInterval(() => {}, 1000);`);
  expect(other.said).toBe("acknowledged");
  await other.kill();
  return path;
}

/** Overwrites a page with what is none. */
function spoilPage(path: string, page: number): void {
  const file = openSync(path, "r+");
  writeSync(file, Buffer.alloc(pageSize, 0xff), 0, pageSize, (page - 1) * pageSize);
  closeSync(file);
}

/** What opening says, after which not one byte is different. */
async function refusalOf(path: string): Promise<string> {
  const before = readFileSync(path);
  const refusal = await openDatabase(path).then(
    async (database) => (await database.close(), "opened"),
    (error: Error) => error.message,
  );
  expect(readFileSync(path).equals(before)).toBe(true);
  return refusal;
}

test("a file that was cut off is refused with how much of it is there, and is left as it is", async () => {
  const path = await endedHost();
  const { size } = statSync(path);
  truncateSync(path, size - pageSize);
  expect(await refusalOf(path)).toBe(
    `The database ${path} is damaged: it has ${size - pageSize} bytes of ${size}, so it was cut off. ${advice(path)}`,
  );
});

test("a file that begins as another kind does is refused", async () => {
  const path = await endedHost();
  const bytes = readFileSync(path);
  bytes.write("PK", 0);
  writeFileSync(path, bytes);
  expect(await refusalOf(path)).toContain("is damaged: the file is not a database. Nothing was changed.");
});

test("a file shorter than a header is refused", async () => {
  const path = await endedHost();
  truncateSync(path, 40);
  expect(await refusalOf(path)).toContain("the file is not a database");
});

test("a file whose host was killed opens with everything that was acknowledged", async () => {
  const path = await killedHost();
  const { db } = await openHost(path);
  expect(await db.selectFrom("uses").select("used").execute()).toEqual([{ used: 7 }]);
});

test("a file whose host was killed is refused when one of its pages is broken", async () => {
  const path = await endedHost();
  // As if its host had been killed: the header says that there is a log.
  const bytes = readFileSync(path);
  bytes[18] = 2;
  bytes[19] = 2;
  writeFileSync(path, bytes);
  spoilPage(path, 12);
  const refusal = await openDatabase(path).then(
    () => "opened",
    (error: Error) => error.message,
  );
  expect(refusal).toMatch(/^The database \S+ is damaged: SQLite (found that|cannot read it)/);
  expect(refusal).toContain(advice(path));
});

test("reading a file releases no lock: no process throws away the log that a connection of this process uses", async () => {
  const path = await killedHost();
  const connection = new SqliteFile(path);
  onTestFinished(() => void connection.close());
  connection.prepare("select 1 from sqlite_master").all();
  refuseDamaged(path);
  const other = await otherProcess(`
    const { default: Database } = await import("libsql");
    const file = new Database(${JSON.stringify(path)});
    file.exec("insert into uses (namespace_id, grant_id, used) values ('acme', 'grant-2', 1)");
    file.close();
    console.log("closed");`);
  expect([other.said, existsSync(`${path}-wal`)]).toEqual(["closed", true]);
});

test("a file that is empty is a new database", async () => {
  const path = await newLocation("sqlite");
  writeFileSync(path, "");
  expect((await openHost(path)).hostId).toBe(1);
});

test("a host that was refused leaves no lock: the right file in its place opens", async () => {
  const path = await endedHost();
  const whole = readFileSync(path);
  truncateSync(path, whole.length - pageSize);
  await refusalOf(path);
  writeFileSync(path, whole);
  expect((await openHost(path)).hostId).toBe(2);
  expect(existsSync(`${path}-wal`)).toBe(true);
});
