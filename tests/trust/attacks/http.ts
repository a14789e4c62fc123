import { gzipSync } from "node:zlib";
import { attack, type Attack, type Group, type Seen } from "./attack.ts";
import { answerTo, http, operate, raw, type Sent } from "./surfaces.ts";
import { fileBody, openWorld, type World } from "./world.ts";

const ask = '{"action":"read","resource":{"namespace":"files","path":["notes"]}}';
const post = (headers: string, body: string) =>
  `POST /v1/authorize HTTP/1.1\r\nHost: a\r\nAUTHConnection: close\r\n${headers}\r\n${body}`;
const get = (target: string, headers = "Host: a\r\n") =>
  `GET ${target} HTTP/1.1\r\n${headers}AUTHConnection: close\r\n\r\n`;
const length = `Content-Length: ${ask.length}\r\n`;
const chunked = "Transfer-Encoding: chunked\r\n";
const invalid = "400 invalid_request";
const missing = "404 not_found";

/** Bytes that a proxy and the host could read differently, beside the same request written plainly. */
function bytes(name: string, send: string, held = invalid, plain = post(length, ask)): Attack {
  return attack({
    name,
    surface: "HTTP",
    attack: (world) => raw(world, send),
    held,
    control: (world) => raw(world, plain),
    succeeds: "200",
  });
}

/** A body that costs too much or lies, beside one that does neither. */
function json(name: string, text: string, held: string, headers: Sent["headers"] = {}): Attack {
  return attack({
    name,
    surface: "HTTP",
    attack: (world) => sendText(world, text, headers),
    held,
    control: (world) => sendText(world, ask),
    succeeds: "200 allowed",
  });
}

async function sendText(
  { url, tokens }: World,
  text: string | Uint8Array,
  headers: Sent["headers"] = {},
): Promise<Seen> {
  const authorization = `Bearer ${tokens.assistant}`;
  const response = await fetch(`${url}/v1/authorize`, {
    method: "POST",
    headers: { authorization, "content-type": "application/json", ...headers },
    body: text as string,
  });
  const said = await response.text();
  const { error, reasonCode } = JSON.parse(said) as { error?: { code: string }; reasonCode?: string };
  return { says: `${response.status} ${error?.code ?? reasonCode ?? ""}`, text: said };
}

const smuggled = "GET /v1/tools HTTP/1.1\r\nHost: a\r\n\r\n";
const deep = (levels: number) => `${'{"a":'.repeat(levels)}1${"}".repeat(levels)}`;

const rows: readonly Attack[] = [
  bytes(
    "A request is smuggled behind two lengths: Content-Length and chunks",
    post(`Content-Length: 4\r\n${chunked}`, `0\r\n\r\n${smuggled}`),
  ),
  bytes(
    "A request is smuggled behind a transfer coding that is written oddly",
    post(`Content-Length: 4\r\nTransfer-Encoding: xchunked\r\n`, `0\r\n\r\n${smuggled}`),
  ),
  bytes(
    "A request is smuggled behind two content-lengths",
    post(`Content-Length: 0\r\nContent-Length: ${smuggled.length}\r\n`, smuggled),
  ),
  bytes(
    "A request is smuggled behind a line break of one byte",
    post(`X: a\nTransfer-Encoding: chunked\r\n${length}`, ask),
  ),
  bytes("A header begins with a blank, for a proxy to miss it", post(` Transfer-Encoding: chunked\r\n${length}`, ask)),
  bytes("A request names two hosts", get("/health", "Host: a\r\nHost: b\r\n"), invalid, get("/health")),
  bytes(
    "A request's target is a whole address of another party",
    get("http://evil.example/v1/reach"),
    invalid,
    get("/v1/reach"),
  ),
  bytes(
    "A request asks the host to be a proxy",
    "CONNECT evil.example:80 HTTP/1.1\r\nHost: a\r\n\r\n",
    invalid,
    get("/v1/reach"),
  ),
  bytes("A path climbs out of /console", get("/console/../admin/v1/grants"), invalid, get("/console/")),
  bytes(
    "A path climbs out of /console with encoded dots",
    get("/console/%2e%2e/%2e%2e/etc/passwd"),
    invalid,
    get("/console/"),
  ),
  bytes(
    "A path climbs out of the console's files",
    get("/console/assets/..%2f..%2f..%2fpackage.json"),
    missing,
    get("/console/"),
  ),
  bytes("A path below /docs leads to a file", get("/docs/%2e%2e%2fpackage.json"), missing, get("/docs")),
  bytes("A path has a NUL in it", get("/v1/reach%00.json"), "404 not_found", get("/v1/reach")),
  bytes(
    "TRACE shows a proxy's headers",
    "TRACE /v1/reach HTTP/1.1\r\nHost: a\r\nAUTHConnection: close\r\n\r\n",
    "405 method_not_allowed",
    get("/v1/reach"),
  ),
  bytes(
    "A header is larger than headers may be",
    get("/v1/reach", `Host: a\r\nX: ${"a".repeat(70_000)}\r\n`),
    "431 invalid_request",
    get("/v1/reach"),
  ),
  bytes(
    "A request has more headers than it may",
    get("/v1/reach", `Host: a\r\n${"X: a\r\n".repeat(300)}`),
    "431 invalid_request",
    get("/v1/reach"),
  ),
  bytes(
    "A request asks for another protocol on its connection, and gets a plain answer",
    `GET /v1/reach HTTP/1.1\r\nHost: a\r\nAUTHConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n`,
    "200",
    get("/v1/reach"),
  ),
  json("A body is deeper than JSON may be", `{"action":"read","resource":${deep(100)}}`, invalid),
  json("A body is so deep that a parser could overflow", `[`.repeat(200_000), invalid),
  json(
    "A body has more values than it may",
    `{"action":"read","resource":{"namespace":"files","path":[${"1,".repeat(150_000)}1]}}`,
    invalid,
  ),
  json(
    "A body pollutes the prototype",
    `{"__proto__":{"admin":true},"action":"read","resource":{"namespace":"files","path":["notes"]}}`,
    invalid,
  ),
  json(
    "A body pollutes the prototype through the constructor",
    `{"constructor":{"prototype":{"admin":true}},"action":"read","resource":{"namespace":"files","path":["notes"]}}`,
    invalid,
  ),
  json(
    "A body gives a key twice, and a scanner would read the first",
    `{"action":"read","resource":{"namespace":"files","path":["notes"]},"resource":{"namespace":"files","path":["diary"]}}`,
    "200 no_matching_grant",
  ),
  json("A body is text that is no JSON", "action=read&path=diary", "400 invalid_json", {
    "content-type": "application/x-www-form-urlencoded",
  }),
  json("A body is not what it says: UTF-16", Buffer.from(ask, "utf16le").toString("latin1"), "400 invalid_json"),
  attack({
    name: "A small body grows to a large one: gzip",
    surface: "HTTP",
    attack: (world) => sendText(world, gzipSync(Buffer.alloc(50_000_000, 32)), { "content-encoding": "gzip" }),
    held: "400 invalid_json",
    control: (world) => sendText(world, ask),
    succeeds: "200 allowed",
  }),
  attack({
    name: "A body is larger than the host reads",
    surface: "HTTP",
    attack: (world) => sendText(world, `{"action":"${"a".repeat(2_000_000)}"}`),
    held: "413 payload_too_large",
    control: (world) => sendText(world, ask),
    succeeds: "200 allowed",
  }),
  attack({
    name: "A file is written whose content is larger than a body",
    surface: "HTTP",
    attack: (world) =>
      operate(world, "assistant", "create", `notes/${world.fresh("large")}`, { content: "a".repeat(1_100_000) }),
    held: "413 payload_too_large",
    control: (world) => operate(world, "assistant", "create", `notes/${world.fresh("small")}`, { content: "a" }),
    succeeds: "200 succeeded",
  }),
  attack({
    name: "HEAD tells what GET does not",
    surface: "HTTP",
    attack: (world) => http(world, "/v1/reach", { method: "HEAD", as: "assistant" }),
    held: "405",
    control: (world) => http(world, "/v1/reach", { as: "assistant" }),
    succeeds: "200 computed",
  }),
  attack({
    name: "A change is made by a method that means something else",
    surface: "HTTP",
    attack: (world) =>
      http(world, "/v1/resources/invoke", {
        method: "PUT",
        as: "assistant",
        body: fileBody(world, "create", "notes/put", { content: "x" }),
      }),
    held: "405 method_not_allowed",
    control: (world) =>
      http(world, "/v1/resources/invoke", {
        as: "assistant",
        body: fileBody(world, "create", `notes/${world.fresh("post")}`, { content: "x" }),
      }),
    succeeds: "200 succeeded",
  }),
  attack({
    name: "A Host header writes itself into what the host says of itself",
    surface: "HTTP",
    attack: (world) =>
      raw(
        world,
        'GET /.well-known/oauth-protected-resource HTTP/1.1\r\nHost: evil.example/"<script>\r\nConnection: close\r\n\r\n',
      ),
    held: invalid,
    control: (world) =>
      raw(
        world,
        "GET /.well-known/oauth-protected-resource HTTP/1.1\r\nHost: turnpike.example\r\nConnection: close\r\n\r\n",
      ),
    succeeds: "404 not_found",
  }),
  attack({
    name: "A stranger learns what runs here from the headers and the errors",
    surface: "HTTP",
    async attack(world) {
      const { headers, text } = await answerTo(world, "/v1/nothing", {});
      const told = ["server", "x-powered-by", "via"].filter((name) => headers.has(name));
      return {
        says: `${told.length} headers, ${/node|sqlite|\/packages\/|at .*:\d+/i.test(text) ? "a trace" : "no trace"}`,
        text,
      };
    },
    held: "0 headers, no trace",
    control: (world) => http(world, "/v1/nothing", { as: "assistant" }),
    succeeds: "404 not_found",
  }),
];

export const httpAttacks: Group = { name: "HTTP", open: () => openWorld(), attacks: rows };
