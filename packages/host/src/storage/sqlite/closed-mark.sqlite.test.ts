import {
  closeSync,
  copyFileSync,
  cpSync,
  existsSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  utimesSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { expect, test } from "vitest";
import { newLocation } from "../../../test/databases.ts";
import { otherProcess } from "../../../test/other-process.ts";
import { openDatabase } from "../open-database.ts";
import { markClosed } from "./closed-mark.ts";

const pageSize = 4096;

/** The file of a host that has ended in order, and the mark that it left. */
async function closedFile(): Promise<{ path: string; mark: string }> {
  const path = await newLocation("sqlite");
  const database = await openDatabase(path);
  const rows = Array.from({ length: 200 }, (_, place) => ({
    namespace_id: "acme",
    id: `grant-${place}`,
    subject: "agent:a",
    issuer: "human:alice",
    content: "x".repeat(500),
  }));
  for (const row of rows) await database.db.insertInto("grants").values(row).execute();
  await database.close();
  nextTick(path);
  return { path, mark: `${path}-closed` };
}

/** Returns once a change has another time than the last one of a file: times go on in ticks of some milliseconds. */
function nextTick(path: string): void {
  const changedAt = (file: string): bigint => statSync(file, { bigint: true }).ctimeNs;
  const probe = `${path}-probe`;
  do writeFileSync(probe, "");
  while (changedAt(probe) <= changedAt(path));
  rmSync(probe);
}

/** Overwrites the last page, which no start reads but the one that checks every page. */
function spoil(path: string): void {
  const file = openSync(path, "r+");
  writeSync(file, Buffer.alloc(pageSize, 0xff), 0, pageSize, statSync(path).size - pageSize);
  closeSync(file);
}

async function open(path: string): Promise<string> {
  return openDatabase(path).then(
    async (database) => (await database.close(), "opened"),
    (error: Error) => /damaged: SQLite/.exec(error.message)?.[0] ?? error.message,
  );
}

const refused = "damaged: SQLite";

/** A file with a page that only a check of every page finds: it is opened if there was none. */
const rows: { name: string; says: string; change(path: string, mark: string): void | Promise<void> }[] = [
  { name: "is as its host closed it", says: "opened", change: (path) => (spoil(path), markClosed(path)) },
  { name: "was changed since", says: refused, change: spoil },
  {
    name: "was changed since, and has the time of before",
    says: refused,
    change(path) {
      const { atime, mtime } = statSync(path);
      spoil(path);
      utimesSync(path, atime, mtime);
    },
  },
  {
    name: "was touched since",
    says: refused,
    change(path) {
      spoil(path);
      markClosed(path);
      utimesSync(path, 1e9, 1e9);
    },
  },
  {
    name: "was copied into its place",
    says: refused,
    change(path) {
      spoil(path);
      markClosed(path);
      cpSync(path, `${path}-copy`, { preserveTimestamps: true });
      renameSync(`${path}-copy`, path);
    },
  },
  {
    name: "has the mark of another file",
    says: refused,
    async change(path, mark) {
      spoil(path);
      copyFileSync((await closedFile()).mark, mark);
    },
  },
  {
    name: "has a log, which its host did not leave",
    says: refused,
    change(path) {
      spoil(path);
      markClosed(path);
      writeFileSync(`${path}-wal`, "");
    },
  },
];

for (const { name, says, change } of rows)
  test(`a file that ${name} is ${says === refused ? "checked page by page" : "not checked page by page"}`, async () => {
    const { path, mark } = await closedFile();
    await change(path, mark);
    expect(await open(path)).toBe(says);
  });

test("a file that was cut short is refused, although its mark fits it", async () => {
  const { path } = await closedFile();
  const { size } = statSync(path);
  truncateSync(path, size - pageSize);
  markClosed(path);
  await expect(openDatabase(path)).rejects.toThrow(
    `The database ${path} is damaged: it has ${size - pageSize} bytes of ${size}, so it was cut off.`,
  );
});

test("a mark is there from the end of a host to the start of the next: one that is killed leaves none", async () => {
  const { path, mark } = await closedFile();
  expect([existsSync(mark), statSync(mark).mode & 0o777]).toEqual([true, 0o600]);
  const marked = readFileSync(mark, "utf8");
  const other = await otherProcess(`await openDatabase(${JSON.stringify(path)});
    console.log("opened");
    setInterval(() => {}, 1000);`);
  expect([other.said, existsSync(mark)]).toEqual(["opened", false]);
  await other.kill();
  expect(existsSync(mark)).toBe(false);
  const database = await openDatabase(path);
  expect(existsSync(mark)).toBe(false);
  await database.close();
  expect(readFileSync(mark, "utf8")).not.toBe(marked);
});

test("a file that is refused is checked again at the next start", async () => {
  const { path } = await closedFile();
  spoil(path);
  expect([await open(path), await open(path)]).toEqual([refused, refused]);
});
