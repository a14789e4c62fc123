// An MCP server on standard input and output that plays an office: it says what it would mail, pay and invite, and does none
// of it. It needs no package and no network. Run: node docs/examples/office-server.js
import { createInterface } from "node:readline";

const text = { type: "string" };
const texts = { type: "array", items: text };

/** Name to what it takes and says. */
const tools = {
  send_mail: {
    description: "Sends a mail.",
    properties: { to: texts, cc: texts, bcc: texts, subject: text, body: text },
    required: ["to", "subject", "body"],
    run: ({ to, cc = [], bcc = [] }) => `mailed ${[...to, ...cc, ...bcc].join(", ")}`,
  },
  pay: {
    description: "Pays a recipient.",
    properties: { recipient: { ...text, description: "An IBAN." }, amount: { type: "number" }, reference: text },
    required: ["recipient", "amount"],
    run: ({ recipient, amount }) => `paid ${amount} to ${recipient}`,
  },
  create_event: {
    description: "Puts an event into the calendar.",
    properties: {
      event: {
        type: "object",
        properties: { title: text, start: { ...text, format: "date-time" }, participants: texts },
        required: ["title", "start"],
      },
    },
    required: ["event"],
    run: ({ event: { title, participants = [] } }) => [title, ...participants].join(", "),
  },
  search_mail: {
    description: "Searches the mails.",
    properties: { words: text },
    required: ["words"],
    run: ({ words }) => `nothing about ${words}`,
  },
};

const methods = {
  initialize: ({ protocolVersion }) => ({
    protocolVersion,
    capabilities: { tools: {} },
    serverInfo: { name: "office", version: "1.0.0" },
  }),
  ping: () => ({}),
  "tools/list": () => ({
    tools: Object.entries(tools).map(([name, { description, properties, required }]) => ({
      name,
      description,
      inputSchema: { type: "object", properties, required },
    })),
  }),
  "tools/call": ({ name, arguments: args }) => ({ content: [{ type: "text", text: tools[name].run(args) }] }),
};

for await (const line of createInterface({ input: process.stdin })) {
  const { id, method, params = {} } = JSON.parse(line);
  if (id === undefined) continue;
  const known = methods[method];
  const error = { code: -32_601, message: "There is no such method." };
  const answer = known === undefined ? { error } : { result: known(params) };
  process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", id, ...answer })}\n`);
}
