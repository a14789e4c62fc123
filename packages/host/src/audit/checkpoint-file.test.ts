import {
  appendFileSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { canonicalJson } from "turnpike/contracts";
import { beforeAll, describe, expect, test } from "vitest";
import { temporaryFolder } from "../../test/databases.ts";
import { beginning, placeBehind, signLine, type Place } from "./checkpoint.ts";
import { appendLines, copyLines, readCheckpoints } from "./checkpoint-file.ts";
import { openSigningKey, type SigningKey } from "./signing-key.ts";

let key: SigningKey;
let stranger: SigningKey;
/** Five lines that belong behind each other. */
let lines: string[];

beforeAll(async () => {
  const folder = mkdtempSync(join(tmpdir(), "turnpike-test-"));
  key = openSigningKey(join(folder, "key.pem"));
  stranger = openSigningKey(join(folder, "stranger.pem"));
  rmSync(folder, { recursive: true });
  lines = await linesOf(5, key);
});

function head(sequence: number, namespaceId = "acme") {
  return { namespaceId, strand: 0, sequence, hash: String(sequence % 10).repeat(64) };
}

async function linesOf(count: number, signer: SigningKey, from: Place = beginning): Promise<string[]> {
  const made: string[] = [];
  let place = from;
  for (let number = 0; number < count; number += 1) {
    const heads = [head(place.sequence + 1), head(place.sequence + 1, "ü\n")];
    const line = await signLine(place, { at: "2026-01-01T12:00:00.000Z", host: 7, heads }, signer);
    made.push(line);
    place = placeBehind(line, place);
  }
  return made;
}

function fileOf(texts: readonly string[], end = "\n"): string {
  const file = join(temporaryFolder(), "checkpoints.jsonl");
  writeFileSync(file, texts.join("\n") + end);
  return file;
}

async function sequencesIn(file: string, from = beginning): Promise<number[]> {
  const found: number[] = [];
  await readCheckpoints(file, from, key, (checkpoints) => {
    found.push(...checkpoints.map(({ sequence }) => sequence));
  });
  return found;
}

test("a line is canonical JSON: a version, its place, what it signs, the key's id and the signature", () => {
  const [line = ""] = lines;
  expect(canonicalJson(JSON.parse(line))).toBe(line);
  expect(JSON.parse(line)).toEqual({
    version: 1,
    sequence: 1,
    previous: "0".repeat(64),
    at: "2026-01-01T12:00:00.000Z",
    host: 7,
    heads: [
      { namespaceId: "acme", strand: 0, sequence: 1, hash: "1".repeat(64) },
      { namespaceId: "ü\n", strand: 0, sequence: 1, hash: "1".repeat(64) },
    ],
    key: key.id,
    signature: expect.stringMatching(/^[\w-]{86}$/),
  });
});

test("lines are read in order, from the beginning or from a place", async () => {
  const file = fileOf(lines);
  expect(await sequencesIn(file)).toEqual([1, 2, 3, 4, 5]);
  const second = lines.slice(0, 2).reduce((place, line) => placeBehind(line, place), beginning);
  expect(await sequencesIn(file, second)).toEqual([3, 4, 5]);
  const { place, isTorn } = await readCheckpoints(file, beginning, key, () => {});
  expect([place.offset, place.sequence, isTorn]).toEqual([statSync(file).size, 5, false]);
  expect(await sequencesIn(file, place)).toEqual([]);
});

test("a file that is not there has no lines, and is not made by reading", async () => {
  const file = join(temporaryFolder(), "none");
  expect(await readCheckpoints(file, beginning, key, () => {})).toEqual({ place: beginning, isTorn: false });
  expect(existsSync(file)).toBe(false);
});

describe("an end that was never finished is left out and known,", () => {
  for (const length of [1, 30, 200]) {
    test(`${length} characters of a line`, async () => {
      const file = fileOf([...lines.slice(0, 3), (lines[3] ?? "").slice(0, length)], "");
      const { place, isTorn } = await readCheckpoints(file, beginning, key, () => {});
      expect([place.sequence, isTorn]).toEqual([3, true]);
    });
  }

  test("also a line that lacks its end alone", async () => {
    const { place, isTorn } = await readCheckpoints(fileOf(lines, ""), beginning, key, () => {});
    expect([place.sequence, isTorn]).toEqual([4, true]);
  });

  test("and is cut by the next one that is appended", async () => {
    const file = fileOf([...lines.slice(0, 3), "{ half"], "");
    const { place } = await readCheckpoints(file, beginning, key, () => {});
    await appendLines(file, place, lines.slice(3));
    expect(readFileSync(file, "utf8")).toBe(`${lines.join("\n")}\n`);
  });
});

describe("a file without a line is", () => {
  for (const text of ["my only copy of something", "\0\0\0", " ", '{"ab"', '[{"at":"']) {
    test(`no file of checkpoints when it holds ${JSON.stringify(text)}`, async () => {
      const file = fileOf([text], "");
      await expect(sequencesIn(file)).rejects.toThrow(`${file}: this is no file of checkpoints, and was left as it is`);
    });
  }

  for (const text of ["{", '{"a', '{"at":"', '{"at":"2026']) {
    test(`torn when it holds ${text}`, async () => {
      const reading = await readCheckpoints(fileOf([text], ""), beginning, key, () => {});
      expect(reading).toEqual({ place: beginning, isTorn: true });
    });
  }

  test("torn when it holds a first line without its end", async () => {
    const file = fileOf(lines.slice(0, 1), "");
    expect(await readCheckpoints(file, beginning, key, () => {})).toEqual({ place: beginning, isTorn: true });
  });
});

interface Tampering {
  name: string;
  tamper(texts: string[]): string[] | Promise<string[]>;
  says: string;
}

function changed(line = "", change: (checkpoint: Record<string, unknown>) => object): string {
  const checkpoint = JSON.parse(line) as Record<string, unknown>;
  return canonicalJson({ ...checkpoint, ...change(checkpoint) });
}

/** The last line, with something of it changed. */
function lastChanged(change: (checkpoint: Record<string, unknown>) => object): Tampering["tamper"] {
  return (texts) => [...texts.slice(0, -1), changed(texts.at(-1), change)];
}

const tamperings: Tampering[] = [
  {
    name: "a line in the middle that was removed",
    tamper: (texts) => texts.toSpliced(2, 1),
    says: "line 3 does not go on from the line before",
  },
  {
    name: "the first line removed",
    tamper: (texts) => texts.slice(1),
    says: "line 1 does not go on from the line before",
  },
  {
    name: "two lines that changed places",
    tamper: (texts) => texts.with(1, texts[2] ?? "").with(2, texts[1] ?? ""),
    says: "line 2 does not go on from the line before",
  },
  {
    name: "a line in the middle that was changed",
    tamper: (texts) =>
      texts.with(
        2,
        changed(texts[2], () => ({ heads: [head(2)] })),
      ),
    says: "line 4 does not go on from the line before",
  },
  {
    name: "a line in the middle that lost its number",
    tamper: (texts) =>
      texts.with(
        2,
        changed(texts[2], () => ({ sequence: 4 })),
      ),
    says: "line 3 does not go on from the line before",
  },
  {
    name: "a torn line in the middle",
    tamper: (texts) => texts.with(2, (texts[2] ?? "").slice(0, 50)),
    says: "line 3 is no checkpoint",
  },
  { name: "an empty line", tamper: (texts) => texts.toSpliced(2, 0, ""), says: "line 3 is no checkpoint" },
  { name: "a complete last line that is none", tamper: (texts) => [...texts, "{}"], says: "line 6 is no checkpoint" },
  ...[
    { of: "heads", change: lastChanged(() => ({ heads: [head(4)] })) },
    { of: "heads, all gone", change: lastChanged(() => ({ heads: [] })) },
    { of: "time", change: lastChanged(() => ({ at: "2026-01-01T13:00:00.000Z" })) },
    { of: "host", change: lastChanged(() => ({ host: 8 })) },
    { of: "signature", change: lastChanged(() => ({ signature: "A".repeat(86) })) },
    { of: "signature, which is another line's", change: lastChanged(() => JSON.parse(lines[3] ?? "") as object) },
  ].map(({ of, change }, place) => ({
    name: `a last line with another ${of}`,
    tamper: change,
    says: place < 5 ? "line 5 was changed: its signature is not the key's" : "line 5 does not go on",
  })),
  {
    name: "a last line that another key signed",
    tamper: async (texts) => [...texts.slice(0, 4), ...(await linesOf(1, stranger, behind(texts.slice(0, 4))))],
    says: "line 5 is signed by the key",
  },
  {
    name: "a whole file that another key signed",
    tamper: () => linesOf(5, stranger),
    says: "line 5 is signed by the key",
  },
  {
    name: "a whole file that another key signed in the name of the trusted one",
    tamper: () => linesOf(5, { ...stranger, id: key.id }),
    says: "line 5 was changed: its signature is not the key's",
  },
  {
    name: "a line of a version that is not known",
    tamper: lastChanged(() => ({ version: 2 })),
    says: "line 5 is no checkpoint",
  },
];

function behind(texts: readonly string[]): Place {
  return texts.reduce((place, line) => placeBehind(line, place), beginning);
}

describe("reading finds", () => {
  for (const { name, tamper, says } of tamperings) {
    test(name, async () => {
      const file = fileOf(await tamper([...lines]));
      await expect(sequencesIn(file)).rejects.toThrow(`${file}: ${says}`);
    });
  }

  test("that lines at the end are gone, when they were seen before", async () => {
    const file = fileOf(lines);
    const { place } = await readCheckpoints(file, beginning, key, () => {});
    truncateSync(file, place.offset - 1);
    await expect(sequencesIn(file, place)).rejects.toThrow("lines at its end were removed");
    await expect(sequencesIn(join(temporaryFolder(), "none"), place)).rejects.toThrow("is gone");
  });

  test("a line without an end before it fills the memory", async () => {
    const file = fileOf([], "");
    for (let part = 0; part < 5; part += 1) appendFileSync(file, "x".repeat(1_048_576));
    await expect(sequencesIn(file)).rejects.toThrow("is longer than any checkpoint");
  });
});

test("a file is written for its owner alone, and lines come behind those that are there", async () => {
  const file = join(temporaryFolder(), "checkpoints.jsonl");
  await appendLines(file, beginning, lines.slice(0, 2));
  await appendLines(file, behind(lines.slice(0, 2)), lines.slice(2));
  expect(await sequencesIn(file)).toEqual([1, 2, 3, 4, 5]);
  expect(statSync(file).mode & 0o077).toBe(0);
});

test("lines are copied as they are, page by page, without an unfinished end", async () => {
  const many = await linesOf(300, key);
  const file = fileOf([...many, "{ half"], "");
  const copied: string[] = [];
  const pages: boolean[] = [];
  do {
    const { lines: page, isEnd } = await copyLines(file, behind(copied).offset, 20_000);
    copied.push(...page);
    pages.push(isEnd);
  } while (pages.at(-1) === false);
  expect(copied).toEqual(many);
  expect(pages.length).toBeGreaterThan(1);
});
