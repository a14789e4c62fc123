import { expect, test } from "vitest";
import { actCase, idMaker, idMark, loadCases, mcpCase, requestMaker, traceMark } from "./cases.ts";

test("ids are as long as their mark, and none comes twice", () => {
  const newId = idMaker(idMark.length);
  const ids = Array.from({ length: 10_000 }, newId);
  expect(new Set(ids).size).toBe(10_000);
  expect(new Set(ids.map((id) => id.length))).toEqual(new Set([idMark.length]));
  expect(traceMark).toHaveLength(idMark.length);
});

const act = actCase("2026-02-01T09:00:00Z");
const rows = [...loadCases("2026-02-01T09:00:00Z"), mcpCase(true), act, { ...act, ...act.next, name: "its outcome" }];
for (const row of rows) {
  test(`a request for ${row.name} has the length that it says, its id and its trace`, () => {
    const text = requestMaker(row, 8787, "t0ken", "trace-0123456789")("id-0123456789012");
    const [head = "", body = ""] = text.split("\r\n\r\n");
    expect(head).toContain(`content-length: ${Buffer.byteLength(body)}`);
    expect(head).toContain("x-trace-id: trace-0123456789");
    expect(JSON.parse(body)).toBeTypeOf("object");
    expect(text).not.toContain("@");
    expect(text.includes("id-0123456789012")).toBe(row.name !== "authorize");
  });
}
