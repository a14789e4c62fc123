import {
  argumentText,
  commonProblems,
  halves,
  list,
  parsed,
  type Json,
  type Message,
  type Protocol,
  type Speech,
} from "./model-protocol.ts";

/** Text alone, or the texts among the parts. */
function textOf(content: unknown): string {
  if (!Array.isArray(content)) return String(content ?? "");
  return list(content)
    .map(({ text }) => String(text ?? ""))
    .join("");
}

function detailsOf({ cached, reasoning }: NonNullable<Speech["usage"]>): Json {
  return {
    ...(cached !== undefined && { prompt_tokens_details: { cached_tokens: cached } }),
    ...(reasoning !== undefined && { completion_tokens_details: { reasoning_tokens: reasoning } }),
  };
}

/** The chat API of OpenAI, and of every provider that speaks it. */
export const openaiChat: Protocol = {
  path: () => "/v1/chat/completions",
  keyOf: ({ authorization }) => String(authorization).replace(/^Bearer /, ""),
  understand(body) {
    const sent = list(body["messages"]);
    const messages: Message[] = [];
    for (const message of sent.filter(({ role }) => role !== "system")) {
      const { role, content, tool_calls: toolCalls, tool_call_id: id } = message;
      if (role === "tool") {
        const last = messages.at(-1);
        const result = { id: String(id), content: parsed(content) ?? content };
        if (last?.role === "results") last.results?.push(result);
        else messages.push({ role: "results", text: "", results: [result] });
        continue;
      }
      const calls = list(toolCalls).map((call) => {
        const { name, arguments: args } = call["function"] as Json;
        return { id: String(call["id"]), name: String(name), arguments: parsed(args) };
      });
      messages.push({ role: String(role), text: textOf(content), ...(calls.length > 0 && { calls }) });
    }
    const tools = list(body["tools"]).map((tool) => {
      const { name, description, parameters } = tool["function"] as Json;
      return { name: String(name), description, schema: parameters };
    });
    const instructions = String(sent.find(({ role }) => role === "system")?.["content"]);
    const understood = { model: body["model"], instructions, tools, messages };
    const problems = commonProblems(understood);
    if (body["stream"] !== true) problems.push("no stream");
    if (sent.filter(({ role }) => role === "system").length !== 1 || sent[0]?.["role"] !== "system")
      problems.push("not one system message at the beginning");
    if (messages.some(({ role }) => !["user", "assistant", "results"].includes(role))) problems.push("unknown role");
    return { ...understood, problems };
  },
  render({ text = [], calls = [], finish, usage: extra = {} }, model) {
    const head = { id: "chatcmpl-1", object: "chat.completion.chunk", created: 1_767_225_600, model };
    const event = (data: object): string => `data: ${JSON.stringify({ ...head, ...data })}\n\n`;
    const delta = (part: object): string => event({ choices: [{ index: 0, delta: part, finish_reason: null }] });
    const reasons = { length: "length", refused: "content_filter", unknown: "a_new_reason", paused: "stop" };
    const output = extra?.output ?? 5;
    const usage = { prompt_tokens: 10, completion_tokens: output, total_tokens: 10 + output };
    const reason = finish === undefined ? (calls.length > 0 ? "tool_calls" : "stop") : reasons[finish];
    return [
      delta({ role: "assistant", content: "" }),
      ...text.map((piece) => (typeof piece === "string" ? delta({ content: piece }) : piece)),
      ...calls.flatMap((call, index) => [
        delta({
          tool_calls: [
            {
              index,
              id: call.id ?? `call_${index}`,
              type: "function",
              function: { name: call.name, arguments: "" },
            },
          ],
        }),
        ...halves(argumentText(call)).map((half) => delta({ tool_calls: [{ index, function: { arguments: half } }] })),
      ]),
      event({ choices: [{ index: 0, delta: {}, finish_reason: reason }] }),
      ...(extra ? [event({ choices: [], usage: { ...usage, ...detailsOf(extra) } })] : []),
      "data: [DONE]\n\n",
    ];
  },
  renderError: (kind) => `data: ${JSON.stringify({ error: { message: "It broke.", type: kind, code: null } })}\n\n`,
  errorBody: (status, words) => JSON.stringify({ error: { message: words, type: `error_${status}`, code: words } }),
};
