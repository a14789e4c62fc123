// A stand-in for a model: speaks the chat protocol of OpenAI, needs no key and no network, and always does the same.
// It lists the notes, reads the diary, and says what came of it. Run: node docs/examples/stand-in-model.js 8792
import { createServer } from "node:http";

const [, , port = "8792"] = process.argv;

/** What it does next, from how many tools it has used since it was last asked something. */
const steps = [
  () => ({ call: { name: "files_list", arguments: { path: "notes" } } }),
  () => ({ call: { name: "files_read", arguments: { path: "private/diary.md" } } }),
  ([list, diary]) => ({
    text: `Your notes: ${list.entries.map(({ path }) => path).join(", ")}. Your diary: ${diaryIn(diary)}`,
  }),
];

function diaryIn({ content, error }) {
  return error === undefined ? content.trim() : `I may not read it (${error.code}).`;
}

/** The results of the tools it has used for the last message. */
function resultsIn(messages) {
  const asked = messages.findLastIndex(({ role }) => role === "user");
  const results = messages.slice(asked).filter(({ role }) => role === "tool");
  return results.map(({ content }) => JSON.parse(content));
}

/** One reply as server-sent events: the role, what is said or called, how it ended, what it cost. */
function eventsOf({ text, call }, { model, messages }) {
  const head = { id: "stand-in", object: "chat.completion.chunk", created: 1_767_225_600, model };
  const id = `call_${messages.length}`;
  const called = call && { name: call.name, arguments: JSON.stringify(call.arguments) };
  const delta = call ? { tool_calls: [{ index: 0, id, type: "function", function: called }] } : { content: text };
  const reason = call ? "tool_calls" : "stop";
  return [
    { ...head, choices: [{ index: 0, delta: { role: "assistant" }, finish_reason: null }] },
    { ...head, choices: [{ index: 0, delta, finish_reason: null }] },
    { ...head, choices: [{ index: 0, delta: {}, finish_reason: reason }] },
    { ...head, choices: [], usage: { prompt_tokens: 20, completion_tokens: 8, total_tokens: 28 } },
  ];
}

const server = createServer(async (request, response) => {
  if (request.method !== "POST" || request.url !== "/v1/chat/completions") {
    response.writeHead(404).end();
    return;
  }
  let text = "";
  for await (const chunk of request.setEncoding("utf8")) text += chunk;
  const body = JSON.parse(text);
  const results = resultsIn(body.messages);
  const step = steps[Math.min(results.length, steps.length - 1)];
  response.writeHead(200, { "content-type": "text/event-stream" });
  for (const event of eventsOf(step(results), body)) response.write(`data: ${JSON.stringify(event)}\n\n`);
  response.end("data: [DONE]\n\n");
});

server.listen(Number(port), "127.0.0.1");
