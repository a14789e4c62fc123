import { expect, test } from "vitest";
import type { Log } from "../observe/log.ts";
import { createMetrics } from "../observe/metrics.ts";
import { createApp, type AppOptions } from "./app.ts";

const paths = new Set(["/ready", "/docs", "/openapi.json", "/v1/reach", "/mcp"]);

/** An application whose parts answer nothing but 404, and what it logged. */
function appWith(changes: Partial<AppOptions>) {
  const lines: Record<string, unknown>[] = [];
  const write = (facts: object, message: string) => void lines.push({ ...facts, msg: message });
  const log: Log = { info: write, warn: write, error: write };
  const nothing = () => Promise.resolve(undefined);
  const app = createApp({
    service: () => Promise.resolve(new Response(null, { status: 404 })),
    admin: nothing,
    mcp: nothing,
    checkReady: () => Promise.resolve(),
    openApi: {},
    docsPage: "",
    log,
    paths,
    metrics: createMetrics({ routes: paths }),
    ...changes,
  });
  const get = (path: string, headers = {}) => app(new Request(`http://localhost${path}`, { headers }));
  return { get, lines };
}

test("a part that throws is answered 500, and the log says where it happened", async () => {
  const bug = new Error("not found in the table");
  const { get, lines } = appWith({ mcp: () => Promise.reject(bug) });
  const response = await get("/mcp", { "x-request-id": "mine" });
  expect(response.status).toBe(500);
  expect(await response.json()).toEqual({
    error: {
      code: "internal_error",
      message: "Something failed inside; nothing more is said.",
      requestId: "mine",
    },
  });
  expect(lines).toMatchObject([
    { msg: "request failed", requestId: "mine", error: "Error: not found in the table", stack: bug.stack },
    { msg: "request", requestId: "mine", route: "/mcp", status: 500 },
  ]);
});

for (const path of ["/ready", "/docs", "/openapi.json", "/v1/reach"]) {
  test(`the answer of ${path} and its line in the log have the same request id`, async () => {
    const { get, lines } = appWith({});
    const response = await get(path);
    expect(lines).toMatchObject([{ msg: "request", route: path, requestId: response.headers.get("x-request-id") }]);
  });
}
