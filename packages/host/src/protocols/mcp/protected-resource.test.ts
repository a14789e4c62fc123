import { describe, expect, test } from "vitest";
import { servedWorld } from "../../../test/mcp/endpoint.ts";
import { createOriginOf, PublicUrlSchema } from "../../front/index.ts";
import type { ProtectedResource } from "./protected-resource.ts";

const paths = ["/.well-known/oauth-protected-resource", "/.well-known/oauth-protected-resource/mcp"];

const issuer = "https://login.example.com/realms/acme";

function send(path: string, host: string | undefined, about: Partial<ProtectedResource> = {}): Promise<Response> {
  const method = path === "/mcp" ? "POST" : "GET";
  const headers = host === undefined ? {} : { host };
  return servedWorld({ about: { issuer, ...about } }).serve(
    new Request(`http://turnpike.test${path}`, { method, headers }),
  );
}

async function challenge(host: string | undefined, about?: Partial<ProtectedResource>): Promise<string | null> {
  const response = await send("/mcp", host, about);
  expect(response.status).toBe(401);
  return response.headers.get("www-authenticate");
}

const challengeAt = (origin: string): string =>
  `Bearer realm="turnpike", resource_metadata="${origin}/.well-known/oauth-protected-resource/mcp"`;

describe("a caller without a credential is told where to learn how to get one", () => {
  for (const row of [
    { name: "at the Host of the request", host: "gate.example.com:8787", origin: "http://gate.example.com:8787" },
    {
      name: "with TLS",
      host: "gate.example.com",
      about: { originOf: createOriginOf({ tls: {} }) },
      origin: "https://gate.example.com",
    },
    { name: "at an address", host: "[::1]:8787", origin: "http://[::1]:8787" },
    {
      name: "at the public URL, whatever the Host is",
      host: "elsewhere.example.com",
      about: { originOf: createOriginOf({ publicUrl: "https://gate.example.com/" }) },
      origin: "https://gate.example.com",
    },
  ]) {
    test(row.name, async () => {
      expect(await challenge(row.host, row.about)).toBe(challengeAt(row.origin));
      for (const path of paths) {
        const response = await send(path, row.host, row.about);
        expect(response.status).toBe(200);
        expect(response.headers.get("content-type")).toBe("application/json");
        expect(await response.json()).toEqual({
          resource: `${row.origin}/mcp`,
          authorization_servers: [issuer],
          bearer_methods_supported: ["header"],
        });
      }
    });
  }

  test("and that this host issues tokens itself, before it names another server", async () => {
    for (const path of paths) {
      expect(await (await send(path, "gate.example.com", { isIssuer: true })).json()).toEqual({
        resource: "http://gate.example.com/mcp",
        authorization_servers: ["http://gate.example.com", issuer],
        bearer_methods_supported: ["header"],
        scopes_supported: ["offline_access"],
      });
    }
  });
});

test("where no server issues tokens, no one is sent to look for one", async () => {
  for (const about of [{ issuer: undefined }, { issuer: "acme" }]) {
    expect(await challenge("gate.example.com", about)).toBe('Bearer realm="turnpike"');
    for (const path of paths) expect((await send(path, "gate.example.com", about)).status).toBe(404);
  }
});

describe("a Host header puts nothing else into an answer", () => {
  for (const host of [
    undefined,
    "",
    'a"b',
    "a%22b",
    "a%22,%20error=%22x",
    "a, Basic realm=x",
    "user@evil.example.com",
    "a/b",
    "a?b",
    "a#b",
    "a b",
    "a'b",
    "a;b",
    "a\\b",
  ]) {
    test(JSON.stringify(host) ?? "none at all", async () => {
      expect(await challenge(host)).toBe('Bearer realm="turnpike"');
      for (const path of paths) expect((await send(path, host)).status).toBe(400);
    });
  }
});

test("only reading them is open: another method needs a credential, as on every other path", async () => {
  for (const path of paths) {
    const request = new Request(`http://turnpike.test${path}`, { method: "POST", headers: { host: "a" } });
    expect((await servedWorld().serve(request)).status).toBe(401);
  }
});

describe("a public URL is an origin", () => {
  for (const [text, isOne] of [
    ["https://gate.example.com", true],
    ["https://gate.example.com/", true],
    ["http://127.0.0.1:8787", true],
    ["http://[::1]:8787", true],
    ["gate.example.com", false],
    ["https://gate.example.com/base", false],
    ["https://gate.example.com?a=b", false],
    ["https://user:word@gate.example.com", false],
    ['https://a"b', false],
    ["https://a%22b", false],
    ["https://gate.example.com:99999", false],
    ["ftp://gate.example.com", false],
  ] as const) {
    test(`${text} is ${isOne ? "" : "not "}one`, () => expect(PublicUrlSchema.safeParse(text).success).toBe(isOne));
  }
});
