// The tools of one suite as a governed MCP server, on standard input and output. They do nothing but say that they were
// called, in a file: whatever is in it has happened.
import { appendFileSync, readFileSync } from "node:fs";
import { Server } from "@modelcontextprotocol/server";
import { serveStdio } from "@modelcontextprotocol/server/stdio";

const [suite, file] = process.argv.slice(2);
const { suites } = JSON.parse(readFileSync(new URL("agentdojo-calls.json", import.meta.url), "utf8"));
const tools = suites[suite].tools.map(({ name, parameters }) => ({
  name,
  description: `The tool ${name} of the suite ${suite}.`,
  inputSchema: { type: "object", properties: mapped(parameters, (type) => (type === "any" ? {} : { type })) },
}));

function mapped(object, change) {
  return Object.fromEntries(Object.entries(object).map(([key, value]) => [key, change(value)]));
}

serveStdio(() => {
  const server = new Server({ name: suite, version: "1" }, { capabilities: { tools: {} } });
  server.setRequestHandler("tools/list", () => ({ tools }));
  server.setRequestHandler("tools/call", ({ params: { name, arguments: args = {} } }) => {
    appendFileSync(file, `${JSON.stringify({ tool: name, arguments: args })}\n`);
    return { content: [{ type: "text", text: "done" }] };
  });
  return server;
});
