// An agent made with the AI SDK. The gate decides each call of its tool where the tool runs.
import { env } from "node:process";
import { generateText, stepCountIs, tool } from "ai";
import { connectGate, govern } from "turnpike-agents/ai-sdk";
import { z } from "zod";
import { standInModel } from "./stand-in-model.js";

const gate = connectGate({ url: env.TURNPIKE_URL ?? "http://127.0.0.1:8787", token: env.TURNPIKE_TOKEN });

const read_file = tool({
  description: "Reads a file.",
  inputSchema: z.object({ path: z.string() }),
  execute: ({ path }) => `the text of ${path}`,
});
const { text } = await generateText({
  model: standInModel(),
  prompt: "What do my list and my diary say?",
  tools: govern({ read_file }, gate, { needs: { read_file: "read files/$path/" } }),
  stopWhen: stepCountIs(4),
});
console.log(text);
