import { expect, test } from "vitest";
import { type Verification, verifyParts } from "./verification.ts";

const part = { isWhole: false, rows: 20_000, heads: [], checkpoints: 0 };
const last = { isWhole: true, rows: 5, heads: [], checkpoints: 3 };
type Part = Awaited<ReturnType<Parameters<typeof verifyParts>[0]>>;

async function run(
  parts: readonly (Part | Error)[],
  { from = { rows: 0 }, stopAt = Infinity }: { from?: { rows: number; cursor?: string }; stopAt?: number } = {},
) {
  const told: Verification[] = [];
  const asked: (string | undefined)[] = [];
  const stop = new AbortController();
  const read = async (cursor: string | undefined): Promise<Part> => {
    const answer = parts[asked.length];
    asked.push(cursor);
    if (asked.length === stopAt) stop.abort();
    if (answer instanceof Error || answer === undefined) throw answer ?? new Error("asked too often");
    return answer;
  };
  await verifyParts(read, from, stop.signal, (so) => told.push(so));
  return { told, asked, end: told.at(-1) };
}

test("a chain is checked part by part, each from where the one before ended", async () => {
  const { told, asked, end } = await run([{ ...part, cursor: "a" }, { ...part, cursor: "b" }, last]);
  expect(asked).toEqual([undefined, "a", "b"]);
  expect(told.map(({ rows }) => rows)).toEqual([0, 20_000, 40_000, 40_005]);
  expect(end).toEqual({ kind: "whole", rows: 40_005, checkpoints: 3, exported: [] });
});

test("a break ends the check, with its strand, its row and why", async () => {
  const broken = { strand: 1, sequence: 7, why: "the hash is another" };
  const { asked, end } = await run([
    { ...part, cursor: "a" },
    { ...part, rows: 6, broken, cursor: "b" },
  ]);
  expect(asked).toHaveLength(2);
  expect(end).toEqual({ kind: "broken", rows: 20_006, broken });
});

test("a last part that is not whole is never shown as whole", async () => {
  expect((await run([{ ...last, isWhole: false }])).end?.kind).toBe("broken");
});

test("a check that is stopped asks for no further part, and can be continued", async () => {
  const { asked, end } = await run([{ ...part, cursor: "a" }, last], { stopAt: 1 });
  expect(asked).toHaveLength(1);
  expect(end).toEqual({ kind: "stopped", rows: 20_000, cursor: "a" });
  expect((await run([last], { from: { rows: 20_000, cursor: "a" } })).end).toMatchObject({
    kind: "whole",
    rows: 20_005,
  });
});

test("a break that is found while the check stops is shown", async () => {
  expect((await run([{ ...part, broken: { why: "x" }, cursor: "a" }], { stopAt: 1 })).end?.kind).toBe("broken");
});

test("a part that cannot be read loses nothing of what was checked", async () => {
  const { end } = await run([{ ...part, cursor: "a" }, new Error("away")]);
  expect(end).toEqual({ kind: "unfinished", rows: 20_000, cursor: "a", problem: "away" });
});
