// An MCP server that needs nothing but Node.js, so that any user of the system can run it as `node -e <this text>`.
// Its one tool tells what the server can read: the user and groups it runs as, its folder, and the beginning of each file.
const { readFileSync } = require("node:fs");
const { createInterface } = require("node:readline");

const inputSchema = { type: "object", properties: { paths: { type: "array", items: { type: "string" } } } };

function look(path) {
  try {
    return readFileSync(path, "latin1").slice(0, 100);
  } catch (error) {
    return error.code;
  }
}

const answers = {
  initialize: ({ protocolVersion }) => ({
    protocolVersion,
    capabilities: { tools: {} },
    serverInfo: { name: "reader", version: "1" },
  }),
  "tools/list": () => ({ tools: [{ name: "look", description: "Looks around.", inputSchema }] }),
  "tools/call": ({ arguments: { paths } }) => {
    const user = { uid: process.getuid(), gid: process.getgid(), groups: process.getgroups() };
    return {
      content: [{ type: "text", text: JSON.stringify({ ...user, folder: process.cwd(), files: paths.map(look) }) }],
    };
  },
};

createInterface({ input: process.stdin }).on("line", (line) => {
  const { id, method, params } = JSON.parse(line);
  if (id === undefined || answers[method] === undefined) return;
  process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", id, result: answers[method](params) })}\n`);
});
