// What `govern` returns is what each framework takes, and has the types that it was given. Nothing here is run.
import { Agent as MastraAgent } from "@mastra/core/agent";
import { createTool } from "@mastra/core/tools";
import { Agent, tool as openAiTool } from "@openai/agents";
import { generateText, tool, type LanguageModel } from "ai";
import * as five from "ai5";
import * as seven from "ai7";
import { createAgent, tool as langChainTool } from "langchain";
import type { Gate } from "turnpike/client";
import * as aiSdk from "turnpike-agents/ai-sdk";
import * as langChain from "turnpike-agents/langchain";
import * as mastra from "turnpike-agents/mastra";
import * as openAi from "turnpike-agents/openai-agents";
import { z } from "zod";

declare const gate: Gate;
const inputSchema = z.object({ to: z.string() });
const execute = ({ to }: { to: string }): string => `sent to ${to}`;
const needs = { send_mail: "send mail/$to" };

const tools = aiSdk.govern({ send_mail: tool({ inputSchema, execute }) }, gate, { needs });
const result = await generateText({ model: {} as LanguageModel, prompt: "", tools });
export const to: string | undefined = result.staticToolCalls[0]?.input.to;
// @ts-expect-error -- a tool that is not there has no needs
aiSdk.govern({ send_mail: tool({ inputSchema, execute }) }, gate, { needs: { send_mial: "send mail/$to" } });

await five.generateText({
  model: {} as five.LanguageModel,
  prompt: "",
  tools: aiSdk.govern({ send_mail: five.tool({ inputSchema, execute }) }, gate, { needs }),
});
await seven.generateText({
  model: {} as seven.LanguageModel,
  prompt: "",
  tools: aiSdk.govern({ send_mail: seven.tool({ inputSchema, execute }) }, gate, { needs }),
  toolApproval: aiSdk.approvals(gate),
});

const send = openAiTool({ name: "send_mail", description: "Sends.", parameters: inputSchema, execute });
export const agent = new Agent({ name: "mailer", tools: openAi.govern([send], gate, { needs }) });

const sending = langChainTool(execute, { name: "send_mail", description: "Sends.", schema: inputSchema });
export const agents = [
  createAgent({ model: "x", tools: langChain.govern([sending], gate, { needs }) }),
  createAgent({ model: "x", tools: [sending], middleware: [langChain.governed(gate, { needs, interrupt: true })] }),
];

const governed = mastra.govern(
  {
    send_mail: createTool({
      id: "send_mail",
      description: "Sends.",
      inputSchema,
      execute: async (input) => execute(input),
    }),
  },
  gate,
  { needs },
);
export const mailer = new MastraAgent({ id: "m", name: "m", instructions: "", model: "x/y", tools: governed });
