import { expect, test } from "vitest";
import type { Break, SignedHead } from "./audit-verify.ts";
import { CheckpointError } from "./checkpoint.ts";
import { holdAgainstCheckpoints } from "./hold-against-checkpoints.ts";

const signedBy = (sequence: number): SignedHead => {
  const checkpoint = { sequence, at: "2026-01-01T12:00:00.000Z" };
  return { strand: 0, sequence, hash: "a".repeat(64), checkpoint };
};
const unsigned: SignedHead = { strand: 0, sequence: 9, hash: "a".repeat(64) };

/** Holds an audit log against pages of heads, of which some rows are broken. */
function hold(pages: readonly SignedHead[][], broken: readonly number[], error?: Error) {
  const headsOf = async (_tenant: string, take: (heads: readonly SignedHead[]) => Promise<void>): Promise<void> => {
    for (const page of pages) await take(page);
    if (error !== undefined) throw error;
  };
  const findBreak = (_tenant: string, heads: readonly SignedHead[]): Promise<Break | undefined> => {
    const found = heads.find(({ sequence }) => broken.includes(sequence));
    return Promise.resolve(found && { strand: 0, sequence: found.sequence, why: `row ${found.sequence}` });
  };
  return holdAgainstCheckpoints({ audit: { findBreak }, checkpoints: { headsOf } }, "acme", []);
}

test("every head that was signed is counted, on all pages, and one that is yet to be signed is not", async () => {
  expect(await hold([[signedBy(1), signedBy(2)], [signedBy(3)], [unsigned]], [])).toEqual({ count: 3 });
});

test("the first break is told, on whichever page it is, and also of a head that is yet to be signed", async () => {
  const pages = [[signedBy(1)], [signedBy(2)], [unsigned]];
  expect(await hold(pages, [2, 9])).toEqual({ count: 2, broken: { strand: 0, sequence: 2, why: "row 2" } });
  expect(await hold(pages, [9])).toMatchObject({ broken: { sequence: 9 } });
});

test("heads of a file that is not whole count for nothing, which is a break; what else fails is no answer", async () => {
  const torn = new CheckpointError("checkpoints.jsonl: line 2 was changed.");
  expect(await hold([[signedBy(1)]], [], torn)).toEqual({ count: 0, broken: { why: torn.message } });
  const away = new Error("The disk is away.");
  await expect(hold([[signedBy(1)]], [], away)).rejects.toBe(away);
});
