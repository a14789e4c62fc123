import { execFile } from "node:child_process";
import { join } from "node:path";
import { createMCPClient } from "@ai-sdk/mcp";
import { Experimental_StdioMCPTransport as AiStdioTransport } from "@ai-sdk/mcp/mcp-stdio";
import { MultiServerMCPClient } from "@langchain/mcp-adapters";
import { Client as ClientOf2, StreamableHTTPClientTransport as HttpOf2 } from "@modelcontextprotocol/client";
import { StdioClientTransport as StdioOf2 } from "@modelcontextprotocol/client/stdio";
import { Client as ClientOf1 } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport as StdioOf1 } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport as HttpOf1 } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { MCPServerStdio, MCPServerStreamableHttp } from "@openai/agents";
import { turnpike } from "../../scripts/start-host.js";
import { installed, node22 } from "./world.js";

/** How a client reaches the host: over HTTP, or through `turnpike mcp` on standard input and output. */
const httpOf = ({ url, token }) => ({ url: `${url}/mcp`, headers: { authorization: `Bearer ${token}` } });
const stdioOf = ({ url, token }) => ({
  command: process.execPath,
  args: [turnpike, "mcp", "--url", url],
  env: { TURNPIKE_TOKEN: token, PATH: process.env["PATH"] },
});

const identity = { name: "interop", version: "1" };
const textOf = (parts) => parts.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("\n");
const outcomeOf = ({ content, isError = false }) => ({ isError, text: textOf(content) });

/** A client of the reference SDK, of either version. */
function reference(client, transport, { onProgress: hasProgress = true } = {}) {
  return {
    connect: () => client.connect(transport),
    list: async () => (await client.listTools()).tools.map(({ name }) => name),
    async call(name, args, { signal, onProgress } = {}) {
      const options = { signal, ...(hasProgress && onProgress && { onprogress: onProgress }) };
      return outcomeOf(await client.call(name, args, options));
    },
    close: () => client.close(),
  };
}

/** Version 1 takes a schema for results between the parameters and the options. */
function clientOf1() {
  const client = new ClientOf1(identity);
  client.call = (name, args, options) => client.callTool({ name, arguments: args }, undefined, options);
  return client;
}

function clientOf2(mode) {
  const client = new ClientOf2(identity, { versionNegotiation: { mode } });
  client.call = (name, args, options) => client.callTool({ name, arguments: args }, options);
  return client;
}

/** The AI SDK asks for no progress, and over standard input it tells no one that it gave a call up. */
function aiSdk(transport) {
  let client;
  let tools;
  return {
    connect: async () => void (client = await createMCPClient({ transport })),
    async list() {
      tools = await client.tools();
      return Object.keys(tools);
    },
    async call(name, args, { signal } = {}) {
      tools ??= await client.tools();
      const result = await tools[name].execute(args, { abortSignal: signal, toolCallId: "1", messages: [] });
      return outcomeOf(result);
    },
    close: () => client.close(),
  };
}

function openAiAgents(server) {
  return {
    connect: () => server.connect(),
    list: async () => (await server.listTools()).map(({ name }) => name),
    call: async (name, args, { signal } = {}) => outcomeOf(await server.callToolResult(name, args, null, { signal })),
    close: () => server.close(),
  };
}

/** LangChain throws what `isError` says. */
function langChain(connection) {
  const listeners = new Set();
  const client = new MultiServerMCPClient({
    mcpServers: { turnpike: connection },
    onProgress: (progress) => void listeners.forEach((listen) => listen(progress)),
  });
  let tools;
  return {
    connect: async () => void (tools = await client.getTools()),
    list: async () => tools.map(({ name }) => name),
    async call(name, args, { signal, onProgress } = {}) {
      if (onProgress !== undefined) listeners.add(onProgress);
      const tool = tools.find((one) => one.name === name);
      try {
        const output = await tool.invoke(args, { signal });
        return { isError: false, text: typeof output === "string" ? output : JSON.stringify(output) };
      } catch (error) {
        if (signal?.aborted) throw error;
        return { isError: true, text: error.message };
      }
    },
    close: () => client.close(),
  };
}

/** The Inspector's command, once a request; hanging up is all that it can do about a call. */
function inspector(target) {
  const program = join(installed, "@modelcontextprotocol/inspector/clients/launcher/build/index.js");
  const run = (args, signal) =>
    new Promise((resolve, reject) => {
      execFile(node22, [program, "--cli", ...target, ...args], { signal }, (error, stdout, stderr) => {
        if (signal?.aborted) return reject(signal.reason);
        try {
          resolve(JSON.parse(stdout));
        } catch {
          reject(new Error(`${error?.message}\n${stdout}\n${stderr}`));
        }
      });
    });
  return {
    connect: async () => {},
    list: async () => (await run(["--method", "tools/list"])).tools.map(({ name }) => name),
    async call(name, args, { signal } = {}) {
      const pairs = Object.entries(args).flatMap(([key, value]) => ["--tool-arg", `${key}=${value}`]);
      return outcomeOf(await run(["--method", "tools/call", "--tool-name", name, ...pairs], signal));
    },
    close: async () => {},
  };
}

/** Each client on each of its ways in, and what it cannot do itself. */
export const clients = [
  {
    name: "@modelcontextprotocol/sdk 1.x",
    hasProgress: true,
    http: (world) => reference(clientOf1(), new HttpOf1(new URL(httpOf(world).url), { requestInit: httpOf(world) })),
    stdio: (world) => reference(clientOf1(), new StdioOf1(stdioOf(world))),
  },
  ...["legacy", "auto"].map((mode) => ({
    name: `@modelcontextprotocol/client 2.x (${mode === "legacy" ? "2025-11-25" : "2026-07-28"})`,
    hasProgress: true,
    http: (world) =>
      reference(clientOf2(mode), new HttpOf2(new URL(httpOf(world).url), { requestInit: httpOf(world) })),
    stdio: (world) => reference(clientOf2(mode), new StdioOf2(stdioOf(world))),
  })),
  {
    name: "@ai-sdk/mcp",
    hasProgress: false,
    cannotCancelOver: "stdio",
    http: (world) => aiSdk({ type: "http", ...httpOf(world) }),
    stdio: (world) => aiSdk(new AiStdioTransport(stdioOf(world))),
  },
  {
    name: "@openai/agents",
    hasProgress: false,
    http: (world) =>
      openAiAgents(
        new MCPServerStreamableHttp({ url: httpOf(world).url, requestInit: { headers: httpOf(world).headers } }),
      ),
    stdio: (world) => openAiAgents(new MCPServerStdio(stdioOf(world))),
  },
  {
    name: "@langchain/mcp-adapters",
    hasProgress: true,
    http: (world) => langChain({ transport: "http", ...httpOf(world) }),
    stdio: (world) => langChain({ transport: "stdio", ...stdioOf(world) }),
  },
  {
    name: "Inspector",
    hasProgress: false,
    http: (world) =>
      inspector([httpOf(world).url, "--transport", "http", "--header", `Authorization: Bearer ${world.token}`]),
    stdio(world) {
      const { command, args } = stdioOf(world);
      return inspector(["-e", `TURNPIKE_TOKEN=${world.token}`, command, ...args]);
    },
  },
];
