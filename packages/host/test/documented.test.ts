import { expect, test } from "vitest";
import { undocumented } from "./documented.ts";

const common = { "x-request-id": "request-1", "cache-control": "no-store" };
const admitted = { ...common, "x-trace-id": "trace-1", ratelimit: "r", "ratelimit-policy": "q" };
const refusedWith = (code: string) => ({ error: { code, message: "No.", requestId: "request-1" } });

for (const { name, method = "GET", path = "/v1/tools?x=1", status, headers = admitted, body, problems } of [
  { name: "a described answer", status: 200, problems: [] },
  {
    name: "a path with an id in it",
    path: "/v1/turns/turn-1",
    status: 404,
    body: refusedWith("not_found"),
    problems: [],
  },
  { name: "a path that is not described", path: "/nowhere", status: 418, problems: [] },
  { name: "a verb that is not described", method: "DELETE", status: 418, problems: [] },
  { name: "a status that is not described", status: 418, problems: ["GET /v1/tools 418: the status is not described"] },
  {
    name: "a code that does not come with the status",
    status: 503,
    body: refusedWith("not_found"),
    problems: ["GET /v1/tools 503: the code not_found is not described"],
  },
  {
    name: "a header that is missing",
    status: 401,
    headers: common,
    body: refusedWith("unauthenticated"),
    problems: ["GET /v1/tools 401: the header www-authenticate is described and did not come"],
  },
]) {
  test(`${name} has ${problems.length === 0 ? "no problem" : "a problem"}`, () => {
    expect(undocumented({ method, path, status, headers: new Headers(headers), body })).toEqual(problems);
  });
}
