import { approvals, govern } from "turnpike-agents/ai-sdk";
import { z } from "zod";

/** `versions` is the name that this version of the AI SDK is installed under. */
export async function play({ gate, sendMail, signal, calls, options, messages, versions: [name] }) {
  const { generateText, tool, stepCountIs } = await import(name);
  const send = tool({
    inputSchema: z.object({ to: z.string(), text: z.string() }),
    execute: (input, { abortSignal }) => sendMail(input, abortSignal),
  });
  const result = await generateText({
    model: await modelOf(name, calls),
    ...(messages ? { messages } : { prompt: "Write to them." }),
    tools: govern({ send_mail: send }, gate, options),
    ...(name === "ai7" && { toolApproval: approvals(gate) }),
    stopWhen: stepCountIs(4),
    abortSignal: signal,
  });
  const asked = result.content.filter(({ type }) => type === "tool-approval-request");
  if (asked.length === 0) return { told: told, text: result.text };
  const approved = asked.map(({ approvalId }) => ({ type: "tool-approval-response", approvalId, approved: true }));
  const before = [{ role: "user", content: "Write to them." }, ...result.response.messages];
  return { asked: asked.length, resume: { messages: [...before, { role: "tool", content: approved }] } };
}

/** What the results of tools said that reached the model last. */
let told = [];

async function modelOf(name, calls) {
  told = [];
  const models = await import(`${name}/test`);
  const Model = models.MockLanguageModelV4 ?? models.MockLanguageModelV3 ?? models.MockLanguageModelV2;
  const isOld = Model === models.MockLanguageModelV2;
  const usage = isOld
    ? { inputTokens: 0, outputTokens: 0, totalTokens: 0 }
    : {
        inputTokens: { total: 0, noCache: 0, cacheRead: 0, cacheWrite: 0 },
        outputTokens: { total: 0, text: 0, reasoning: 0 },
      };
  const end = (unified) => (isOld ? unified : { unified, raw: undefined });
  return new Model({
    async doGenerate({ prompt }) {
      const results = prompt
        .flatMap(({ role, content }) => (role === "tool" ? content : []))
        .filter(({ type }) => type === "tool-result");
      told = results.map(({ output }) =>
        typeof output.value === "string" ? output.value : JSON.stringify(output.value),
      );
      if (results.length > 0)
        return { content: [{ type: "text", text: "done" }], finishReason: end("stop"), usage, warnings: [] };
      const content = calls.map(({ id, args }) => ({
        type: "tool-call",
        toolCallId: id,
        toolName: "send_mail",
        input: JSON.stringify(args),
      }));
      return { content, finishReason: end("tool-calls"), usage, warnings: [] };
    },
  });
}
