import { createHash } from "node:crypto";
import fc from "fast-check";
import { expect, test } from "vitest";
import { sha256 } from "./sha256.ts";

for (const { text, hash } of [
  { text: "", hash: "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855" },
  { text: "abc", hash: "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad" },
]) {
  test(`the hash of "${text}" is the published one`, () => {
    expect(sha256(text)).toBe(hash);
  });
}

test("any text has the hash that Node gives it, at every length around a block's end", () => {
  const text = fc.oneof(
    fc.string({ unit: "binary" }),
    fc.nat(300).map((length) => "x".repeat(length)),
  );
  fc.assert(
    fc.property(text, (value) => {
      expect(sha256(value)).toBe(createHash("sha256").update(value).digest("hex"));
    }),
    { numRuns: 1000 },
  );
});
