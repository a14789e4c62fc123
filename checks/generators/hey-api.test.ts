import { expect, inject, test } from "vitest";
import { client } from "./generated/hey-api/client.gen.ts";
import { executeTurn, getTurn, invokeTool, listTools } from "./generated/hey-api/index.ts";
import { requestsOf, todo } from "./requests.ts";

const { traceId, allowed, denied, turn } = requestsOf("hey-api");
const headers = { "x-trace-id": traceId };
client.setConfig({ baseUrl: inject("url"), auth: inject("token") });

test("hey-api: the tools are listed", async () => {
  const { data = [] } = await listTools();
  expect(data.map(({ name }) => name)).toContain("files.read");
});

test("hey-api: an allowed call has its output, and a denied one its code", async () => {
  const { data: one } = await invokeTool({ body: allowed, headers });
  expect(one?.status === "succeeded" ? one.output : one).toEqual(todo);
  const { data: other } = await invokeTool({ body: denied, headers });
  expect(other?.status === "denied" ? other.error.code : other).toBe("no_matching_grant");
});

test("hey-api: a turn runs to its end", async () => {
  const { data } = await executeTurn({ body: turn, headers });
  const ended = data !== undefined && "events" in data && data.status === "succeeded" ? data : undefined;
  expect([ended?.output, ended?.events.at(-1)?.type]).toEqual([[todo], "turn.completed"]);
});

test("hey-api: a request that is refused has an error with its code", async () => {
  const { error, response } = await getTurn({ path: { executionId: "none" } });
  expect([response?.status, error?.error.code]).toEqual([404, "not_found"]);
});
