// An MCP server on standard input and output whose tools have texts that could break a page, or hide something in it.
import { createInterface } from "node:readline";

const long = `\u05E9\u05DC\u05D5\u05DD${"w".repeat(200)}-\u0645\u0631\u062D\u0628\u0627`;
const hostile = `\u202E\u05E9\u05DC\u05D5\u05DD\u200B${"w".repeat(200)}-\u0645\u0631\u062D\u0628\u0627`;
// A tool with hidden characters in the names and values of its schema is not used at all.
const tools = [
  {
    name: "w".repeat(60),
    description: `${hostile}\n${hostile}`,
    inputSchema: {
      type: "object",
      properties: { [long]: { type: "string", description: hostile, enum: [long] } },
      required: [long],
    },
  },
];
const results = {
  initialize: ({ protocolVersion }) => ({
    protocolVersion,
    capabilities: { tools: {} },
    serverInfo: { name: "hostile", version: "1" },
  }),
  "tools/list": () => ({ tools }),
  ping: () => ({}),
};

for await (const line of createInterface(process.stdin)) {
  const { id, method, params } = JSON.parse(line);
  const result = results[method]?.(params ?? {});
  if (id === undefined) continue;
  const answer = result === undefined ? { error: { code: -32601, message: "no such method" } } : { result };
  process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", id, ...answer })}\n`);
}
