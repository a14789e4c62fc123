import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { loadConfig } from "./config.ts";
import { checkPort } from "./doctor-host.ts";
import type { Finding } from "./finding.ts";

/** What the doctor says of a port on which something answers. */
async function inspect(answer: RequestListener): Promise<Pick<Finding, "check" | "isOk" | "says">[]> {
  const server = createServer(answer);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  const findings = await checkPort(loadConfig({ env: {}, flags: { "listen.port": String(port) } }));
  return findings.map(({ check, isOk, says }) => ({ check, isOk, says: says.replaceAll(String(port), "PORT") }));
}

const health = JSON.stringify({ status: "ok", protocolVersion: 1 });

/** A host that is ready or not, and whose clock is ahead by so many seconds. */
function host(ready: number, ahead = 0, readiness = health): RequestListener {
  return (request, response) => {
    response.setHeader("date", new Date(Date.now() + ahead * 1000).toUTCString());
    response.statusCode = request.url === "/ready" ? ready : 200;
    response.end(request.url === "/ready" ? readiness : health);
  };
}

test("a host that runs, is ready and has the same time is fine", async () => {
  expect(await inspect(host(200))).toEqual([
    { check: "port", isOk: true, says: "127.0.0.1:PORT is taken: a host answers there" },
    { check: "host", isOk: true, says: "the host at 127.0.0.1:PORT is ready" },
    { check: "clock", isOk: true, says: "agrees with that of the host that runs" },
  ]);
});

for (const row of [
  { body: health, says: "It does not say why." },
  {
    body: '{"status":"unavailable","reason":"The disk of the database is full."}',
    says: "The disk of the database is full.",
  },
  { body: '{"status":"unavailable","reason":"\\u001b[2Jfine"}', says: "<U+001B>[2Jfine" },
])
  test(`a host that is not ready is found, with its reason: ${row.says}`, async () => {
    const [, ready] = await inspect(host(503, 0, row.body));
    const says = `the host at 127.0.0.1:PORT is not ready. ${row.says} Its log says more.`;
    expect(ready).toEqual({ check: "host", isOk: false, says });
  });

for (const ahead of [-60, 60]) {
  test(`a host whose clock is ${ahead} s ahead is found`, async () => {
    const [, , clock] = await inspect(host(200, ahead));
    expect(clock?.isOk).toBe(false);
    expect(clock?.says).toMatch(/^is (59|6[01]) s away from that of the host that runs\. Synchronize both\.$/);
  });
}

test("something else on the port is found, and is not asked for more", async () => {
  const found = await inspect((_request, response) => response.end("{}"));
  expect(found.map(({ check, isOk }) => [check, isOk])).toEqual([["port", false]]);
});
