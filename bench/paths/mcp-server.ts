// An MCP server on standard input and output, whose one tool answers what `files.read` would.
import { createInterface } from "node:readline";

interface JsonRpc {
  readonly id?: number | string;
  readonly method: string;
  readonly params?: { readonly protocolVersion?: string };
}

const inputSchema = { type: "object", properties: { path: { type: "string" } }, required: ["path"] };
const read = { name: "read", description: "Reads a note.", inputSchema, annotations: { readOnlyHint: true } };
const answers: Readonly<Record<string, (params: JsonRpc["params"]) => object>> = {
  initialize: (params) => ({
    protocolVersion: params?.protocolVersion,
    capabilities: { tools: {} },
    serverInfo: { name: "notes", version: "1" },
  }),
  "tools/list": () => ({ tools: [read] }),
  "tools/call": () => ({ content: [{ type: "text", text: "- milk\n- bread\n" }] }),
};

createInterface({ input: process.stdin }).on("line", (line) => {
  const { id, method, params } = JSON.parse(line) as JsonRpc;
  const answer = answers[method];
  if (id === undefined || answer === undefined) return;
  process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", id, result: answer(params) })}\n`);
});
