// Takes the place of a model: needs no key and no network, and always does the same. It lists the notes, tries the diary, and
// says what came of it.
import { MockLanguageModelV3 } from "ai/test";

/** What it does next, by how many results of tools it has read. */
const steps = [
  () => call("files_list", { path: "notes" }),
  () => call("files_read", { path: "private/diary.md" }),
  ([list, diary]) => say(`You have ${namesIn(list)}. Your diary: ${diary}`),
];

export function standInModel() {
  return new MockLanguageModelV3({
    async doGenerate({ prompt }) {
      const results = prompt.flatMap(({ role, content }) => (role === "tool" ? content : []));
      const texts = results.map(({ output }) => output.value.map(({ text }) => text).join("\n"));
      const next = steps[texts.length] ?? steps.at(-1);
      return { ...next(texts), usage, warnings: [] };
    },
  });
}

const usage = {
  inputTokens: { total: 0, noCache: 0, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 0, text: 0, reasoning: 0 },
};

function call(toolName, input) {
  const content = [{ type: "tool-call", toolCallId: toolName, toolName, input: JSON.stringify(input) }];
  return { content, finishReason: { unified: "tool-calls", raw: undefined } };
}

function say(text) {
  return { content: [{ type: "text", text }], finishReason: { unified: "stop", raw: undefined } };
}

function namesIn(list) {
  const { entries } = JSON.parse(list);
  return entries.map(({ path }) => path).join(" and ");
}
