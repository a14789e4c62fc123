import { once } from "node:events";
import { createServer } from "node:http";
import { expect, onTestFinished, test } from "vitest";
import { eventually } from "../../test/host-calls.ts";
import { gist, mcpWorld } from "../../test/mcp/servers.ts";

const results: Readonly<Record<string, object>> = {
  initialize: {
    protocolVersion: "2025-11-25",
    capabilities: { tools: {} },
    serverInfo: { name: "asking", version: "1" },
  },
  "tools/list": { tools: [{ name: "ask", inputSchema: { type: "object" } }] },
};

/** A server that asks 200 things during a call, and takes none of the answers. */
async function startAskingServer(): Promise<{ url: string; held(): number }> {
  let held = 0;
  const server = createServer(async (incoming, outgoing) => {
    const chunks: Buffer[] = [];
    for await (const chunk of incoming) chunks.push(chunk as Buffer);
    const { id, method = "" } = JSON.parse(Buffer.concat(chunks).toString() || "{}") as {
      id?: number;
      method?: string;
    };
    const say = (message: object): string => `data: ${JSON.stringify({ jsonrpc: "2.0", ...message })}\n\n`;
    if (id === undefined) return outgoing.writeHead(202).end();
    if (method === "") return void (held += 1);
    outgoing.writeHead(200, { "content-type": "text/event-stream" });
    const result = results[method];
    if (result !== undefined) return outgoing.end(say({ id, result }));
    if (method !== "tools/call") return outgoing.end(say({ id, error: { code: -32_601, message: "unknown" } }));
    for (let place = 0; place < 200; place += 1) outgoing.write(say({ id: `asked-${place}`, method: "roots/list" }));
    const answer = say({ id, result: { content: [{ type: "text", text: "asked" }] } });
    await eventually(() => expect(held).toBeGreaterThanOrEqual(16));
    // Time for more of them to come.
    return setTimeout(() => outgoing.end(answer), 500);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as { port: number };
  return { url: `http://127.0.0.1:${port}/mcp`, held: () => held };
}

test("a server that asks on and takes no answers holds 16 connections, and its call ends", async () => {
  const { url, held } = await startAskingServer();
  const { call } = mcpWorld({ test: { url } });
  expect(gist(await call("mcp.test.ask"))).toMatchObject({ content: [{ text: "asked" }] });
  expect(held()).toBe(16);
});
