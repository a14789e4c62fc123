import { once } from "node:events";
import { createServer, request, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { createCollectorAgent } from "./collector-agent.ts";

async function openCollector(): Promise<Server> {
  const server = createServer((_incoming, outgoing) => {
    // It says a byte now and then, and never ends.
    outgoing.writeHead(200);
    const timer = setInterval(() => outgoing.write("."), 10);
    outgoing.on("close", () => clearInterval(timer));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return server;
}

test("closing ends a request that a collector keeps open, and there is no other", async () => {
  const server = await openCollector();
  const { port } = server.address() as AddressInfo;
  const collector = createCollectorAgent();
  const agent = await collector.open("http:");
  const send = () => request({ port, host: "127.0.0.1", method: "POST", agent });

  const sent = send();
  sent.on("error", () => {});
  sent.end();
  const [answer] = (await once(sent, "response")) as [NodeJS.ReadableStream];
  const failed = once(answer, "error");
  answer.resume();
  collector.close();
  await failed;
  expect(send).toThrow("The host has stopped.");
});

test("closing ends a request before its answer too", async () => {
  const server = createServer();
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const collector = createCollectorAgent();
  const { port } = server.address() as AddressInfo;
  const sent = request({ port, host: "127.0.0.1", method: "POST", agent: await collector.open("http:") });
  const failed = once(sent, "error");
  sent.end();
  await once(server, "request");
  collector.close();
  const [error] = (await failed) as [Error & { code?: string }];
  // After a code such as ECONNRESET the exporter would try again.
  expect([error.message, error.code]).toEqual(["The host has stopped.", undefined]);
});
