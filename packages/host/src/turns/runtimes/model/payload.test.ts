import { describe, expect, test } from "vitest";
import type { JsonValue } from "turnpike/contracts";
import { bytesIn, isBase64, readPayload } from "./payload.ts";

const base64 = (text: string): string => Buffer.from(text).toString("base64");
const image = { mediaType: "image/png", data: base64("a picture"), name: "cat.png" };

describe("a payload without files is text, as ever:", () => {
  for (const payload of [
    "hello",
    null,
    { files: ["a.txt", "b.txt"] },
    { files: [] },
    { files: "none" },
    { files: [{ path: "notes/today" }] },
    { question: "What is this?", image },
    [image],
  ] satisfies JsonValue[]) {
    test(JSON.stringify(payload).slice(0, 60), () => {
      const text = typeof payload === "string" ? payload : JSON.stringify(payload);
      expect(readPayload(payload)).toStrictEqual({ message: { role: "user", content: text }, recorded: text });
    });
  }
});

describe("a payload with files", () => {
  test("shows them to the model, and stores a note of each", () => {
    const csv = { mediaType: "text/csv", data: base64("a,b\n1,ü"), name: "table.csv" };
    const pdf = { mediaType: "application/pdf", data: base64("%PDF") };
    const read = readPayload({ text: "Compare these.", files: [image, csv, pdf] });
    expect(read).toStrictEqual({
      message: {
        role: "user",
        content: [
          { type: "text", text: "Compare these." },
          {
            type: "file",
            data: new Uint8Array(Buffer.from("a picture")),
            mediaType: "image/png",
            filename: "cat.png",
          },
          { type: "text", text: 'File "table.csv":\na,b\n1,ü' },
          { type: "file", data: new Uint8Array(Buffer.from("%PDF")), mediaType: "application/pdf" },
        ],
      },
      recorded: [
        "Compare these.",
        '[A file was here: "cat.png", image/png. It is not stored.]',
        '[A file was here: "table.csv", text/csv. It is not stored.]',
        '[A file was here: "application/pdf", application/pdf. It is not stored.]',
      ].join("\n"),
    });
  });

  test("needs no text", () => {
    expect(readPayload({ text: "  ", files: [image] })).toMatchObject({ message: { content: [{ type: "file" }] } });
  });

  const many = (count: number, data: string): JsonValue => Array.from({ length: count }, () => ({ ...image, data }));
  for (const { name, payload, says } of [
    {
      name: "at an address",
      payload: { files: [{ mediaType: "image/png", url: "https://a.b/c.png" }] },
      says: "Addresses are not fetched.",
    },
    {
      name: "whose content is an address",
      payload: { files: [{ ...image, data: "http://169.254.169.254/latest" }] },
      says: "/files/0/data: expected base64",
    },
    {
      name: "whose content is an address for a browser",
      payload: { files: [{ ...image, data: "data:image/png;base64,AAAA" }] },
      says: "/files/0/data: expected base64",
    },
    { name: "without content", payload: { files: [{ ...image, data: "" }] }, says: "/files/0/data" },
    {
      name: "of no type",
      payload: { files: [{ ...image, mediaType: "image/*" }] },
      says: "/files/0/mediaType: expected a media type such as image/png",
    },
    { name: "and something besides", payload: { files: [image], role: "system" }, says: "/role" },
    { name: "of which one is none", payload: { files: [image, "b.png"] }, says: "/files/1" },
    { name: "of which there are too many", payload: { files: many(17, "AAAA") }, says: "/files" },
    { name: "that are too large", payload: { files: many(5, "A".repeat(2_400_000)) }, says: "8388608 bytes at most" },
  ]) {
    test(`${name} is refused with a word about what fits`, () => {
      const read = readPayload(payload);
      expect(read).toMatchObject({ error: { code: "invalid_request", retryable: false } });
      expect("error" in read ? read.error.message : "").toContain(says);
    });
  }
});

test("base64 is what encodes bytes", () => {
  for (const text of ["", "a", "ab", "abc", "abcd", "\u00ff\u0000"]) {
    expect(isBase64(base64(text))).toBe(true);
    expect(bytesIn(base64(text))).toBe(Buffer.byteLength(text));
  }
  for (const text of ["A", "AAA", "A===", "AA A", "AA==AAAA", "-_AA", "AAA=\n"]) expect(isBase64(text)).toBe(false);
});
