import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { temporaryFolder } from "../../test/databases.ts";
import { beginning, type Checkpoint, headsPerLine, type LostRows, signLine } from "./checkpoint.ts";
import { appendLines } from "./checkpoint-file.ts";
import { appendRestore, createNewestHeads, createRestores, readRestores, type Restores } from "./restores.ts";
import { openSigningKey } from "./signing-key.ts";

const at = "2026-01-01T12:00:00.000Z";

function head(sequence: number, namespaceId = "acme", strand = 0) {
  return { namespaceId, strand, sequence, hash: "a".repeat(64) };
}

function lineOf(sequence: number, heads: Checkpoint["heads"], restored?: Checkpoint["restored"]): Checkpoint {
  return { version: 1, sequence, previous: "", at, host: 1, heads, restored, key: "", signature: "" };
}

function newFile() {
  const folder = temporaryFolder();
  return { file: join(folder, "checkpoints.jsonl"), key: openSigningKey(join(folder, "key.pem")) };
}

describe("a restore", () => {
  const restores = createRestores();
  restores.take([lineOf(1, [head(9)])]);
  restores.take([lineOf(2, [head(5)], { part: 1, of: 2 }), lineOf(3, [head(3, "acme", 1)], { part: 2, of: 2 })]);

  test("is known by its first line", () => {
    expect(restores.all).toMatchObject([{ at, checkpoint: 2 }]);
  });

  for (const { name, line, row, isUndone } of [
    { name: "a row that the backup does not have", line: 1, row: head(6), isUndone: true },
    { name: "the last row that the backup has", line: 1, row: head(5), isUndone: false },
    { name: "a row of a strand that a later line of it names", line: 1, row: head(3, "acme", 1), isUndone: false },
    { name: "a row behind those of that strand", line: 1, row: head(4, "acme", 1), isUndone: true },
    { name: "a row of a tenant that the backup does not have", line: 1, row: head(1, "other"), isUndone: true },
    { name: "a row that was signed by its own line", line: 2, row: head(6), isUndone: false },
    { name: "a row that was signed behind it", line: 4, row: head(6), isUndone: false },
  ])
    test(`${isUndone ? "takes away" : "does not take away"} ${name}`, () => {
      expect(restores.isUndone(line, row)).toBe(isUndone);
    });

  for (const [name, lines] of [
    ["without its last line", [lineOf(2, [head(5)], { part: 1, of: 2 })]],
    ["without its first line", [lineOf(2, [head(5)], { part: 2, of: 2 })]],
  ] as const)
    test(`${name} counts for nothing`, () => {
      const half = createRestores();
      half.take(lines);
      expect(half.all).toEqual([]);
      expect(half.isUndone(1, head(9))).toBe(false);
    });

  test("that is begun anew has the rows of its last try alone", () => {
    const again = createRestores();
    again.take([lineOf(2, [head(9, "other")], { part: 1, of: 2 }), lineOf(3, [head(5)], { part: 1, of: 1 })]);
    expect(again.all).toMatchObject([{ checkpoint: 3 }]);
    expect(again.isUndone(1, head(9, "other"))).toBe(true);
  });
});

describe("lost rows", () => {
  const chains = [{ namespaceId: "acme", strand: 0, from: 5, now: 6, until: 9 }];
  const lost = (sequence: number, part = 1, of = 1): Checkpoint => ({
    ...lineOf(sequence, []),
    gap: { id: "gap-1", part, of, chains: part === 1 ? chains : [{ ...(chains[0] as LostRows), strand: 1 }] },
  });
  const accepted = (sequence: number): Checkpoint => ({ ...lineOf(sequence, []), accepted: ["gap-1"] });
  const after = (...lines: Checkpoint[]): Restores => {
    const restores = createRestores();
    restores.take([lineOf(1, [head(9)])]);
    for (const line of lines) restores.take([line]);
    return restores;
  };

  test("have to be there until an operator accepts that they are not", () => {
    const restores = after(lost(2));
    expect(restores.gaps).toMatchObject([{ id: "gap-1", at, checkpoint: 2, chains }]);
    expect(restores.isUndone(1, head(9))).toBe(false);
  });

  for (const { name, line, row, isUndone } of [
    { name: "a row that was signed before it and is lost", line: 1, row: head(9), isUndone: true },
    { name: "the last signed row that was still there", line: 1, row: head(5), isUndone: false },
    { name: "a row of another strand", line: 1, row: head(9, "acme", 1), isUndone: false },
    { name: "a row of another tenant", line: 1, row: head(9, "other"), isUndone: false },
    { name: "a row that was signed behind it", line: 3, row: head(7), isUndone: false },
  ])
    test(`that were accepted ${isUndone ? "take away" : "do not take away"} ${name}`, () => {
      expect(after(lost(2), accepted(4)).isUndone(line, row)).toBe(isUndone);
    });

  test("of which a line is missing count for nothing, whatever was accepted", () => {
    for (const half of [lost(2, 1, 2), lost(2, 2, 2)])
      expect(after(half, accepted(3)).isUndone(1, head(9))).toBe(false);
    expect(after(lost(2, 1, 2), lost(3, 2, 2), accepted(4)).isUndone(1, head(9, "acme", 1))).toBe(true);
  });

  test("are no heads that the database has to have, and what was signed behind them is", () => {
    const newest = createNewestHeads();
    newest.take([lineOf(1, [head(9), head(4, "other")]), lost(2)]);
    expect([...newest.heads.values()]).toEqual([head(4, "other")]);
    newest.take([lineOf(3, [head(7)])]);
    expect([...newest.heads.values()]).toEqual([head(4, "other"), head(7)]);
  });
});

describe("a restore that is appended", () => {
  test("to no file is its first line, also of a backup without an audit log", async () => {
    const { file, key } = newFile();
    expect(await appendRestore(file, { at, host: 1, heads: [] }, key)).toBe(1);
    expect((await readRestores(file, key)).all).toMatchObject([{ at, checkpoint: 1 }]);
  });

  test("comes behind the lines that are there, with every head, in as many lines as they need", async () => {
    const { file, key } = newFile();
    await appendLines(file, beginning, [await signLine(beginning, { at, host: 1, heads: [head(9)] }, key)]);
    const heads = Array.from({ length: headsPerLine + 1 }, (_, place) => head(1, `tenant-${place}`));
    expect(await appendRestore(file, { at, host: 1, heads }, key)).toBe(2);
    const lines = readFileSync(file, "utf8").trimEnd().split("\n");
    const written = lines.slice(1).map((line) => JSON.parse(line) as Checkpoint);
    expect(written.map(({ restored }) => restored)).toEqual([
      { part: 1, of: 2 },
      { part: 2, of: 2 },
    ]);
    expect(written.flatMap((line) => line.heads)).toEqual(heads);
    const { all, isUndone } = await readRestores(file, key);
    expect(all).toMatchObject([{ checkpoint: 2 }]);
    expect([isUndone(1, head(1, "tenant-500")), isUndone(1, head(9))]).toEqual([false, true]);
  });
});
