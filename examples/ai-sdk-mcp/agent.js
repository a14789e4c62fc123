// An agent made with the AI SDK. Its tools are those that the gate offers it through MCP, and the gate decides each call.
import { createMCPClient } from "@ai-sdk/mcp";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { generateText, stepCountIs } from "ai";
import { standInModel } from "./stand-in-model.js";

const { TURNPIKE_URL: url = "http://127.0.0.1:8787", TURNPIKE_TOKEN: token } = process.env;
const { MODEL_URL: baseURL, MODEL_NAME: name = "", MODEL_KEY: apiKey = "" } = process.env;

/** Any model that speaks the protocol of OpenAI, or one that needs no key. */
const model = baseURL ? createOpenAICompatible({ name: "model", baseURL, apiKey })(name) : standInModel();

async function answer(prompt) {
  const headers = { authorization: `Bearer ${token}` };
  const client = await createMCPClient({ transport: { type: "http", url: `${url}/mcp`, headers } });
  try {
    const tools = await client.tools();
    console.log("offered:", Object.keys(tools).join(" "));
    const { text } = await generateText({ model, prompt, tools, stopWhen: stepCountIs(8), onStepFinish: show });
    return text;
  } finally {
    await client.close();
  }
}

/** A denial is a result of its call: the model reads why, and continues without it. */
function show({ toolResults }) {
  for (const { toolName, input, output } of toolResults) {
    const outcome = output.isError ? output.content.map(({ text }) => text).join("\n") : "done";
    console.log("called:", toolName, JSON.stringify(input), outcome);
  }
}

try {
  if (!token) throw new Error("Set TURNPIKE_TOKEN to the token of a credential, such as the assistant's of the demo.");
  console.log("answer:", await answer("Which notes do I have, and what does my diary say?"));
} catch (error) {
  console.error(error.message);
  process.exitCode = 1;
}
