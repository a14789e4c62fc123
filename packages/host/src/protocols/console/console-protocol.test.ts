import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { afterAll, describe, expect, test } from "vitest";
import { asFetch } from "../../../test/fetch-front.ts";
import { createFront } from "../../front/index.ts";
import { createMetrics } from "../../telemetry/index.ts";
import { consoleProtocol } from "./console-protocol.ts";

const folder = mkdtempSync(join(tmpdir(), "turnpike-console-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
mkdirSync(join(folder, "assets"));
const page = "<!doctype html><title>Turnpike</title>";
const script = "console.log('1');\n".repeat(100);
writeFileSync(join(folder, "index.html"), page);
writeFileSync(join(folder, "docs.html"), "<!doctype html><title>API</title>");
writeFileSync(join(folder, "me.html"), "<!doctype html><title>Me</title>");
writeFileSync(join(folder, "assets/index-1a2b.js"), script);
writeFileSync(join(folder, "assets/index-1a2b.css"), "body {}");
writeFileSync(join(folder, "assets/icon-1a2b.svg"), "<svg/>");
writeFileSync(join(folder, "assets/notes-1a2b.xyz"), "?");
writeFileSync(join(folder, "assets/licenses-1a2b.md"), "# Licences");

const silent = { info() {}, warn() {}, error() {} };
const front = (built: "built" | "not built" = "built") => {
  const protocol = consoleProtocol(built === "built" ? folder : join(folder, "nowhere"));
  return asFetch(createFront({ protocols: [protocol], log: silent, metrics: createMetrics() }));
};
const send = (path: string, headers: Record<string, string> = {}, method = "GET") =>
  front()(new Request(`http://host${path}`, { method, headers }));

const policy =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; " +
  "form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'";

describe("the page", () => {
  test("at /docs is the description of the API, and nowhere else", async () => {
    const response = await send("/docs");
    expect([response.status, await response.text()]).toEqual([200, "<!doctype html><title>API</title>"]);
    expect(response.headers.get("content-security-policy")).toBe(policy);
    expect(await (await send("/console/docs.html")).text()).toBe(page);
    expect(consoleProtocol(folder).owns("/docs/")).toBe(false);
  });

  test("at /me is a person's own, and nowhere else", async () => {
    const response = await send("/me");
    expect([response.status, await response.text()]).toEqual([200, "<!doctype html><title>Me</title>"]);
    expect(response.headers.get("content-security-policy")).toBe(policy);
    expect(await (await send("/console/me.html")).text()).toBe(page);
    expect(["/me/", "/me/v1/session", "/mean"].filter((path) => consoleProtocol(folder).owns(path))).toEqual([]);
  });

  for (const path of ["/console", "/console/", "/console/demo/now", "/console/a%2Fb/turns/x/y/z?filter=1"]) {
    test(`is at ${path}, and asked for anew each time`, async () => {
      const response = await send(path);
      expect([response.status, await response.text()]).toEqual([200, page]);
      expect(response.headers.get("content-type")).toBe("text/html; charset=utf-8");
      expect(response.headers.get("cache-control")).toBe("no-cache");
    });
  }

  for (const [name, type] of [
    ["index-1a2b.js", "text/javascript; charset=utf-8"],
    ["index-1a2b.css", "text/css; charset=utf-8"],
    ["icon-1a2b.svg", "image/svg+xml"],
    ["licenses-1a2b.md", "text/plain; charset=utf-8"],
    ["notes-1a2b.xyz", "application/octet-stream"],
  ] as const) {
    test(`has ${name}, which browsers cache for ever`, async () => {
      const { status, headers } = await send(`/console/assets/${name}`);
      expect([status, headers.get("content-type")]).toEqual([200, type]);
      expect(headers.get("cache-control")).toBe("public, max-age=31536000, immutable");
    });
  }

  for (const path of [
    "/console/assets/nothing.js",
    "/console/assets/",
    "/console/assets/..%2findex.html",
    "/console/assets/..%5cindex.html",
    "/console/assets/%2e%2e%2findex.html",
    "/console/assets//etc/passwd",
    "/console/assets/index-1a2b.js/",
    "/console/assets/constructor",
  ]) {
    test(`has nothing at ${path}, and caches no refusal`, async () => {
      const response = await send(path);
      expect([response.status, response.headers.get("cache-control")]).toEqual([404, "no-store"]);
      expect(await response.json()).toMatchObject({ error: { code: "not_found" } });
    });
  }

  for (const path of ["/consoles", "/Console", "/index.html", "/assets/index-1a2b.js"]) {
    test(`leaves ${path} to others`, () => {
      expect(consoleProtocol(folder).owns(path)).toBe(false);
    });
  }

  for (const path of ["/", "/console", "/console/assets/index-1a2b.js", "/console/assets/nothing.js"]) {
    test(`is safe in a browser at ${path}: no script but its own, no other page around it, no sniffed types`, async () => {
      const { headers } = await send(path);
      const safety = {
        "content-security-policy": policy,
        "x-content-type-options": "nosniff",
        "referrer-policy": "no-referrer",
        "cross-origin-opener-policy": "same-origin",
        "cross-origin-resource-policy": "same-origin",
      };
      expect(Object.fromEntries(headers)).toMatchObject(safety);
    });
  }

  for (const { accepts, isGzipped } of [
    { accepts: "gzip, deflate, br", isGzipped: true },
    { accepts: "br;q=1.0, gzip;q=0.5", isGzipped: true },
    { accepts: "gzip;q=0, br", isGzipped: false },
    { accepts: "br, xgzip", isGzipped: false },
    { accepts: "", isGzipped: false },
  ]) {
    test(`is ${isGzipped ? "" : "not "}compressed for a browser that accepts ${JSON.stringify(accepts)}`, async () => {
      const { headers, ...response } = await answered("/console/assets/index-1a2b.js", { "accept-encoding": accepts });
      expect([headers.get("content-encoding"), headers.get("vary")]).toEqual([
        isGzipped ? "gzip" : null,
        "accept-encoding",
      ]);
      expect(headers.get("content-length")).toBe(String(response.bytes.length));
      expect((isGzipped ? gunzipSync(response.bytes) : response.bytes).toString()).toBe(script);
      expect(response.bytes.length < script.length).toBe(isGzipped);
    });
  }

  for (const path of ["/", "/console", "/console/assets/index-1a2b.js"]) {
    test(`answers HEAD of ${path} as GET, without a body`, async () => {
      const [get, head] = [await answered(path), await answered(path, {}, "HEAD")];
      expect([head.status, head.bytes.length]).toEqual([get.status, 0]);
      const told = ({ headers }: Answered) =>
        Object.fromEntries([...headers].filter(([name]) => name !== "x-request-id"));
      expect(told(head)).toEqual(told(get));
    });

    test(`is only read at ${path}`, async () => {
      const { status, headers } = await send(path, {}, "POST");
      expect([status, headers.get("allow")]).toEqual([405, "GET, HEAD"]);
    });
  }
});

interface Answered {
  status: number;
  headers: Headers;
  bytes: Buffer;
}

async function answered(path: string, headers = {}, method = "GET"): Promise<Answered> {
  const response = await send(path, headers, method);
  return { status: response.status, headers: response.headers, bytes: Buffer.from(await response.arrayBuffer()) };
}

test("a page that was not built says how to build it", async () => {
  const response = await front("not built")(new Request("http://host/console/assets/index-1a2b.js"));
  expect([response.status, await response.text()]).toEqual([
    503,
    "The console is not built. In a clone of the repository, `npm run build` builds it; then start the host again.\n",
  ]);
});

describe("the root of the host", () => {
  test("leads browsers to the page", async () => {
    const { status, headers } = await send("/", { accept: "text/html,application/xhtml+xml,*/*;q=0.8" });
    expect([status, headers.get("location"), headers.get("vary")]).toEqual([303, "/console", "accept"]);
  });

  for (const accept of ["*/*", "application/json"]) {
    test(`tells who accepts ${accept} what this is, and where to read on`, async () => {
      const response = await send("/", { accept });
      expect([response.status, await response.json()]).toEqual([
        200,
        { name: "turnpike", version: "1.0.0-preview", console: "/console", docs: "/docs", openapi: "/openapi.json" },
      ]);
    });
  }
});
