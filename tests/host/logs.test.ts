import { beforeAll, describe, expect, test } from "vitest";
import { appendCall, makeEffectTenant, startEffectHost } from "../support/effect-host.ts";
import { ask, eventually } from "../../packages/host/test/host-calls.ts";
import { makeFolder, startHostProcess, type HostProcess } from "../support/host-process.ts";
import { listCall, makeTenant, turn } from "../support/host-world.ts";
import { exchange } from "../../packages/host/test/raw-http.ts";

/** The lines of a log. */
function linesOf(host: HostProcess): Record<string, unknown>[] {
  return host
    .stderr()
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as Record<string, unknown>);
}

describe("the log", () => {
  let host: HostProcess;
  let token: string;
  beforeAll(async () => {
    host = await startHostProcess({ folder: makeFolder() });
    token = await makeTenant(host);
  });

  for (const row of [
    { route: "/v1/reach", status: 200, method: "GET", path: "/v1/reach" },
    {
      route: "/v1/tools/invoke",
      status: 200,
      method: "POST",
      path: "/v1/tools/invoke",
      body: listCall("logged", "logged"),
    },
    { route: "/v1/tools/invoke", status: 400, method: "POST", path: "/v1/tools/invoke", body: {} },
    { route: "other", status: 404, method: "GET", path: "/v1/tools/somewhere" },
  ]) {
    test(`has one line of facts for ${row.method} ${row.path} that answered ${row.status}`, async () => {
      const requestId = `request-${row.route}-${row.status}`;
      const headers = { "x-request-id": requestId, "x-trace-id": "logged" };
      const { method, path, route, status, body } = row;
      await ask(host.url, path, { token, method, headers, ...(body !== undefined && { body }) });
      const [line, ...more] = await eventually(() => {
        const found = linesOf(host).filter((each) => each["requestId"] === requestId && each["msg"] === "request");
        expect(found).not.toEqual([]);
        return found;
      });
      expect(more).toEqual([]);
      expect(line).toEqual({
        level: 30,
        time: expect.any(Number) as number,
        requestId,
        tenant: "acme",
        traceId: "logged",
        credentialId: token.slice(3, 19),
        method,
        route,
        status,
        ms: expect.any(Number) as number,
        msg: "request",
      });
    });
  }

  test("has a line for an operator's request too", async () => {
    const answer = await ask(host.url, "/admin/v1/grants", { token: host.operatorToken(), body: {} });
    const requestId = answer.headers.get("x-request-id");
    const line = await eventually(() => {
      const found = linesOf(host).find((each) => each["requestId"] === requestId && each["msg"] === "request");
      expect(found).toBeDefined();
      return found;
    });
    expect(line).toMatchObject({ method: "POST", route: "/admin/v1/grants", status: 400 });
  });
});

test("no secret is in anything a host writes", async () => {
  const host = await startEffectHost(makeFolder(), { "log.level": "debug" });
  const token = await makeEffectTenant(host);
  const secret = "hunter2secret";
  const headers = { "x-trace-id": "t", cookie: `session=${secret}`, "x-api-key": secret, "x-purpose": "support" };
  const send = (path: string, body: unknown, more: object = {}) =>
    ask(host.url, path, { token, headers, body, ...more });
  const before = host.stdout().length;

  await send("/v1/tools/invoke", appendCall("1", "t", { line: secret }));
  await send("/v1/tools/invoke", appendCall("2", "t", { line: secret, throws: secret }));
  await send("/v1/tools/invoke", { ...appendCall("3", "t"), arguments: { line: { secret } } });
  await send("/v1/tools/invoke", { ...appendCall("4", "t"), arguments: secret });
  await send("/v1/turns", turn("5", "t", { line: secret }));
  await send("/v1/turns", turn("6", "t", { line: secret, throws: secret }));
  await send("/v1/messages", { ...turn("7", "t", secret) });
  await send(`/v1/authorize?key=${secret}`, { secret });
  await send(`/v1/${secret}`, secret);
  await send("/v1/reach", undefined, { token: secret });
  await send("/v1/reach", undefined, { token: `tp_${"a".repeat(16)}_${secret}` });
  await send("/v1/reach", undefined, { headers: { ...headers, "x-purpose": secret } });
  await send("/v1/reach", undefined, { headers: { ...headers, "x-authority": secret } });
  await send("/admin/v1/credentials", { secret }, { token: host.operatorToken() });
  await exchange(host.url, {
    send: `POST /v1/authorize HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${token}\r\nConnection: close\r\nContent-Length: 20\r\n\r\n{"a": ${secret}}`,
  });
  await exchange(host.url, { send: `GET /${secret} HTTP/1.1\r\nbroken ${secret}\r\n\r\n` });
  await host.stop();

  expect(linesOf(host).length).toBeGreaterThan(14);
  const written = host.stderr() + host.stdout().slice(before);
  expect(written.split("\n").filter((line) => line.includes(secret))).toEqual([]);
  const [, , tokenSecret = ""] = token.split("_");
  const [, , operatorSecret = ""] = host.operatorToken().split("_");
  for (const hidden of [tokenSecret, operatorSecret]) expect(written).not.toContain(hidden);
});

test("what anyone may see needs no credential", async () => {
  const { url } = await startHostProcess({ folder: makeFolder() });
  const document = await ask(url, "/openapi.json");
  expect(document.status).toBe(200);
  expect(document.headers.get("content-type")).toBe("application/json");
  expect(document.body).toMatchObject({
    openapi: expect.stringMatching(/^3\.1/) as string,
    info: { title: "Turnpike" },
  });
  const docs = await ask(url, "/docs");
  expect(docs.status).toBe(200);
  expect(docs.headers.get("content-type")).toBe("text/html; charset=utf-8");
  expect(docs.text).toContain("<title>Turnpike API</title>");
  expect((await ask(url, "/ready")).text).toBe('{"status":"ready"}');
  expect((await ask(url, "/health")).text).toBe('{"status":"ok","protocolVersion":"1"}');
  for (const [path, refused] of [
    ["/ready", 401],
    ["/openapi.json", 401],
    ["/docs", 405],
  ] as const) {
    const { status } = await ask(url, path, { method: "POST", body: {} });
    expect([path, status]).toEqual([path, refused]);
  }
});
