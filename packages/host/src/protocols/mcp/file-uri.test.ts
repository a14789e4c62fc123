import { expect, test } from "vitest";
import { fromFileUri, toFileUri } from "./file-uri.ts";

for (const row of [
  { path: ["notes", "todo.md"], uri: "turnpike://files/notes/todo.md" },
  { path: ["a b", "100%", "#1?", "menü"], uri: "turnpike://files/a%20b/100%25/%231%3F/men%C3%BC" },
  { path: ["👩‍💻"], uri: "turnpike://files/%F0%9F%91%A9%E2%80%8D%F0%9F%92%BB" },
]) {
  test(`${row.path.join("/")} is ${row.uri}, and back`, () => {
    expect(toFileUri(row.path)).toBe(row.uri);
    expect(fromFileUri(row.uri)).toEqual(row.path);
  });
}

test("a name that no URI can say has none", () => {
  expect(toFileUri(["half \ud83d"])).toBeUndefined();
});

for (const uri of [
  "",
  "notes/todo.md",
  "file:///notes",
  "turnpike://files",
  "turnpike://other/a",
  "turnpike://files/%ff",
]) {
  test(`${JSON.stringify(uri)} is no file's`, () => {
    expect(fromFileUri(uri)).toBeUndefined();
  });
}
