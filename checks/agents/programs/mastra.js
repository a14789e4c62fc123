import { Agent } from "@mastra/core/agent";
import { Mastra } from "@mastra/core/mastra";
import { InMemoryStore } from "@mastra/core/storage";
import { createTool } from "@mastra/core/tools";
import { MockLanguageModelV3 } from "ai/test";
import { govern } from "turnpike-agents/mastra";
import { z } from "zod";

const storage = new InMemoryStore();

export async function play({ gate, sendMail, signal, calls, options, suspended }) {
  let told = [];
  const usage = {
    inputTokens: { total: 0, noCache: 0, cacheRead: 0, cacheWrite: 0 },
    outputTokens: { total: 0, text: 0, reasoning: 0 },
  };
  const answerTo = (prompt) => {
    const results = prompt
      .flatMap(({ role, content }) => (role === "tool" ? content : []))
      .filter(({ type }) => type === "tool-result");
    told = results.map(({ output }) =>
      typeof output.value === "string" ? output.value : JSON.stringify(output.value),
    );
    if (results.length > 0) return { content: [{ type: "text", text: "done" }], unified: "stop" };
    const content = calls.map(({ id, args }) => ({
      type: "tool-call",
      toolCallId: id,
      toolName: "send_mail",
      input: JSON.stringify(args),
    }));
    return { content, unified: "tool-calls" };
  };
  const model = new MockLanguageModelV3({
    async doGenerate({ prompt }) {
      const { content, unified } = answerTo(prompt);
      return { content, finishReason: { unified, raw: undefined }, usage, warnings: [] };
    },
  });
  const agent = new Agent({
    id: "mailer",
    name: "mailer",
    instructions: "Write mails.",
    model,
    tools: govern(
      {
        send_mail: createTool({
          id: "send_mail",
          description: "Sends a mail.",
          inputSchema: z.object({ to: z.string(), text: z.string() }),
          execute: (input, context) => sendMail(input, context?.abortSignal),
        }),
      },
      gate,
      options,
    ),
  });
  // What has stopped for an approval goes on from where it was stored.
  const mastra = new Mastra({ agents: { mailer: agent }, storage, logger: false });
  const limits = { maxSteps: 4, abortSignal: signal };
  const result =
    suspended === undefined
      ? await mastra.getAgent("mailer").generate("Write to them.", limits)
      : await mastra.getAgent("mailer").approveToolCallGenerate({ ...suspended, ...limits });
  if (result.finishReason !== "suspended") return { told, text: result.text };
  const { runId, suspendPayload } = result;
  return { asked: 1, resume: { suspended: { runId, toolCallId: suspendPayload.toolCallId } } };
}
