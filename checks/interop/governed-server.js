// The governed server of these tests, on standard input and output: the tools, resources and prompts that the conformance
// suite asks for by name, and a slow tool that says when it was cancelled. What it returns is its own.
import { appendFileSync, readFileSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import { ResourceNotFoundError, Server } from "@modelcontextprotocol/server";
import { serveStdio } from "@modelcontextprotocol/server/stdio";

/** A file that gets a line for everything worth telling. */
const [diary] = process.argv.slice(2);

// One red pixel, and no sound at all.
const png = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==";
const wav = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAIA+AAACABAAZGF0YQAAAAA=";

const text = (words) => ({ type: "text", text: words });
const image = { type: "image", data: png, mimeType: "image/png" };
const embedded = (uri, mimeType, words) => ({ type: "resource", resource: { uri, mimeType, text: words } });

const address = {
  $anchor: "address",
  type: "object",
  properties: { street: { type: "string" }, city: { type: "string" } },
};

/** Every keyword in it has to arrive. */
const schemaOf2020 = {
  $schema: "https://json-schema.org/draft/2020-12/schema",
  type: "object",
  $defs: { address },
  properties: {
    name: { type: "string" },
    address: { $ref: "#/$defs/address" },
    contactMethod: { type: "string", enum: ["phone", "email"] },
    phone: { type: "string" },
    email: { type: "string" },
  },
  allOf: [{ anyOf: [{ required: ["phone"] }, { required: ["email"] }] }],
  if: { properties: { contactMethod: { const: "phone" } }, required: ["contactMethod"] },
  // oxlint-disable-next-line unicorn/no-thenable -- a keyword of JSON Schema
  then: { required: ["phone"] },
  else: { required: ["email"] },
  additionalProperties: false,
};

const nothing = { type: "object", properties: {} };

/** Name to what the tool does. */
const tools = {
  test_simple_text: { run: () => ({ content: [text("Plain words.")] }) },
  test_image_content: { run: () => ({ content: [image] }) },
  test_audio_content: { run: () => ({ content: [{ type: "audio", data: wav, mimeType: "audio/wav" }] }) },
  test_embedded_resource: {
    run: () => ({ content: [embedded("test://embedded-resource", "text/plain", "What was embedded.")] }),
  },
  test_multiple_content_types: {
    run: () => ({
      content: [text("Several kinds:"), image, embedded("test://mixed-content-resource", "application/json", "{}")],
    }),
  },
  test_error_handling: { run: () => ({ isError: true, content: [text("It went wrong on purpose.")] }) },
  test_tool_with_progress: {
    inputSchema: { type: "object", properties: { mark: { type: "string" } } },
    async run({ mark }, report) {
      for (const progress of [0, 50, 100]) {
        await report(progress);
        await delay(50);
      }
      // Clients drop progress that they read together with the result. A test that gives a mark says when it has seen it.
      if (mark !== undefined) await noted(`${mark} seen`);
      return { content: [text("Done.")] };
    },
  },
  json_schema_2020_12_tool: { inputSchema: schemaOf2020, run: () => ({ content: [text("It fits.")] }) },
  echo: {
    inputSchema: { type: "object", properties: { words: { type: "string" } }, required: ["words"] },
    outputSchema: { type: "object", properties: { words: { type: "string" } }, required: ["words"] },
    run: ({ words }) => ({ content: [text(words)], structuredContent: { words } }),
  },
  wait: {
    inputSchema: { type: "object", properties: { mark: { type: "string" } }, required: ["mark"] },
    async run({ mark }, report, signal) {
      note(`${mark} begun`);
      await report(1);
      try {
        await delay(60_000, undefined, { signal });
      } catch {
        note(`${mark} cancelled`);
      }
      return { content: [text("Waited.")] };
    },
  },
  /** Granted for one place. */
  restricted: {
    inputSchema: { type: "object", properties: { place: { type: "string" } }, required: ["place"] },
    run: ({ place }) => ({ content: [text(`It happened ${place}.`)] }),
  },
  /** Nothing of it is granted. */
  forbidden: { run: () => ({ content: [text("No one reads this.")] }) },
};

const resources = {
  "test://static-text": { mimeType: "text/plain", text: "What is written there." },
  "test://static-binary": { mimeType: "image/png", blob: png },
};

const prompts = {
  test_simple_prompt: { messages: () => [text("Say something.")] },
  test_prompt_with_arguments: {
    arguments: [
      { name: "arg1", required: true },
      { name: "arg2", required: true },
    ],
    messages: ({ arg1, arg2 }) => [text(`Between ${arg1} and ${arg2}.`)],
  },
  test_prompt_with_embedded_resource: {
    arguments: [{ name: "resourceUri", required: true }],
    messages: ({ resourceUri }) => [embedded(resourceUri, "text/plain", "Read this."), text("What does it say?")],
  },
  test_prompt_with_image: { messages: () => [image, text("What does it show?")] },
};

function note(line) {
  if (diary !== undefined) appendFileSync(diary, `${line}\n`);
}

async function noted(line) {
  while (!readFileSync(diary, "utf8").includes(`${line}\n`)) await delay(10);
}

function read(uri) {
  const [, id] = /^test:\/\/template\/(\w+)\/data$/.exec(uri) ?? [];
  if (id !== undefined) return { mimeType: "application/json", text: JSON.stringify({ id }) };
  if (!Object.hasOwn(resources, uri)) throw new ResourceNotFoundError(uri);
  return resources[uri];
}

serveStdio(() => {
  const server = new Server(
    { name: "governed", version: "1" },
    { capabilities: { tools: {}, resources: {}, prompts: {} } },
  );
  server.setRequestHandler("tools/list", () => ({
    tools: Object.entries(tools).map(([name, { inputSchema = nothing, outputSchema }]) => ({
      name,
      description: `The tool ${name}.`,
      inputSchema,
      ...(outputSchema && { outputSchema }),
    })),
  }));
  server.setRequestHandler("tools/call", ({ params }, { mcpReq }) => {
    const progressToken = params["_meta"]?.progressToken ?? mcpReq["_meta"]?.progressToken;
    const report = async (progress) => {
      if (progressToken === undefined) return;
      await mcpReq.notify({ method: "notifications/progress", params: { progressToken, progress, total: 100 } });
    };
    return tools[params.name].run(params.arguments ?? {}, report, mcpReq.signal);
  });
  server.setRequestHandler("resources/list", () => ({
    resources: Object.entries(resources).map(([uri, { mimeType }]) => ({ uri, name: uri, mimeType })),
  }));
  server.setRequestHandler("resources/templates/list", () => ({
    resourceTemplates: [{ uriTemplate: "test://template/{id}/data", name: "data", mimeType: "application/json" }],
  }));
  server.setRequestHandler("resources/read", ({ params: { uri } }) => ({ contents: [{ uri, ...read(uri) }] }));
  server.setRequestHandler("prompts/list", () => ({
    prompts: Object.entries(prompts).map(([name, { arguments: taken = [] }]) => ({
      name,
      description: `The prompt ${name}.`,
      arguments: taken,
    })),
  }));
  server.setRequestHandler("prompts/get", ({ params }) => ({
    messages: prompts[params.name].messages(params.arguments ?? {}).map((content) => ({ role: "user", content })),
  }));
  return server;
});
