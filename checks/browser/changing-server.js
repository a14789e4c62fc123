// An MCP server whose one tool is what a file says: it tells its client when the file is another one.
import { readFileSync, watchFile } from "node:fs";
import { createInterface } from "node:readline";

const [, , file = ""] = process.argv;
const say = (message) => void process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);

watchFile(file, { interval: 50 }, () => say({ method: "notifications/tools/list_changed" }));

const methods = {
  initialize: ({ protocolVersion }) => ({
    protocolVersion,
    capabilities: { tools: { listChanged: true } },
    serverInfo: { name: "changing", version: "1.0.0" },
  }),
  ping: () => ({}),
  "tools/list": () => ({ tools: [JSON.parse(readFileSync(file, "utf8"))] }),
};

for await (const line of createInterface({ input: process.stdin })) {
  const { id, method, params = {} } = JSON.parse(line);
  if (id === undefined) continue;
  const answer = methods[method];
  say({
    id,
    ...(answer ? { result: answer(params) } : { error: { code: -32_601, message: "There is no such method." } }),
  });
}
// The client is gone, and no one is told of the file any more.
process.exit(0);
