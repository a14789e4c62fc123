import { expect, test } from "vitest";
import { z } from "zod";
import { readCursor, writeCursor } from "./cursor.ts";

test("a cursor leads back to its key", () => {
  const cursor = writeCursor(["list", "a"], "a/b 🙂");
  expect(cursor).toMatch(/^[\w-]+$/);
  expect(readCursor(["list", "a"], cursor, z.string())).toBe("a/b 🙂");
});

test("no cursor is no key", () => {
  expect(readCursor("question", undefined, z.string())).toBeUndefined();
});

const forged = Buffer.from(JSON.stringify(["0123456789abcdef", "b"])).toString("base64url");
for (const row of [
  { name: "another question's", cursor: writeCursor("other", "a") },
  { name: "another kind of key's", cursor: writeCursor("question", 5) },
  { name: "a forged one's", cursor: forged },
  { name: "one with something behind it", cursor: `${writeCursor("question", "a")}=` },
  { name: "an empty one's", cursor: "" },
  { name: "no JSON's", cursor: Buffer.from("[").toString("base64url") },
  { name: "JSON's that is no pair", cursor: Buffer.from("{}").toString("base64url") },
]) {
  test(`a cursor that is ${row.name} is refused`, () => {
    expect(() => readCursor("question", row.cursor, z.string())).toThrow(
      expect.objectContaining({ code: "invalid_cursor" }),
    );
  });
}
