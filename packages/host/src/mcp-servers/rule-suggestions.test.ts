import type { JsonObject, ToolDescriptor } from "turnpike/contracts";
import { expect, test } from "vitest";
import { McpConfigSchema } from "./mcp-config.ts";
import { suggestRules } from "./rule-suggestions.ts";

const text = { type: "string" };

function toolOf(properties: JsonObject, required: string[] = [], more: JsonObject = {}): ToolDescriptor {
  const requiredCapability = { action: "call", resource: { namespace: "mcp.test", path: ["do.it"] } };
  const named = { name: "mcp.test.do.it", description: "Does it.", namespace: "mcp.test", source: "mcp.test" };
  return {
    ...named,
    readWrite: "write",
    inputSchema: { type: "object", properties, required, ...more },
    requiredCapability,
  };
}

for (const row of [
  {
    name: "a mail: all its receivers are under one place",
    tool: toolOf(
      {
        to: { type: "array", items: text },
        cc: { anyOf: [{ type: "array", items: text }, { type: "null" }] },
        bcc: text,
        subject: text,
        body: text,
      },
      ["to", "subject"],
    ),
    rule: {
      paths: [
        ["to", "$to"],
        ["to", "$cc?"],
        ["to", "$bcc?"],
      ],
    },
  },
  {
    name: "a file that is moved: where it comes from, and where it goes",
    tool: toolOf({ source: text, destination: text }, ["source", "destination"]),
    rule: {
      paths: [
        ["source", "$source"],
        ["destination", "$destination"],
      ],
    },
  },
  {
    name: "a payment: its recipient, not its amount",
    tool: toolOf({ recipient: text, amount: { type: "number" }, date: { type: "string", format: "date" } }, [
      "recipient",
      "amount",
    ]),
    rule: { path: ["to", "$recipient"] },
  },
  {
    name: "a calendar entry: who is invited, nested or not",
    tool: toolOf(
      {
        event: {
          properties: {
            attendees: { type: "array", items: { properties: { email: text }, required: ["email"] } },
            title: text,
          },
          required: ["attendees"],
        },
      },
      ["event"],
    ),
    rule: { path: ["with", "$event.attendees.email"] },
  },
  {
    name: "a repository with its owner",
    tool: toolOf({ owner: text, repo: text, title: text }, ["owner", "repo"]),
    rule: { path: ["repos", "$owner", "$repo"] },
  },
  {
    name: "a repository with its owner, and a branch",
    tool: toolOf({ owner: text, repo: text, branch: text }, ["owner", "repo"]),
    rule: {
      paths: [
        ["repos", "$owner", "$repo"],
        ["branch", "$branch?"],
      ],
    },
  },
  {
    name: "names in capitals, with dashes and with suffixes",
    tool: toolOf({ channelName: text, "account-number": text, recipientIBAN: text }, ["channelName"]),
    rule: {
      paths: [
        ["channel_name", "$channelName"],
        ["account_number", "$account-number?"],
        ["to", "$recipientIBAN?"],
      ],
    },
  },
  { name: "the number of something", tool: toolOf({ id: { type: "integer" } }, ["id"]), rule: { path: ["id", "$id"] } },
  {
    name: "a format that says so",
    tool: toolOf({ where: { type: "string", format: "uri" } }, ["where"]),
    rule: { path: ["where", "$where/"] },
  },
  {
    name: "a description that says so",
    tool: toolOf({ whom: { type: ["string", "null"], description: "The e-mail address of the reader." } }),
    rule: { path: ["whom", "$whom?"] },
  },
  {
    name: "the address of what a server fetches, by its name, its format or its description",
    tool: toolOf(
      { startUrl: text, feed: text, where: { type: "string", description: "The URL to fetch." }, max_length: text },
      ["startUrl"],
    ),
    rule: {
      paths: [
        ["start_url", "$startUrl/"],
        ["feed", "$feed?/"],
        ["where", "$where?"],
      ],
    },
  },
  {
    name: "names with dots and the like in them",
    tool: toolOf({ "user.id": text, "path?": text }),
    rule: {
      paths: [
        ["user_id", "$user%2Eid?"],
        ["path", "$path%3F?/"],
      ],
    },
  },
  {
    name: "nothing where only the words are free",
    tool: toolOf({ subject: text, body: text, query: text, file_content: text, first_name: text }),
    rule: undefined,
  },
  {
    name: "nothing for what is one of a few values, a boolean, or an object",
    tool: toolOf({
      channel: { enum: ["a", "b"] },
      user: { const: "a" },
      to: { type: "boolean" },
      file: { type: "object" },
    }),
    rule: undefined,
  },
  {
    name: "nothing for a name that is too long to be written",
    tool: toolOf({ [`${"x".repeat(256)}_id`]: text }),
    rule: undefined,
  },
] satisfies { name: string; tool: ToolDescriptor; rule: object | undefined }[]) {
  test(`suggests ${row.name}`, () => {
    const { rules, without } = suggestRules([row.tool]);
    expect(rules["do.it"]).toEqual(row.rule);
    expect(without).toEqual(row.rule === undefined ? ["do.it"] : []);
    // Whatever is suggested can be put into the configuration as it is.
    expect(McpConfigSchema.safeParse({ servers: { test: { command: ["x"], rules } } }).success).toBe(true);
  });
}

test("no more paths are suggested than a rule has", () => {
  const many = Object.fromEntries(Array.from({ length: 30 }, (_one, place) => [`part${place}_id`, text]));
  expect(suggestRules([toolOf(many)]).rules["do.it"]?.paths).toHaveLength(16);
});
