import { expect, test } from "vitest";
import { z } from "zod";
import { readCursor, writeCursor } from "./paginate.ts";

test("a cursor leads back to its key", () => {
  const cursor = writeCursor(["list", "a"], "a/b 🙂");
  expect(cursor).toMatch(/^[\w-]+$/);
  expect(readCursor(["list", "a"], cursor, z.string())).toBe("a/b 🙂");
});

test("no cursor is no key", () => {
  expect(readCursor("request", undefined, z.string())).toBeUndefined();
});

const forged = Buffer.from(JSON.stringify(["0123456789abcdef", "b"])).toString("base64url");
for (const row of [
  { name: "another request's", cursor: writeCursor("other", "a") },
  { name: "another kind of key's", cursor: writeCursor("request", 5) },
  { name: "a forged one's", cursor: forged },
  { name: "one with something behind it", cursor: `${writeCursor("request", "a")}=` },
  { name: "an empty one's", cursor: "" },
  { name: "no JSON's", cursor: Buffer.from("[").toString("base64url") },
  { name: "JSON's that is no pair", cursor: Buffer.from("{}").toString("base64url") },
]) {
  test(`a cursor that is ${row.name} is refused`, () => {
    expect(() => readCursor("request", row.cursor, z.string())).toThrow(
      expect.objectContaining({ code: "invalid_cursor" }),
    );
  });
}
