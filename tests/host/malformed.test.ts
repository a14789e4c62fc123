import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { connect } from "node:net";
import { beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { ask, eventually } from "../../packages/host/test/host-calls.ts";
import { makeFolder, startHostProcess, type HostProcess } from "../support/host-process.ts";
import { listCall, makeTenant } from "../support/host-world.ts";
import { exchange, open } from "../../packages/host/test/raw-http.ts";

const host = "Host: turnpike.test\r\n";
const close = "Connection: close\r\n";
const chunked = "Transfer-Encoding: chunked\r\n";
const deep = `${"[".repeat(100)}${"]".repeat(100)}`;

/** `AUTH` is replaced by the header of a good credential. */
const get = (target: string, headers = host) => `GET ${target} HTTP/1.1\r\n${headers}${close}\r\n`;
const post = (headers: string, body: string) =>
  `POST /v1/authorize HTTP/1.1\r\n${host}AUTH${close}${headers}\r\n${body}`;

interface Probe {
  name: string;
  send: string;
  /** The statuses of all answers; none when the host just closes. */
  statuses: readonly number[];
  code?: string;
}

const connectRequest = `CONNECT evil.test:80 HTTP/1.1\r\n${host}\r\n`;
const upgrade = `GET /health HTTP/1.1\r\n${host}Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n`;
const takeovers = [
  { name: "an Upgrade", send: upgrade },
  { name: "a CONNECT", send: connectRequest },
];

const refused = { statuses: [400], code: "invalid_request" };
const notJson = { statuses: [400], code: "invalid_json" };

const probes: readonly Probe[] = [
  { name: "two different Host headers", send: get("/health", `${host}Host: evil.test\r\n`), ...refused },
  { name: "two equal Host headers", send: get("/health", host + host), ...refused },
  { name: "no Host header", send: get("/health", ""), ...refused },
  { name: "no Host header in HTTP/1.0", send: "GET /health HTTP/1.0\r\n\r\n", ...refused },
  { name: "an empty Host header", send: get("/health", "Host:\r\n"), statuses: [200] },
  { name: "a Host header that is no host", send: get("/health", "Host: a b/?#@\\:99999\r\n"), ...refused },
  { name: "a Host header with a path of its own", send: get("/v1/nothing", "Host: a/openapi.json?\r\n"), ...refused },
  { name: "a Host header with a port that is none", send: get("/health", "Host: a:99999\r\n"), ...refused },
  { name: "two dots in the target", send: get("/x/../health"), ...refused },
  { name: "an encoded dot in the target", send: get("/%2e/health"), ...refused },
  { name: "two encoded dots in the target", send: get("/x/%2e%2e/ready"), ...refused },
  { name: "an absolute target", send: get("http://evil.test/health"), ...refused },
  { name: "an authority as target", send: get("evil.test:80"), ...refused },
  { name: "CONNECT", send: connectRequest, ...refused },
  { name: "an asterisk as target", send: `OPTIONS * HTTP/1.1\r\n${host}${close}\r\n`, ...refused },
  { name: "a backslash in the target", send: get("/\\health"), ...refused },
  { name: "a fragment in the target", send: get("/health#a"), ...refused },
  { name: "a target that begins with two slashes", send: get("//evil.test/health"), ...refused },
  { name: "a blank in the target", send: get("/hea lth"), ...refused },
  { name: "a byte beyond ASCII in the target", send: get("/h\xe9alth"), ...refused },
  { name: "a method no one knows", send: `BREW /health HTTP/1.1\r\n${host}\r\n`, ...refused },
  {
    name: "a method the host does not know",
    send: `PROPFIND /health HTTP/1.1\r\n${host}${close}\r\n`,
    statuses: [405],
    code: "method_not_allowed",
  },
  { name: "TRACE", send: `TRACE /health HTTP/1.1\r\n${host}${close}\r\n`, statuses: [405], code: "method_not_allowed" },
  { name: "a method in lower case", send: `get /health HTTP/1.1\r\n${host}\r\n`, ...refused },
  { name: "HTTP/0.9", send: "GET /health\r\n\r\n", ...refused },
  { name: "the preface of HTTP/2", send: "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", ...refused },
  { name: "HTTP/3.7", send: `GET /health HTTP/3.7\r\n${host}\r\n`, ...refused },
  { name: "a TLS hello", send: "\x16\x03\x01\x00\xa5\x01\x00\x00\xa1\x03\x03", ...refused },
  { name: "a negative content-length", send: post("Content-Length: -1\r\n", ""), ...refused },
  { name: "a content-length with a plus sign", send: post("Content-Length: +2\r\n", "{}"), ...refused },
  { name: "a content-length in hexadecimal", send: post("Content-Length: 0x2\r\n", "{}"), ...refused },
  {
    name: "a content-length beyond all numbers",
    send: post(`Content-Length: ${"9".repeat(30)}\r\n`, "{}"),
    ...refused,
  },
  {
    name: "two different content-lengths",
    send: post("Content-Length: 2\r\nContent-Length: 3\r\n", "{} "),
    ...refused,
  },
  { name: "two equal content-lengths", send: post("Content-Length: 2\r\nContent-Length: 2\r\n", "{}"), ...refused },
  { name: "two content-lengths in one header", send: post("Content-Length: 2, 2\r\n", "{}"), ...refused },
  {
    name: "a content-length and chunks",
    send: post(`Content-Length: 2\r\n${chunked}`, "2\r\n{}\r\n0\r\n\r\n"),
    ...refused,
  },
  {
    name: "chunks twice in one header",
    send: post("Transfer-Encoding: chunked, chunked\r\n", "0\r\n\r\n"),
    ...refused,
  },
  { name: "chunks twice in two headers", send: post(chunked + chunked, "0\r\n\r\n"), ...refused },
  { name: "a gzip transfer coding", send: post("Transfer-Encoding: gzip\r\n", "{}"), ...refused },
  { name: "gzip and chunks", send: post("Transfer-Encoding: gzip, chunked\r\n", "0\r\n\r\n"), ...refused },
  {
    name: "a transfer coding written oddly",
    send: post("Transfer-Encoding: \x0bchunked\r\n", "0\r\n\r\n"),
    ...refused,
  },
  { name: "chunks, which are fine", send: post(chunked, "1\r\n[\r\n1\r\n]\r\n0\r\n\r\n"), ...refused },
  { name: "a chunk size that is no number", send: post(chunked, "zz\r\n{}\r\n0\r\n\r\n"), ...refused },
  { name: "a negative chunk size", send: post(chunked, "-2\r\n{}\r\n0\r\n\r\n"), ...refused },
  { name: "chunk extensions", send: post(chunked, "2;a=b\r\n[]\r\n0\r\n\r\n"), ...refused },
  {
    name: "chunk extensions without end",
    send: post(chunked, `2;${"a".repeat(20_000)}\r\n[]\r\n0\r\n\r\n`),
    ...refused,
  },
  { name: "a header without a colon", send: get("/health", `${host}nothing\r\n`), ...refused },
  { name: "a blank before the colon", send: get("/health", `${host}A : b\r\n`), ...refused },
  { name: "a folded header", send: get("/health", `${host}A: b\r\n c\r\n`), ...refused },
  { name: "a folded first header", send: get("/health", ` a: b\r\n${host}`), ...refused },
  { name: "a NUL in a header", send: get("/health", `${host}A: b\0c\r\n`), ...refused },
  { name: "a header name that is none", send: get("/health", `${host}A(b): c\r\n`), ...refused },
  {
    name: "a header of 20 KB",
    send: get("/health", `${host}A: ${"b".repeat(20_000)}\r\n`),
    statuses: [431],
    code: "invalid_request",
  },
  { name: "a target of 20 KB", send: get(`/${"b".repeat(20_000)}`), statuses: [431], code: "invalid_request" },
  // One more is the Connection header.
  { name: "100 headers, which are fine", send: get("/health", host + "A: b\r\n".repeat(98)), statuses: [200] },
  {
    name: "101 headers",
    send: get("/health", host + "A: b\r\n".repeat(99)),
    statuses: [431],
    code: "invalid_request",
  },
  {
    name: "a second Host header behind 2,000 others",
    send: get("/health", `${host}${"A:\r\n".repeat(2000)}Host: evil.test\r\n`),
    statuses: [431],
    code: "invalid_request",
  },
  { name: "two purposes", send: post("X-Purpose: support\r\nX-Purpose: billing\r\n", ""), ...refused },
  { name: "two credentials", send: post("Authorization: Bearer tp_other\r\n", ""), ...refused },
  { name: "a Host header that is not Punycode", send: get("/health", "Host: xn--a\r\n"), ...refused },
  { name: "a Host header that is almost an address", send: get("/health", "Host: 1.2.3.4.5\r\n"), ...refused },
  {
    name: "the transfer coding identity",
    send: `POST /v1/authorize HTTP/1.1\r\n${host}Transfer-Encoding: identity\r\n\r\n{}`,
    ...refused,
  },
  {
    name: "credentials in a trailer",
    send: `POST /v1/authorize HTTP/1.1\r\n${host}${close}${chunked}\r\n2\r\n{}\r\n0\r\nAUTH\r\n`,
    statuses: [401],
    code: "unauthenticated",
  },
  { name: "lines that end in a bare LF", send: "GET /health HTTP/1.1\nHost: a\nConnection: close\n\n", ...refused },
  { name: "a header that ends in a bare CR", send: get("/health", `${host}A: b\rc: d\r\n`), ...refused },
  { name: "JSON nested too deep", send: post(`Content-Length: ${deep.length}\r\n`, deep), ...refused },
  { name: "an empty body", send: post("Content-Length: 0\r\n", ""), ...notJson },
  { name: "no body", send: post("", ""), ...notJson },
  { name: "a body that is not UTF-8", send: post("Content-Length: 4\r\n", '"\xff\xfe"'), ...notJson },
  {
    name: "Expect with a body too large",
    send: post("Expect: 100-continue\r\nContent-Length: 9999999\r\n", ""),
    statuses: [413],
    code: "payload_too_large",
  },
  {
    name: "Expect that is fine",
    send: post("Expect: 100-continue\r\nContent-Length: 2\r\n", "[]"),
    statuses: [100, 400],
    code: "invalid_request",
  },
  {
    name: "Expect with two Host headers",
    send: post(`${host}Expect: 100-continue\r\nContent-Length: 2\r\n`, "[]"),
    ...refused,
  },
  {
    name: "Expect of something else",
    send: post("Expect: miracles\r\nContent-Length: 2\r\n", "[]"),
    statuses: [417],
    code: "invalid_request",
  },
  {
    name: "an Upgrade, which is passed over",
    send: get("/health", `${host}Connection: Upgrade\r\nUpgrade: websocket\r\n`),
    statuses: [200],
  },
  {
    name: "an Upgrade to HTTP/2, which is passed over",
    send: get("/v1/nothing", `${host}Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AA\r\n`),
    statuses: [401],
    code: "unauthenticated",
  },
  {
    name: "a smuggled second request",
    send: `${post("Content-Length: 2\r\nContent-Length: 40\r\n", "[]")}${get("/health")}`,
    ...refused,
  },
];

describe("over a raw socket", () => {
  let running: HostProcess;
  let token: string;
  beforeAll(async () => {
    const args = ["serve", "--port", "0", "--set", "limits.headersMs=1000", "--set", "limits.burst=1000"];
    running = await startHostProcess({ folder: makeFolder(), args });
    token = await makeTenant(running);
  });
  const filled = (send: string) => send.replace("AUTH", `Authorization: Bearer ${token}\r\n`);

  /** The statuses that the log has for the request id of an answer. */
  const logged = (text: string): unknown[] => {
    const [, requestId = "none"] = /^x-request-id: (.+)\r$/im.exec(text) ?? [];
    const lines = running
      .stderr()
      .split("\n")
      .filter((line) => line.includes(requestId));
    const facts = lines.map((line) => JSON.parse(line) as { msg: string; status: number });
    return facts.filter(({ msg }) => msg === "request").map(({ status }) => status);
  };

  /** Resolves when the log of everything up to now has arrived: its lines come in order, and behind the answers. */
  const logArrives = async (): Promise<void> => {
    const requestId = `last-${randomUUID()}`;
    await ask(running.url, "/health", { headers: { "x-request-id": requestId } });
    await eventually(() => expect(running.stderr()).toMatch(new RegExp(`${requestId}.*\\n`)));
  };

  const isWell = async (): Promise<void> => {
    expect((await ask(running.url, "/health")).text).toBe('{"status":"ok","protocolVersion":"1"}');
    expect(running.stderr()).not.toContain("internal");
  };

  for (const { name, send, statuses, code } of probes) {
    const says = code === undefined ? "HTTP/1.1 " : `{"error":{"code":"${code}"`;
    test(`${name}: ${statuses.join(", ")}, and the host closes`, async () => {
      const answer = await exchange(running.url, { send: filled(send) });
      expect(answer).toEqual({ statuses, isClosed: true, text: expect.stringContaining(says) as string });
      await eventually(() => expect(logged(answer.text)).toEqual([statuses.at(-1)]));
      await isWell();
    });
  }

  for (const { name, send } of takeovers) {
    test(`${name} whose caller resets the connection, a hundred times, leaves the host running`, async () => {
      for (let time = 0; time < 100; time += 1) {
        const socket = open(running.url).on("error", () => {});
        const closed = new Promise((resolve) => socket.once("close", resolve));
        socket.write(send, () => socket.resetAndDestroy());
        await closed;
      }
      expect((await ask(running.url, "/health")).status).toBe(200);
    });
  }

  test("a CONNECT is closed by the host soon after its refusal, although the caller never closes", async () => {
    const { hostname, port } = new URL(running.url);
    const socket = connect({ host: hostname, port: Number(port), allowHalfOpen: true }).on("error", () => {});
    onTestFinished(() => void socket.destroy());
    const closed = new Promise((resolve) => socket.once("close", () => resolve("closed")));
    socket.resume().write(connectRequest);
    await once(socket, "end");
    // A socket that was closed by the other side answers bytes with a reset, which a later write notices.
    const poke = setInterval(() => socket.write("x"), 50);
    onTestFinished(() => clearInterval(poke));
    expect(await closed).toBe("closed");
  });

  test("three pipelined requests get three answers in order", async () => {
    const send = filled(
      `GET /health HTTP/1.1\r\n${host}\r\nGET /v1/nothing HTTP/1.1\r\n${host}AUTH\r\n${get("/docs")}`,
    );
    const { statuses, isClosed } = await exchange(running.url, { send });
    expect({ statuses, isClosed }).toEqual({ statuses: [200, 404, 200], isClosed: true });
  });

  test("a pipelined request behind a refused one is not read", async () => {
    const send = `GET //x HTTP/1.1\r\n${host}\r\n${get("/health")}`;
    expect((await exchange(running.url, { send })).statuses).toEqual([400]);
  });

  test("garbage behind a good request never takes the place of its answer", async () => {
    const body = JSON.stringify(listCall("behind", "behind"));
    const head = `POST /v1/tools/invoke HTTP/1.1\r\n${host}AUTHX-Trace-Id: behind\r\nContent-Length: ${body.length}\r\n`;
    const { statuses } = await exchange(running.url, { send: filled(`${head}\r\n${body}garbage`) });
    // The call runs: its caller gets the result, or nothing and asks again under the same id.
    expect([[], [200], [200, 400]]).toContainEqual(statuses);
  });

  test("headers that come too slowly: 408, and the host closes", async () => {
    const answer = await exchange(running.url, { send: `GET /health HTTP/1.1\r\n${host}A: b` });
    expect(answer.statuses).toEqual([408]);
    expect(answer.text).toContain('{"error":{"code":"request_timeout"');
  });

  for (const { name, send } of [
    { name: "ends too early", send: post("Content-Length: 100\r\nX-Request-Id: ends-early\r\n", "[") },
    { name: "ends amid its chunks", send: post(`${chunked}X-Request-Id: ends-amid\r\n`, "5\r\n[") },
    { name: "turns into garbage", send: post(`${chunked}X-Request-Id: garbage\r\n`, "zz\r\n") },
  ]) {
    test(`a body that ${name} has one answer and one line in the log, under the caller's request id`, async () => {
      const [, requestId = ""] = /X-Request-Id: (.+)\r/.exec(send) ?? [];
      await logArrives();
      const before = running.stderr().length;
      const socket = connect({ host: new URL(running.url).hostname, port: Number(new URL(running.url).port) });
      let text = "";
      const closed = once(
        socket.on("data", (part) => (text += String(part))),
        "close",
      );
      socket.end(filled(send));
      await closed;
      expect(text).toMatch(/^HTTP\/1\.1 400 /);
      expect(text).toContain(`x-request-id: ${requestId}\r\n`);
      await isWell();
      await logArrives();
      const lines = running.stderr().slice(before).trim().split("\n");
      const facts = lines.map((line) => JSON.parse(line) as { msg: string; status: number; route: string });
      const told = facts.filter(({ msg, route }) => msg === "request" && route !== "/health");
      expect(told).toMatchObject([{ requestId, status: 400, method: "POST", route: "/v1/authorize" }]);
    });
  }

  test("a caller that breaks off in the middle of a body is no one's trouble", async () => {
    const before = running.stderr().length;
    const socket = open(running.url);
    socket.end(filled(post("Content-Length: 100\r\n", "[")));
    await new Promise((resolve) => socket.on("close", resolve).resume());
    await logArrives();
    expect(running.stderr().slice(before)).not.toContain("internal");
  });
});
