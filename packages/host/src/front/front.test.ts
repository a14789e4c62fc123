import { expect, test } from "vitest";
import { jsonReply, ServiceHttpError } from "turnpike/http";
import type { Log } from "../telemetry/log.ts";
import { asFetch, wireRequestFrom } from "../../test/fetch-front.ts";
import { createMetrics } from "../telemetry/metrics.ts";
import { createFront } from "./front.ts";
import { serveProtocol, type Protocol } from "./protocol.ts";

/** A front with a protocol below `/a/` and one for the rest, and what it logged. */
function frontWith(changes: Partial<Protocol<string>>) {
  const lines: Record<string, unknown>[] = [];
  const write = (facts: object, message: string) => void lines.push({ ...facts, msg: message });
  const log: Log = { info: write, warn: write, error: write };
  const ok = { method: "GET", answer: () => Promise.resolve(jsonReply({ ok: true })) };
  const first: Protocol<string> = {
    owns: (path) => path.startsWith("/a/"),
    admit: () => Promise.resolve("a caller"),
    routes: [
      { ...ok, path: "/a/reply" },
      { ...ok, path: "/a/response", answer: () => Promise.resolve(Response.json({ ok: true })) },
    ],
    ...changes,
  };
  const rest: Protocol<string> = {
    owns: () => true,
    admit: () => Promise.reject(new ServiceHttpError(401, "unauthenticated", "Who are you?")),
    routes: [{ ...ok, path: "/closed" }],
    openRoutes: [{ ...ok, path: "/open" }],
  };
  const metrics = createMetrics();
  const front = createFront({ protocols: [serveProtocol(first), serveProtocol(rest)], log, metrics });
  const send = (path: string, init: RequestInit = {}) => asFetch(front)(new Request(`http://localhost${path}`, init));
  return { front, send, lines, metrics };
}

function failing(thrown: unknown): Pick<Protocol<string>, "routes"> {
  const answer = (): Promise<never> => Promise.reject(thrown);
  return { routes: [{ method: "GET", path: "/a/fails", answer }] };
}

test("a part that throws is answered 500, and the log says where it happened", async () => {
  const bug = new Error("not found in the table");
  const { send, lines } = frontWith(failing(bug));
  const response = await send("/a/fails", { headers: { "x-request-id": "mine" } });
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
    { msg: "request", requestId: "mine", route: "/a/fails", status: 500 },
  ]);
});

test("no request waits for the log: a request is told when its answer can be sent", async () => {
  const { front, lines } = frontWith({});
  await expect(front(wireRequestFrom(new Request("http://localhost/open")))).resolves.toMatchObject({ status: 200 });
  expect(lines).toEqual([]);
  await new Promise((resolve) => process.nextTick(resolve));
  expect(lines).toMatchObject([{ msg: "request", route: "/open", status: 200 }]);
});

test("a database that does not answer is an outage, which is worth another try and no bug", async () => {
  const full = Object.assign(new Error("database or disk is full"), { code: "SQLITE_FULL" });
  const { send, lines } = frontWith(failing(full));
  const response = await send("/a/fails");
  expect([response.status, await response.json()]).toMatchObject([503, { error: { code: "authority_unavailable" } }]);
  expect(lines[0]).toMatchObject({ msg: "request failed", error: "Error: database or disk is full" });
  expect(lines[0]).not.toHaveProperty("stack");
});

test("a refusal retains its code and its headers, and one that HTTP cannot carry retains its code", async () => {
  for (const [value, shown] of [
    ["5", "5"],
    ["sóon ☃", null],
  ]) {
    const refusal = new ServiceHttpError(429, "slower", "Slower.", { headers: { "retry-after": value ?? "" } });
    const response = await frontWith(failing(refusal)).send("/a/fails");
    expect(response.status).toBe(429);
    expect(response.headers.get("retry-after")).toBe(shown);
    expect(await response.json()).toMatchObject({ error: { code: "slower", message: "Slower." } });
  }
});

for (const path of ["/a/reply", "/a/response", "/a/nothing", "/open", "/closed", "/elsewhere"]) {
  test(`the answer of ${path} and its lines in the log have the same request id, and none is cached or taken for a page`, async () => {
    const { send, lines } = frontWith({});
    const { headers } = await send(path);
    const requestId = headers.get("x-request-id");
    expect(requestId).toMatch(/^[0-9a-f-]{36}$/);
    expect(headers.get("cache-control")).toBe("no-store");
    expect(headers.get("x-content-type-options")).toBe("nosniff");
    expect(new Set(lines.map((line) => line["requestId"]))).toEqual(new Set([requestId]));
  });
}

for (const path of ["/a/nothing", "/a/reply/alice", "/__proto__", "/elsewhere"]) {
  test(`${path}, which no protocol has, is "other" in the log and in the metrics`, async () => {
    const { send, lines, metrics } = frontWith({});
    await send(path);
    expect(lines.at(-1)).toMatchObject({ msg: "request", route: "other" });
    const text = await metrics.text();
    expect(text).toMatch(/^turnpike_requests_total\{route="other",status="40[14]"\} 1$/m);
    expect(text).not.toContain(path);
  });
}

for (const path of ["/a/reply", "/open", "/closed"]) {
  test(`${path}, which a protocol has, is named in the log and in the metrics`, async () => {
    const { send, lines, metrics } = frontWith({});
    await send(path);
    expect(lines.at(-1)).toMatchObject({ msg: "request", route: path });
    expect(await metrics.text()).toContain(`turnpike_requests_total{route="${path}",status="`);
  });
}

test("a sender learns which paths there are only once admitted", async () => {
  const { send } = frontWith({});
  const statuses = [];
  for (const [method, path] of [
    ["GET", "/open"],
    ["POST", "/open"],
    ["GET", "/closed"],
    ["GET", "/elsewhere"],
    ["POST", "/a/reply"],
    ["GET", "/a/nothing"],
  ] as const)
    statuses.push((await send(path, { method })).status);
  expect(statuses).toEqual([200, 401, 401, 401, 405, 404]);
});

for (const path of ["/a/reply", "/a/response"]) {
  test(`the headers of every answer and of the request's record count more than those that ${path} chose`, async () => {
    const chosen = { "x-request-id": "forged", "cache-control": "public", "x-content-type-options": "", "x-own": "1" };
    const { send } = frontWith({
      routes: [
        {
          method: "GET",
          path: "/a/reply",
          answer: () => Promise.resolve({ ...jsonReply({ ok: true }), headers: chosen }),
        },
        { method: "GET", path: "/a/response", answer: () => Promise.resolve(new Response("{}", { headers: chosen })) },
      ],
    });
    const { headers } = await send(path, { headers: { "x-request-id": "mine" } });
    const names = ["x-request-id", "cache-control", "x-content-type-options", "x-own"];
    expect(names.map((name) => headers.get(name))).toEqual(["mine", "no-store", "nosniff", "1"]);
  });
}
