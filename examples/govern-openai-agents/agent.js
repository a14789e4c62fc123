// An agent made with the OpenAI Agents SDK. The gate decides each call of its tool where the tool runs.
import { env } from "node:process";
import { Agent, run, setTracingDisabled, tool } from "@openai/agents";
import { connectGate, govern } from "turnpike-agents/openai-agents";
import { z } from "zod";
import { standInModel } from "./stand-in-model.js";

const gate = connectGate({ url: env.TURNPIKE_URL ?? "http://127.0.0.1:8787", token: env.TURNPIKE_TOKEN });

setTracingDisabled(true);
const readFile = tool({
  name: "read_file",
  description: "Reads a file.",
  parameters: z.object({ path: z.string() }),
  execute: ({ path }) => `the text of ${path}`,
});
const agent = new Agent({
  name: "reader",
  model: standInModel(),
  tools: govern([readFile], gate, { needs: { read_file: "read files/$path/" } }),
});
console.log((await run(agent, "What do my list and my diary say?")).finalOutput);
