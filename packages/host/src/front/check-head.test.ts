import { IncomingMessage } from "node:http";
import { Socket } from "node:net";
import { expect, test } from "vitest";
import { checkHead } from "./check-head.ts";

function request(method: string, url: string, rawHeaders: readonly string[] = ["Host", "localhost"]): IncomingMessage {
  const incoming = new IncomingMessage(new Socket());
  const headers: Record<string, string> = {};
  for (let place = 0; place < rawHeaders.length; place += 2) {
    headers[(rawHeaders[place] ?? "").toLowerCase()] = rawHeaders[place + 1] ?? "";
  }
  return Object.assign(incoming, { method, url, rawHeaders: [...rawHeaders], headers });
}

const host = ["Host", "localhost"];
const limits = { headers: 100 };
/** So many headers of different names, the host's included. */
const headers = (count: number) => [
  ...host,
  ...Array.from({ length: count - 1 }, (_, place) => [`X-${place}`, ""]).flat(),
];

for (const row of [
  { name: "a path", incoming: request("GET", "/v1/tools") },
  { name: "the root", incoming: request("HEAD", "/") },
  { name: "a path with a query", incoming: request("POST", "/v1/authorize?x=//y&z=http://a") },
  { name: "an encoded path", incoming: request("DELETE", "/a%2f..%00") },
  { name: "a chunked body", incoming: request("POST", "/", [...host, "Transfer-Encoding", "Chunked"]) },
  { name: "a body with a length", incoming: request("PUT", "/", [...host, "Content-Length", "3"]) },
  { name: "the word host as a value", incoming: request("GET", "/", [...host, "X-Name", "host"]) },
  { name: "OPTIONS for a path", incoming: request("OPTIONS", "/v1/tools") },
  { name: "a request with as many headers as there may be", incoming: request("GET", "/", headers(100)) },
  { name: "a list given in two headers", incoming: request("GET", "/", [...host, "Accept", "a", "Accept", "b"]) },
]) {
  test(`${row.name} is plain`, () => {
    expect(checkHead(row.incoming, limits)).toBeUndefined();
  });
}

const target = { status: 400, code: "invalid_request", message: "The target has to be a plain path." };
const oneHost = {
  status: 400,
  code: "invalid_request",
  message: "A request has exactly one Host header that names a host.",
};
const once = (name: string) => ({
  status: 400,
  code: "invalid_request",
  message: `${name}: expected this header once.`,
});
const tooMany = { status: 431, code: "invalid_request", message: "A request has at most 100 headers." };
const coding = { status: 400, code: "invalid_request", message: "Bodies come in one piece or chunked." };
const method = {
  status: 405,
  code: "method_not_allowed",
  message: "This method is not known here.",
  headers: { allow: "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS" },
};

for (const row of [
  { name: "an unknown method", incoming: request("PROPFIND", "/"), refusal: method },
  { name: "TRACE", incoming: request("TRACE", "/"), refusal: method },
  { name: "a method in lower case", incoming: request("get", "/"), refusal: method },
  { name: "an absolute target", incoming: request("GET", "http://elsewhere/"), refusal: target },
  { name: "an authority as target", incoming: request("GET", "elsewhere:443"), refusal: target },
  { name: "a target that begins with two slashes", incoming: request("GET", "//elsewhere/"), refusal: target },
  { name: "a backslash", incoming: request("GET", "/\\elsewhere"), refusal: target },
  { name: "a fragment", incoming: request("GET", "/#part"), refusal: target },
  { name: "a blank", incoming: request("GET", "/a b"), refusal: target },
  { name: "an asterisk", incoming: request("OPTIONS", "*"), refusal: target },
  { name: "no target", incoming: request("GET", ""), refusal: target },
  { name: "a Host that is none", incoming: request("GET", "/", ["Host", "a b/?#"]), refusal: oneHost },
  { name: "no Host", incoming: request("GET", "/", []), refusal: oneHost },
  { name: "two Hosts", incoming: request("GET", "/", [...host, "hOST", "elsewhere"]), refusal: once("host") },
  { name: "two equal Hosts", incoming: request("GET", "/", [...host, ...host]), refusal: once("host") },
  { name: "one header too many", incoming: request("GET", "/", headers(101)), refusal: tooMany },
  {
    name: "two lengths",
    incoming: request("POST", "/", [...host, "Content-Length", "1", "content-length", "1"]),
    refusal: once("content-length"),
  },
  {
    name: "two codings",
    incoming: request("POST", "/", [...host, "Transfer-Encoding", "chunked", "Transfer-Encoding", "chunked"]),
    refusal: once("transfer-encoding"),
  },
  {
    name: "a coding before chunked",
    incoming: request("POST", "/", [...host, "Transfer-Encoding", "gzip, chunked"]),
    refusal: coding,
  },
  {
    name: "another coding",
    incoming: request("POST", "/", [...host, "Transfer-Encoding", "identity"]),
    refusal: coding,
  },
]) {
  test(`${row.name} is refused`, () => {
    expect(checkHead(row.incoming, limits)).toEqual(row.refusal);
  });
}

for (const name of [
  "authorization",
  "content-type",
  "last-event-id",
  "prefer",
  "traceparent",
  "x-authority",
  "x-purpose",
  "x-request-id",
  "x-trace-id",
]) {
  test(`two ${name} headers are refused: it must not be a guess which one counts`, () => {
    const twice = [...host, name, "a", name.toUpperCase(), "b"];
    expect(checkHead(request("GET", "/", twice), limits)).toEqual(once(name));
  });
}
