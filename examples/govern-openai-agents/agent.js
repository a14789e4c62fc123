// An agent made with the OpenAI Agents SDK. The gate decides each call of its tool where the tool runs.
import { Agent, run, setTracingDisabled, tool } from "@openai/agents";
import { connectGate, govern } from "turnpike-agents/openai-agents";
import { z } from "zod";
import { standInModel } from "./stand-in-model.js";

const { TURNPIKE_URL: url = "http://127.0.0.1:8787", TURNPIKE_TOKEN: token } = process.env;
const gate = connectGate({ url, token });

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
