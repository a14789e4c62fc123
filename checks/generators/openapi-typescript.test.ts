import createClient from "openapi-fetch";
import { expect, inject, test } from "vitest";
import type { paths } from "./generated/schema.ts";
import { requestsOf, todo } from "./requests.ts";

const { traceId, allowed, denied, turn } = requestsOf("openapi-typescript");
const headers = { authorization: `Bearer ${inject("token")}` };
const client = createClient<paths>({ baseUrl: inject("url"), headers });
const params = { header: { "x-trace-id": traceId } };

test("openapi-typescript: the tools are listed", async () => {
  const { data = [], response } = await client.GET("/v1/tools");
  expect(data.map(({ name }) => name)).toContain("files.read");
  expect(response.headers.get("x-trace-id")).not.toBeNull();
});

test("openapi-typescript: an allowed call has its output, and a denied one its code", async () => {
  const { data: one } = await client.POST("/v1/tools/invoke", { body: allowed, params });
  expect(one?.status === "succeeded" ? one.output : one).toEqual(todo);
  const { data: other } = await client.POST("/v1/tools/invoke", { body: denied, params });
  expect(other?.status === "denied" ? other.error.code : other).toBe("no_matching_grant");
});

test("openapi-typescript: a turn runs to its end", async () => {
  const { data } = await client.POST("/v1/turns", { body: turn, params });
  const ended = typeof data === "object" && "events" in data && data.status === "succeeded" ? data : undefined;
  expect([ended?.output, ended?.events.at(-1)?.type]).toEqual([[todo], "turn.completed"]);
});

test("openapi-typescript: a request that is refused has an error with its code", async () => {
  const { error, response } = await client.GET("/v1/turns/{executionId}", {
    params: { path: { executionId: "none" } },
  });
  expect([response.status, error?.error.code]).toEqual([404, "not_found"]);
});
