// Takes the place of a model: needs no key and no network. It reads the list and the diary, and says what it was told.
import { MockLanguageModelV3 } from "ai/test";

export function standInModel() {
  return new MockLanguageModelV3({
    async doGenerate({ prompt }) {
      const told = prompt.flatMap(({ role, content }) => (role === "tool" ? content : []));
      const next = told.length === 0 ? calls : say(told.map(({ output }) => output.value).join("\n"));
      return { ...next, usage, warnings: [] };
    },
  });
}

const calls = {
  content: ["notes/todo.md", "private/diary.md"].map((path) => ({
    type: "tool-call",
    toolCallId: crypto.randomUUID(),
    toolName: "read_file",
    input: JSON.stringify({ path }),
  })),
  finishReason: { unified: "tool-calls", raw: undefined },
};

function say(text) {
  return { content: [{ type: "text", text }], finishReason: { unified: "stop", raw: undefined } };
}

const usage = {
  inputTokens: { total: 0, noCache: 0, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 0, text: 0, reasoning: 0 },
};
