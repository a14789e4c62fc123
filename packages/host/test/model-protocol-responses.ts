import {
  argumentText,
  commonProblems,
  halves,
  list,
  parsed,
  type Json,
  type Message,
  type Protocol,
} from "./model-protocol.ts";

/** Adds an item of the input to the messages: calls join their reply, results join each other. */
function addItem(messages: Message[], item: Json): void {
  const { type = "message", role, content, call_id: id, name, arguments: args, output } = item;
  const last = messages.at(-1);
  if (type === "function_call") {
    const call = { id: String(id), name: String(name), arguments: parsed(args) };
    if (last?.role === "assistant") last.calls = [...(last.calls ?? []), call];
    else messages.push({ role: "assistant", text: "", calls: [call] });
  }
  if (type === "function_call_output") {
    const result = { id: String(id), content: typeof output === "string" ? (parsed(output) ?? output) : output };
    if (last?.role === "results") last.results?.push(result);
    else messages.push({ role: "results", text: "", results: [result] });
  }
  if (type === "message") {
    const text = list(content).map((part) => String(part["text"] ?? ""));
    messages.push({ role: String(role), text: text.join("") });
  }
}

/** The Responses API of OpenAI. */
export const openaiResponses: Protocol = {
  path: () => "/v1/responses",
  keyOf: ({ authorization }) => String(authorization).replace(/^Bearer /, ""),
  understand(body) {
    const input = list(body["input"]);
    const isSystem = ({ role }: Json): boolean => role === "system" || role === "developer";
    const messages: Message[] = [];
    for (const item of input.filter((each) => !isSystem(each))) addItem(messages, item);
    const tools = list(body["tools"]).map(({ name, description, parameters }) => ({
      name: String(name),
      description,
      schema: parameters,
    }));
    const instructions = String(input.find(isSystem)?.["content"]);
    const understood = { model: body["model"], instructions, tools, messages };
    const problems = commonProblems(understood);
    if (body["stream"] !== true) problems.push("no stream");
    if (body["store"] !== false) problems.push("something would be stored");
    if (body["previous_response_id"] !== undefined) problems.push("a request that needs what was not stored");
    if (list(body["tools"]).some(({ strict }) => strict !== false)) problems.push("a schema that would be rewritten");
    for (const { type, encrypted_content: secret } of input) {
      if (type === "item_reference") problems.push("an item that was not stored");
      if (type === "reasoning" && typeof secret !== "string") problems.push("a thought that was not stored");
    }
    return { ...understood, problems };
  },
  render({ text = [], calls = [], finish, usage: extra = {} }, model) {
    let sequence = 0;
    const event = (data: { type: string } & Json): string =>
      `event: ${data.type}\ndata: ${JSON.stringify({ ...data, sequence_number: (sequence += 1) })}\n\n`;
    const response = { id: "resp_1", object: "response", created_at: 1_767_225_600, model, status: "in_progress" };
    const message = { id: "msg_1", type: "message", role: "assistant", content: [] };
    const delta = finish === "refused" ? "response.refusal.delta" : "response.output_text.delta";
    const said = [
      event({ type: "response.output_item.added", output_index: 0, item: message }),
      ...text.map((piece) =>
        typeof piece === "string"
          ? event({ type: delta, item_id: "msg_1", output_index: 0, content_index: 0, delta: piece })
          : piece,
      ),
      event({ type: "response.output_item.done", output_index: 0, item: message }),
    ];
    const output = extra?.output ?? 5;
    const usage = extra && {
      input_tokens: 10,
      input_tokens_details: { cached_tokens: extra.cached ?? 0 },
      output_tokens: output,
      output_tokens_details: { reasoning_tokens: extra.reasoning ?? 0 },
      total_tokens: 10 + output,
    };
    const reasons: Record<string, string> = { length: "max_output_tokens", unknown: "a_new_reason" };
    const reason = reasons[finish ?? ""];
    const details = reason === undefined ? null : { reason };
    const type = details === null ? "response.completed" : "response.incomplete";
    return [
      event({ type: "response.created", response }),
      event({ type: "response.in_progress", response }),
      ...(text.length === 0 ? [] : said),
      ...calls.flatMap((call, place) => {
        const at = { output_index: place + 1, item_id: `fc_${place}` };
        const args = argumentText(call);
        const about = { type: "function_call", id: at.item_id, call_id: call.id ?? `call_${place}`, name: call.name };
        return [
          event({
            type: "response.output_item.added",
            ...at,
            item: { ...about, arguments: "", status: "in_progress" },
          }),
          ...halves(args).map((half) => event({ type: "response.function_call_arguments.delta", ...at, delta: half })),
          event({ type: "response.function_call_arguments.done", ...at, arguments: args }),
          event({ type: "response.output_item.done", ...at, item: { ...about, arguments: args, status: "completed" } }),
        ];
      }),
      event({ type, response: { ...response, status: type.slice(9), incomplete_details: details, usage } }),
    ];
  },
  renderError: (kind) =>
    `event: error\ndata: ${JSON.stringify({ type: "error", sequence_number: 9, error: { type: kind, code: kind, message: "It broke.", param: null } })}\n\n`,
  errorBody: (status, words) => JSON.stringify({ error: { message: words, type: `error_${status}`, code: words } }),
};
