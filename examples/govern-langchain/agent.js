// An agent made with LangChain. The gate decides each call of its tool where the tool runs.
import { createAgent, tool } from "langchain";
import { connectGate, govern } from "turnpike-agents/langchain";
import { z } from "zod";
import { standInModel } from "./stand-in-model.js";

const { TURNPIKE_URL: url = "http://127.0.0.1:8787", TURNPIKE_TOKEN: token } = process.env;
const gate = connectGate({ url, token });

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
