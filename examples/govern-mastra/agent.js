// An agent made with Mastra. The gate decides each call of its tool where the tool runs.
import { env } from "node:process";
import { Agent } from "@mastra/core/agent";
import { createTool } from "@mastra/core/tools";
import { connectGate, govern } from "turnpike-agents/mastra";
import { z } from "zod";
import { standInModel } from "./stand-in-model.js";

const gate = connectGate({ url: env.TURNPIKE_URL ?? "http://127.0.0.1:8787", token: env.TURNPIKE_TOKEN });

const read_file = createTool({
  id: "read_file",
  description: "Reads a file.",
  inputSchema: z.object({ path: z.string() }),
  execute: async ({ path }) => `the text of ${path}`,
});
const agent = new Agent({
  id: "reader",
  name: "reader",
  instructions: "Read what you are asked about.",
  model: standInModel(),
  tools: govern({ read_file }, gate, { needs: { read_file: "read files/$path/" } }),
});
console.log((await agent.generate("What do my list and my diary say?")).text);
