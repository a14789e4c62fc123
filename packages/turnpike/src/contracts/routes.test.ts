import { expect, test } from "vitest";
import { testContract } from "../../test/contract-rows.ts";
import { HealthSchema, routes, type Route } from "./routes.ts";

const rows = [
  { name: "health", method: "GET", path: "/health", authority: "none", hasBody: false },
  { name: "authorize", method: "POST", path: "/v1/authorize", authority: "required", hasBody: true },
  { name: "reach", method: "GET", path: "/v1/reach", authority: "optional", hasBody: false },
  { name: "listTools", method: "GET", path: "/v1/tools", authority: "optional", hasBody: false },
  { name: "listToolNamespaces", method: "GET", path: "/v1/tools/namespaces", authority: "optional", hasBody: false },
  { name: "updateToolNamespaces", method: "PUT", path: "/v1/tools/namespaces", authority: "required", hasBody: true },
  { name: "invokeTool", method: "POST", path: "/v1/tools/invoke", authority: "required", hasBody: true },
  { name: "invokeResource", method: "POST", path: "/v1/resources/invoke", authority: "required", hasBody: true },
  { name: "sendMessage", method: "POST", path: "/v1/messages", authority: "required", hasBody: true },
  { name: "executeTurn", method: "POST", path: "/v1/turns", authority: "required", hasBody: true },
  { name: "listTurns", method: "GET", path: "/v1/turns", authority: "optional", hasBody: false },
  { name: "getTurn", method: "GET", path: "/v1/turns/{executionId}", authority: "optional", hasBody: false },
  {
    name: "listTurnEvents",
    method: "GET",
    path: "/v1/turns/{executionId}/events",
    authority: "optional",
    hasBody: false,
  },
  { name: "cancelTurn", method: "POST", path: "/v1/turns/{executionId}/cancel", authority: "optional", hasBody: false },
  { name: "beginAct", method: "POST", path: "/v1/acts", authority: "required", hasBody: true },
  { name: "finishAct", method: "POST", path: "/v1/acts/{id}/outcome", authority: "optional", hasBody: true },
  { name: "getAct", method: "GET", path: "/v1/acts/{id}", authority: "optional", hasBody: false },
];

test("the routes are those of the specification, and no other", () => {
  const table = Object.entries<Route>(routes).map(([name, { method, path, authority, request }]) => ({
    name,
    method,
    path,
    authority,
    hasBody: request !== undefined,
  }));
  expect(table).toEqual(rows);
});

testContract("the answer of /health", HealthSchema, [
  { name: "that says ok", value: { status: "ok", protocolVersion: "1" } },
  {
    name: "with a version that is a number",
    value: { status: "ok", protocolVersion: 1 },
    refusedAt: "/protocolVersion",
  },
  { name: "that is not ok", value: { status: "down", protocolVersion: "1" }, refusedAt: "/status" },
  { name: "that says more", value: { status: "ok", protocolVersion: "1", uptime: 1 }, refusedAt: "/uptime" },
]);
