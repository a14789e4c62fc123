import { expect, test } from "vitest";
import { createRouter, pathOf, pathParameters } from "./router.ts";

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

test("two rows at one place are a mistake in the table", () => {
  expect(() => createRouter([...rows, { method: "GET", path: "/b" }])).toThrow("Two routes are at GET /b.");
});

const patterns = [
  { method: "GET", path: "/turns" },
  { method: "GET", path: "/turns/{id}" },
  { method: "GET", path: "/turns/{id}/events" },
  { method: "POST", path: "/turns/{id}/cancel" },
];

test("a segment in braces matches any value, and no other segment does", () => {
  const router = createRouter(patterns);
  expect(router.find("GET", "/turns")).toBe(patterns[0]);
  for (const id of ["a", "%2F", "a%20b", "events", "{id}", "..", "%F0%9F%9A%AA"]) {
    expect(router.find("GET", `/turns/${id}`)).toBe(patterns[1]);
    expect(router.find("GET", `/turns/${id}/events`)).toBe(patterns[2]);
    expect(router.find("POST", `/turns/${id}/cancel`)).toBe(patterns[3]);
  }
  for (const path of [
    "/turns/",
    "/turns//events",
    "/turns/a/",
    "/turns/a/x",
    "/turns/a/events/",
    "/Turns/a",
    "turns/a",
  ]) {
    expect(router.find("GET", path)).toBeUndefined();
    expect(router.refusal(path)).toMatchObject({ status: 404, code: "not_found" });
  }
});

test("a value that is encoded badly is at no path", () => {
  const router = createRouter(patterns);
  for (const id of ["%", "%2", "%zz", "%FF", "%C3%28", "%ED%A0%80"]) {
    expect(router.find("GET", `/turns/${id}`)).toBeUndefined();
    expect(router.refusal(`/turns/${id}`)).toMatchObject({ status: 404, code: "not_found" });
  }
});

test("another verb at a path with a value names the verbs of that path", () => {
  const router = createRouter(patterns);
  expect(router.refusal("/turns/a")).toMatchObject({ status: 405, headers: { allow: "GET" } });
  expect(router.refusal("/turns/a/cancel")).toMatchObject({ status: 405, headers: { allow: "POST" } });
});

test("the values of a path are decoded once", () => {
  expect(pathParameters("/turns/{id}", "/turns/a%2Fb%2520c")).toEqual({ id: "a/b%20c" });
  expect(pathParameters("/{tenant}/turns/{id}", "/demo/turns/%C3%A4")).toEqual({ tenant: "demo", id: "ä" });
  expect(pathParameters("/turns/{id}", "/turns/a/b")).toBeUndefined();
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
