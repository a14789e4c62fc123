// An agent made with LangChain. The gate decides each call of its tool where the tool runs.
import { env } from "node:process";
import { createAgent, tool } from "langchain";
import { connectGate, govern } from "turnpike-agents/langchain";
import { z } from "zod";
import { standInModel } from "./stand-in-model.js";

const gate = connectGate({ url: env.TURNPIKE_URL ?? "http://127.0.0.1:8787", token: env.TURNPIKE_TOKEN });

const readFile = tool(({ path }) => `the text of ${path}`, {
  name: "read_file",
  description: "Reads a file.",
  schema: z.object({ path: z.string() }),
});
const agent = createAgent({
  model: standInModel(),
  tools: govern([readFile], gate, { needs: { read_file: "read files/$path/" } }),
});
const { messages } = await agent.invoke({ messages: [{ role: "user", content: "What do my list and my diary say?" }] });
console.log(messages.at(-1).content);
