import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { once } from "node:events";
import { connect } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import type { Reply } from "turnpike/http";
import { exchange, open } from "../../test/raw-http.ts";
import { createRandom, type Random } from "../../../turnpike/test/random.ts";
import { loadConfig } from "../compose/config.ts";
import { startServer } from "./node-server.ts";
import type { RefusalFacts } from "./refuse.ts";
import type { WireRequest } from "./wire-request.ts";

/** A server, and who was told of its requests: the application, or the log of refusals. */
async function serve(handler: Handler = answer, flags = {}) {
  const seen: Request[] = [];
  const refused: RefusalFacts[] = [];
  const config = loadConfig({ file: undefined, env: {}, flags: { "listen.port": "0", ...flags } });
  const { url, close } = await startServer(
    config,
    (wire) => {
      const request = wire.toFetch();
      seen.push(request);
      return handler(request, wire);
    },
    { onRefused: (facts) => void refused.push(facts), tls: { onReload() {}, onError() {} } },
  );
  onTestFinished(close);
  return { url, seen, refused, close };
}

type Handler = (request: Request, wire: WireRequest) => Promise<Reply | Response>;

async function answer(request: Request, wire: WireRequest): Promise<Response> {
  wire.admit();
  if (request.method === "POST") await wire.body.bytes();
  return new Response(new URL(request.url).pathname);
}

const host = "Host: a\r\n";
const close = "Connection: close\r\n";
const invalid = { status: 400, code: "invalid_request" };

for (const row of [
  { name: "identity as transfer coding", send: `POST / HTTP/1.1\r\n${host}Transfer-Encoding: identity\r\n\r\n{}` },
  { name: "identity without a body", send: `GET / HTTP/1.1\r\n${host}Transfer-Encoding: identity\r\n\r\n` },
  { name: "garbage behind a refused target", send: `GET //x HTTP/1.1\r\n${host}\r\ngarbage\r\n\r\n` },
  { name: "a Host that is not Punycode", send: `GET / HTTP/1.1\r\nHost: xn--a\r\n${close}\r\n` },
  { name: "a Host that is almost an address", send: `GET / HTTP/1.1\r\nHost: 1.2.3.4.5\r\n${close}\r\n` },
  { name: "a Host that is almost an IPv6 address", send: `GET / HTTP/1.1\r\nHost: [:::]\r\n${close}\r\n` },
  { name: "bytes that are not HTTP", send: "garbage\r\n\r\n" },
  { name: "a CONNECT", send: `CONNECT a:80 HTTP/1.1\r\n${host}\r\n` },
  {
    name: "a second Host behind 2,000 headers",
    send: `GET / HTTP/1.1\r\n${host}${"a:\r\n".repeat(2000)}Host: b\r\n\r\n`,
    status: 431,
  },
  { name: "an expectation that is not known", send: `POST / HTTP/1.1\r\n${host}Expect: miracles\r\n\r\n`, status: 417 },
]) {
  test(`${row.name} gets one answer, and the log is told once`, async () => {
    const { url, seen, refused } = await serve();
    const { statuses, text } = await exchange(url, { send: row.send });
    const status = row.status ?? 400;
    expect(statuses).toEqual([status]);
    expect(seen).toEqual([]);
    expect(refused).toMatchObject([{ ...invalid, status }]);
    expect(text).toContain(`"requestId":"${refused[0]?.requestId}"`);
    expect(text).toContain(`x-request-id: ${refused[0]?.requestId}\r\n`);
    expect(text).toContain("x-content-type-options: nosniff\r\n");
  });
}

for (const protocol of ["h2c", "websocket"]) {
  test(`an offer to upgrade to ${protocol} is passed over: the request is served, and nothing behind it`, async () => {
    const bodies: string[] = [];
    const { url, refused } = await serve(async (request) => {
      bodies.push(await request.text());
      return new Response("done");
    });
    const offer = `Connection: Upgrade, HTTP2-Settings\r\nUpgrade: ${protocol}\r\nHTTP2-Settings: AAMAAABk\r\n`;
    const { statuses, text } = await exchange(url, {
      send: `POST / HTTP/1.1\r\n${host}${offer}Content-Length: 2\r\n\r\n{}GET /x HTTP/1.1\r\n${host}\r\n`,
    });
    expect([statuses, bodies, refused]).toEqual([[200], ["{}"], []]);
    expect(text).toMatch(/connection: close/i);
  });
}

test("no header is dropped without a word, however many there may be", async () => {
  const { url, refused } = await serve(undefined, { "limits.headers": "4000" });
  const send = `GET / HTTP/1.1\r\n${host}${close}${"a:\r\n".repeat(2500)}Host: b\r\n\r\n`;
  expect((await exchange(url, { send })).text).toContain("host: expected this header once.");
  expect(refused).toMatchObject([invalid]);
});

test("a refusal carries the request id that was sent", async () => {
  const { url, refused } = await serve();
  await exchange(url, { send: `GET //x HTTP/1.1\r\n${host}X-Request-Id: mine\r\n\r\n` });
  expect(refused).toEqual([{ ...invalid, requestId: "mine", method: "GET" }]);
});

test("a request behind a refused one does not reach the application", async () => {
  const { url, seen, refused } = await serve();
  const { statuses } = await exchange(url, { send: `GET //x HTTP/1.1\r\n${host}\r\nGET /y HTTP/1.1\r\n${host}\r\n` });
  expect([statuses, seen, refused.length]).toEqual([[400], [], 1]);
});

test("a request that expects 100-continue is invited to send its body, unless it follows a refused one", async () => {
  const expecting = `POST /y HTTP/1.1\r\n${host}Expect: 100-continue\r\nContent-Length: 2\r\n`;
  const { url, seen } = await serve();
  expect((await exchange(url, { send: `${expecting}${close}\r\n{}` })).statuses).toEqual([100, 200]);
  const behind = `GET //x HTTP/1.1\r\n${host}\r\n${expecting}\r\n{}`;
  expect((await exchange(url, { send: behind })).statuses).toEqual([400]);
  expect(seen).toHaveLength(1);
});

const getX = `GET /x HTTP/1.1\r\n${host}\r\n`;

test("a socket that pipelines without end has 64 requests in work, and is refused then", async () => {
  let finish = (): void => {};
  const held = new Promise<void>((resolve) => (finish = resolve));
  const { url, seen, refused } = await serve(() => held.then(() => new Response("x")));
  const socket = open(url).on("error", () => {});
  onTestFinished(() => void socket.destroy());
  let text = "";
  const closed = new Promise((resolve) => socket.on("data", (part) => (text += String(part))).once("close", resolve));
  // All of it is taken from the socket, so that the answers get through.
  await new Promise<void>((resolve) => socket.write(getX.repeat(40_000), () => resolve()));
  expect((await exchange(url, { send: `GET //x HTTP/1.1\r\n${host}\r\n` })).statuses).toEqual([400]);
  expect([seen.length, refused.length]).toEqual([64, 2]);
  finish();
  await closed;
  expect(seen).toHaveLength(64);
  expect(refused[0]).toMatchObject({ status: 429, code: "rate_limited" });
  expect(text.match(/^HTTP\/1\.1 200/gm)).toHaveLength(64);
  expect(text.match(/^HTTP\/1\.1 429/gm)).toHaveLength(1);
});

test("what follows a refused request is not even parsed, although its answer waits for an earlier one", async () => {
  let finish = (): void => {};
  const held = new Promise<void>((resolve) => (finish = resolve));
  const { url, refused } = await serve(() => held.then(() => new Response("x")));
  const socket = open(url).on("error", () => {});
  onTestFinished(() => void socket.destroy());
  const closed = new Promise((resolve) => socket.resume().once("close", resolve));
  const parsed: unknown[] = [];
  const onParsed = (message: unknown): void => void parsed.push(message);
  subscribe("http.server.request.start", onParsed);
  onTestFinished(() => void unsubscribe("http.server.request.start", onParsed));
  const refusedOne = `GET //x HTTP/1.1\r\n${host}\r\n`;
  await new Promise<void>((resolve) => socket.write(`${getX}${refusedOne}${getX.repeat(40_000)}`, () => resolve()));
  // The parser gets through the chunk that it has, and no further.
  await exchange(url, { send: refusedOne });
  expect(parsed.length).toBeLessThan(4000);
  expect(refused).toHaveLength(2);
  finish();
  await closed;
});

for (const [text, length] of [
  ["plain", 5],
  ["ä€😀", 9],
  ["", 0],
] as const) {
  test(`an answer of ${length} bytes says its length, so that the connection can go on`, async () => {
    const reply = { status: 200, headers: { "content-type": "text/plain", "x-mine": "1" }, body: text };
    const { url } = await serve(() => Promise.resolve(reply));
    const { text: sent } = await exchange(url, { send: getX + `GET /x HTTP/1.1\r\n${host}${close}\r\n` });
    expect(sent.match(/HTTP\/1\.1 200 OK/g)).toHaveLength(2);
    expect(sent.match(new RegExp(`content-length: ${length}\r\n`, "g"))).toHaveLength(2);
    expect(sent.match(/x-mine: 1\r\n/g)).toHaveLength(2);
    expect(sent).not.toContain("chunked");
  });
}

test("the signal of a request fires when its caller goes, and not when the next one of its connection is answered", async () => {
  const signals: AbortSignal[] = [];
  const arrived: (() => void)[] = [];
  const { url } = await serve((request, { signal }) => {
    signals.push(signal);
    arrived.shift()?.();
    return request.url.endsWith("/held") ? new Promise(() => {}) : Promise.resolve(new Response("done"));
  });
  const arrives = (): Promise<void> => new Promise((resolve) => arrived.push(resolve));
  const socket = open(url);
  const first = arrives();
  socket.write(getX);
  await first;
  await once(socket, "data");
  const second = arrives();
  socket.write(`GET /held HTTP/1.1\r\n${host}\r\n`);
  await second;
  expect(signals.map(({ aborted }) => aborted)).toEqual([false, false]);
  const fired = once(signals[1] as AbortSignal, "abort");
  socket.destroy();
  await fired;
});

test("requests that arrive together go on together, each step for all of them", async () => {
  const steps: string[] = [];
  const { url } = await serve(async (request) => {
    const { pathname } = new URL(request.url);
    steps.push(`${pathname} begins`);
    await undefined;
    steps.push(`${pathname} ends`);
    return new Response("done");
  });
  const sockets = [open(url), open(url)];
  const ask = (paths: readonly string[]): Promise<unknown> => {
    paths.forEach((path, place) => sockets[place]?.write(`GET ${path} HTTP/1.1\r\n${host}\r\n`));
    return Promise.all(sockets.map((socket) => once(socket, "data")));
  };
  // The first two may be apart by the time that it takes to accept a connection.
  await ask(["/first", "/first"]);
  steps.length = 0;
  await ask(["/a", "/b"]);
  for (const socket of sockets) socket.destroy();
  expect(steps).toEqual(["/a begins", "/b begins", "/a ends", "/b ends"]);
});

test("a socket may send any number of requests, one after the other", async () => {
  const { url, seen } = await serve();
  const socket = open(url);
  onTestFinished(() => void socket.destroy());
  for (let sent = 1; sent <= 200; sent += 1) {
    socket.write(getX);
    await once(socket, "data");
    expect(seen).toHaveLength(sent);
  }
});

for (const row of [
  { name: "declared too large", head: "Content-Length: 3000000\r\n" },
  {
    name: "that is not read, of a caller that wants the connection closed",
    head: `Content-Length: 1000000\r\n${close}`,
  },
]) {
  test(`a body ${row.name}: the caller can send it all, and gets the answer`, async () => {
    const { url } = await serve(() => Promise.resolve(new Response("no", { status: 413 })));
    const socket = open(url);
    let text = "";
    const closed = once(
      socket.on("data", (part) => (text += String(part))),
      "close",
    );
    socket.write(`POST / HTTP/1.1\r\n${host}${row.head}\r\n`);
    await once(socket, "data");
    // A reset would be an error of the socket, which fails the test.
    const size = Number(/\d+/.exec(row.head)?.[0]);
    await new Promise<void>((resolve) => socket.write(Buffer.alloc(size), () => resolve()));
    await closed;
    expect(text).toMatch(/^HTTP\/1\.1 413 /);
  });
}

test("a socket that sends on and on behind its last answer is cut off", async () => {
  const { url } = await serve();
  const { hostname, port } = new URL(url);
  const socket = connect({ host: hostname, port: Number(port), allowHalfOpen: true }).on("error", () => {});
  const closed = new Promise((resolve) => socket.resume().once("close", () => resolve("closed")));
  socket.write(`POST / HTTP/1.1\r\n${host}Content-Length: 90000000\r\n\r\n`);
  socket.write(Buffer.alloc(16_000_000));
  expect(await closed).toBe("closed");
});

test("half a request behind a running one never takes the place of its answer", async () => {
  let finish = (): void => {};
  const held = new Promise<void>((resolve) => (finish = resolve));
  const { url, seen } = await serve(async (request, wire) => {
    if (new URL(request.url).pathname === "/first") await held;
    else finish();
    return answer(request, wire);
  });
  const first = `GET /first HTTP/1.1\r\n${host}\r\n`;
  const half = `POST /second HTTP/1.1\r\n${host}Transfer-Encoding: chunked\r\n\r\nzz\r\n`;
  const { text } = await exchange(url, { send: first + half });
  expect(seen).toHaveLength(2);
  expect(text).toMatch(/^HTTP\/1\.1 200 [^]*\/first/);
});

test("a refusal of an unknown method names those that are known", async () => {
  const { url } = await serve();
  const { text } = await exchange(url, { send: `TRACE / HTTP/1.1\r\n${host}\r\n` });
  expect(text).toContain("allow: GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS\r\n");
});

test("trailers do not become headers", async () => {
  const named: (string | null)[] = [];
  const { url } = await serve(async (request) => {
    await request.arrayBuffer();
    named.push(request.headers.get("x-purpose"), request.headers.get("authorization"));
    return new Response();
  });
  const head = `POST / HTTP/1.1\r\n${host}${close}X-Purpose: support\r\nTrailer: x-purpose\r\nTransfer-Encoding: chunked\r\n\r\n`;
  const trailers = "X-Purpose: billing\r\nAuthorization: Bearer tp_x\r\nHost: b\r\n";
  const { statuses } = await exchange(url, { send: `${head}2\r\n{}\r\n0\r\n${trailers}\r\n` });
  expect([statuses, named]).toEqual([[200], ["support", null]]);
});

test("an application that throws is still one answer, and the log is told", async () => {
  const { url, refused } = await serve(() => Promise.reject(new Error("broken")));
  const { statuses, text } = await exchange(url, { send: `GET / HTTP/1.1\r\n${host}${close}\r\n` });
  expect(statuses).toEqual([500]);
  expect(refused).toMatchObject([{ status: 500, code: "internal_error" }]);
  expect(text).not.toContain("broken");
});

const hostParts = [
  "xn--",
  "a",
  "-",
  ".",
  "%",
  "%zz",
  "[",
  "]",
  ":",
  "::1",
  "0x7f",
  "256",
  "1.2",
  "_",
  "!",
  "é",
  "\t",
  " ",
  "@",
  "/",
  "99999",
  "*",
] as const;
const methods = ["GET", "GET", "POST", "HEAD", "TRACE", "CONNECT", "PRI", "get", ""] as const;
const versions = ["HTTP/1.1", "HTTP/1.1", "HTTP/1.0", "HTTP/2.0", "HTTP/1.1 ", "http/1.1", ""] as const;
const targetParts = [
  "/",
  "//",
  "a",
  "?",
  "#",
  "%00",
  "%",
  "\\",
  "*",
  "..",
  "é",
  " ",
  "\t",
  ":",
  "@",
  "http://a",
] as const;

const textOf = (random: Random, parts: readonly [string, ...string[]]): string =>
  Array.from({ length: 1 + random.below(6) }, () => random.pick(parts)).join("");

for (const row of [
  { name: "Host", make: (random: Random) => `GET / HTTP/1.1\r\nHost: ${textOf(random, hostParts)}\r\n${close}\r\n` },
  {
    name: "request line",
    make: (random: Random) =>
      `${random.pick(methods)} ${textOf(random, targetParts)} ${random.pick(versions)}\r\n${host}${close}\r\n`,
  },
  { name: "path", make: (random: Random) => `GET /${textOf(random, targetParts)} HTTP/1.1\r\n${host}${close}\r\n` },
]) {
  test(`whatever the ${row.name}, a request gets one answer and is told of once`, async () => {
    const random = createRandom(7);
    const { url, seen, refused } = await serve();
    for (let sent = 1; sent <= 300; sent += 1) {
      const send = row.make(random);
      const { statuses } = await exchange(url, { send });
      const told = seen.length + refused.length;
      expect({ send, answers: statuses.length, told }).toEqual({ send, answers: 1, told: sent });
    }
    expect(refused.length).toBeGreaterThan(0);
    expect(seen.length).toBeGreaterThan(0);
  });
}

test("the head of a stream is sent before anything is in the stream", async () => {
  let end = (): void => {};
  const body = new ReadableStream<Uint8Array>({
    start(stream) {
      end = () => stream.close();
    },
  });
  const headers = { "content-type": "text/event-stream" };
  const { url } = await serve(() => Promise.resolve({ status: 200, headers, body }));
  const response = await fetch(url);
  expect([response.status, response.headers.get("content-type")]).toEqual([200, "text/event-stream"]);
  end();
  expect(await response.text()).toBe("");
});

test("a connection over which nothing was asked does not hold up the end", async () => {
  const server = await serve(answer, { "limits.shutdownMs": "170000" });
  const { hostname, port } = new URL(server.url);
  const socket = connect(Number(port), hostname);
  const isClosed = once(socket, "close");
  await once(socket, "connect");
  // Another connection is answered later, so the server knows of both.
  await (await fetch(server.url)).text();
  await server.close();
  await isClosed;
  expect(server.seen).toHaveLength(1);
});

test("a first request whose head is still arriving at the end is answered", async () => {
  const server = await serve();
  const { hostname, port } = new URL(server.url);
  const socket = connect(Number(port), hostname);
  let text = "";
  socket.on("data", (chunk: Buffer) => (text += chunk.toString()));
  const isClosed = once(socket, "close");
  await once(socket, "connect");
  socket.write(`GET /slow HTTP/1.1\r\n${host}`);
  // Another connection is answered later, so the server has read that much.
  await (await fetch(server.url)).text();
  const closed = server.close();
  socket.write(`${close}\r\n`);
  await Promise.all([closed, isClosed]);
  expect(text).toContain("/slow");
});

test("a first request that was sent before the end, and not yet read, is answered", async () => {
  const server = await serve();
  const { hostname, port } = new URL(server.url);
  const socket = connect(Number(port), hostname);
  let text = "";
  socket.on("data", (chunk: Buffer) => (text += chunk.toString()));
  const isClosed = once(socket, "close");
  await once(socket, "connect");
  await (await fetch(server.url)).text();
  // The bytes are in the kernel when the server closes in the same round.
  socket.write(`GET /sent HTTP/1.1\r\n${host}${close}\r\n`);
  await Promise.all([server.close(), isClosed]);
  expect(text).toContain("/sent");
});

test("a head that never arrives whole holds up the end no longer than a head may take", async () => {
  const server = await serve(answer, { "limits.shutdownMs": "170000", "limits.headersMs": "300" });
  const { hostname, port } = new URL(server.url);
  const socket = connect(Number(port), hostname);
  const isClosed = once(socket, "close");
  await once(socket, "connect");
  socket.write("GET / HTTP/1.1\r\n");
  await (await fetch(server.url)).text();
  await server.close();
  await isClosed;
  expect(server.seen).toHaveLength(1);
});

test("a client that reads nothing of an answer is cut off after the time for a body", async () => {
  const body = "a".repeat(16_000_000);
  let closed: AbortSignal | undefined;
  const handler: Handler = async (_request, { signal }) => {
    closed = signal;
    return { status: 200, headers: {}, body };
  };
  const { url } = await serve(handler, { "limits.bodyMs": "400" });
  const socket = open(url).pause();
  socket.write(`GET / HTTP/1.1\r\n${host}\r\n`);
  await expect.poll(() => closed?.aborted).toBe(true);
  socket.destroy();
});

test("when all connections are taken, the health of the host can be asked for, and nothing else", async () => {
  const { url, seen, refused } = await serve(undefined, { "limits.sockets": "2" });
  const held = [open(url), open(url)];
  for (const socket of held) {
    socket.write(`GET /held HTTP/1.1\r\n${host}\r\n`);
    await once(socket, "data");
  }
  for (const path of ["/health", "/ready?verbose"]) {
    const { statuses, isClosed } = await exchange(url, { send: `GET ${path} HTTP/1.1\r\n${host}\r\n` });
    expect([statuses, isClosed]).toEqual([[200], true]);
  }
  const other = await exchange(url, { send: `GET /other HTTP/1.1\r\n${host}\r\n` });
  expect([other.statuses, other.isClosed]).toEqual([[503], true]);
  expect(other.text).toMatch(/retry-after: 1\r\n/i);
  expect(refused).toMatchObject([{ status: 503, code: "overloaded" }]);
  expect(seen).toHaveLength(4);
  held[0]?.destroy();
  await expect
    .poll(async () => (await exchange(url, { send: `GET /other HTTP/1.1\r\n${host}\r\n`, answers: 1 })).statuses)
    .toEqual([200]);
  held[1]?.destroy();
});

test("connections that ask for nothing do not keep a monitor from the health of the host", async () => {
  const { url } = await serve(undefined, { "limits.sockets": "1" });
  const silent = Array.from({ length: 150 }, () => open(url).on("error", () => {}));
  await Promise.all(silent.map((socket) => once(socket, "connect")));
  await expect
    .poll(async () => (await exchange(url, { send: `GET /health HTTP/1.1\r\n${host}\r\n`, answers: 1 })).statuses)
    .toEqual([200]);
  for (const socket of silent) socket.destroy();
});
