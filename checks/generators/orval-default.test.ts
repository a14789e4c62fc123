import { expect, inject, test } from "vitest";
import { invokeTool, reach } from "./generated/orval-default/client.ts";
import { requestsOf, todo } from "./requests.ts";

const { traceId, allowed } = requestsOf("orval-default");
const options = {
  baseURL: inject("url"),
  headers: { authorization: `Bearer ${inject("token")}`, "x-trace-id": traceId },
};

test("orval's default client: an allowed call has its output", async () => {
  const { data } = await invokeTool(allowed, options);
  expect(data.status === "succeeded" ? data.output : data).toEqual(todo);
});

test("orval's default client: what a caller reaches has its shape", async () => {
  const { data } = await reach(options);
  expect(data.status).toBe("computed");
});
