import { expect, test } from "vitest";
import { executeTurn, getTurn, invokeTool, listTools } from "./generated/orval/client.ts";
import { requestsOf, todo } from "./requests.ts";

const { traceId, allowed, denied, turn } = requestsOf("orval");
const options = { headers: { "x-trace-id": traceId } };

test("orval: the tools are listed", async () => {
  const answer = await listTools();
  const names = answer.status === 200 ? answer.data.map(({ name }) => name) : [];
  expect(names).toContain("files.read");
});

test("orval: an allowed call has its output, and a denied one its code", async () => {
  const one = await invokeTool(allowed, options);
  expect(one.status === 200 && one.data.status === "succeeded" ? one.data.output : one).toEqual(todo);
  const other = await invokeTool(denied, options);
  expect(other.status === 200 && other.data.status === "denied" ? other.data.error.code : other).toBe(
    "no_matching_grant",
  );
});

test("orval: a turn runs to its end", async () => {
  const { data } = await executeTurn(turn, options);
  const ended = typeof data === "object" && "events" in data && data.status === "succeeded" ? data : undefined;
  expect([ended?.output, ended?.events.at(-1)?.type]).toEqual([[todo], "turn.completed"]);
});

test("orval: a request that is refused has an error with its code", async () => {
  const answer = await getTurn("none");
  expect([answer.status, answer.status === 404 && answer.data.error.code]).toEqual([404, "not_found"]);
});
