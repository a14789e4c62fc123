import { expect, test } from "vitest";
import { createRouter, pathOf } from "./router.ts";

const rows = [
  { method: "GET", path: "/a" },
  { method: "PUT", path: "/a" },
  { method: "GET", path: "/b" },
];

test("a route is found by verb and path, byte for byte", () => {
  const router = createRouter(rows);
  expect(router.find("PUT", "/a")).toBe(rows[1]);
  for (const [method, path] of [
    ["POST", "/a"],
    ["PUT", "/b"],
    ["GET", "/a/"],
    ["GET", "/A"],
    ["get", "/a"],
    ["GET", "constructor"],
  ] as const) {
    expect(router.find(method, path)).toBeUndefined();
  }
});

test("a path that is not known is 404, and one that is names its verbs with 405", () => {
  const router = createRouter(rows);
  expect(router.refusal("/c")).toMatchObject({ status: 404, code: "not_found", headers: {} });
  expect(router.refusal("/a")).toMatchObject({
    status: 405,
    code: "method_not_allowed",
    headers: { allow: "GET, PUT" },
  });
});

test("two rows at one place are a mistake of whoever wrote the table", () => {
  expect(() => createRouter([...rows, { method: "GET", path: "/b" }])).toThrow("Two routes are at GET /b.");
});

for (const [url, path] of [
  ["http://host/a/b?c=/d", "/a/b"],
  ["http://host/#a", "/"],
  ["http://host", "/"],
] as const) {
  test(`the path of ${url} is ${path}`, () => {
    expect(pathOf(url)).toBe(path);
  });
}
