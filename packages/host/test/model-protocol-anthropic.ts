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

/** The messages API of Anthropic. */
export const anthropic: Protocol = {
  path: () => "/v1/messages",
  keyOf: (headers) => headers["x-api-key"],
  understand(body) {
    const messages = list(body["messages"]).map(({ role, content }): Message => {
      const blocks: Json[] = typeof content === "string" ? [{ type: "text", text: content }] : list(content);
      const results = blocks
        .filter(({ type }) => type === "tool_result")
        .map(({ tool_use_id: id, content: result, is_error: isError }) => ({
          id: String(id),
          content: parsed(result) ?? result,
          ...(isError === true && { isError }),
        }));
      const calls = blocks
        .filter(({ type }) => type === "tool_use")
        .map(({ id, name, input }) => ({ id: String(id), name: String(name), arguments: input }));
      const text = blocks.map((block) => String(block["text"] ?? "")).join("");
      return {
        role: results.length > 0 ? "results" : String(role),
        text,
        ...(calls.length > 0 && { calls }),
        ...(results.length > 0 && { results }),
      };
    });
    const tools = list(body["tools"]).map(({ name, description, input_schema: schema }) => ({
      name: String(name),
      description,
      schema,
    }));
    const instructions = list(body["system"])
      .map(({ text }) => String(text))
      .join("\n");
    const understood = { model: body["model"], instructions, tools, messages };
    const problems = commonProblems(understood);
    if (body["stream"] !== true) problems.push("no stream");
    if (!Number.isInteger(body["max_tokens"])) problems.push("no max_tokens");
    if (messages[0]?.role !== "user") problems.push("the first message is not the user's");
    for (const { id } of messages.flatMap(({ calls = [] }) => calls))
      if (!/^[a-zA-Z0-9_-]+$/.test(id)) problems.push(`call id ${id}`);
    const sides = messages.map(({ role }) => (role === "assistant" ? "assistant" : "user"));
    if (sides.some((side, place) => side === sides[place + 1])) problems.push("two messages of one side in a row");
    if (messages.some(({ text, calls, results }) => text === "" && !calls && !results)) problems.push("empty content");
    return { ...understood, problems };
  },
  render({ text = [], calls = [], finish, usage: extra = {} }, model) {
    const event = (data: { type: string } & Json): string => `event: ${data.type}\ndata: ${JSON.stringify(data)}\n\n`;
    const reasons = { length: "max_tokens", refused: "refusal", unknown: "a_new_reason", paused: "pause_turn" };
    const reason = finish === undefined ? (calls.length > 0 ? "tool_use" : "end_turn") : reasons[finish];
    // What was read from the cache is not among the input tokens here.
    const cached = extra?.cached ?? 0;
    const usage = { input_tokens: 10 - cached, output_tokens: 1, ...(cached && { cache_read_input_tokens: cached }) };
    const message = { id: "msg_1", type: "message", role: "assistant", model, content: [], stop_reason: null, usage };
    const block = (index: number, start: Json, deltas: readonly (Json | (() => Promise<unknown>))[]) => [
      event({ type: "content_block_start", index, content_block: start }),
      ...deltas.map((delta) =>
        typeof delta === "function" ? delta : event({ type: "content_block_delta", index, delta }),
      ),
      event({ type: "content_block_stop", index }),
    ];
    const said =
      text.length === 0
        ? []
        : block(
            0,
            { type: "text", text: "" },
            text.map((piece) => (typeof piece === "string" ? { type: "text_delta", text: piece } : piece)),
          );
    return [
      event({ type: "message_start", message }),
      ...said,
      ...calls.flatMap((call, place) =>
        block(
          place + 1,
          { type: "tool_use", id: call.id ?? `toolu_${place}`, name: call.name, input: {} },
          halves(argumentText(call)).map((half) => ({ type: "input_json_delta", partial_json: half })),
        ),
      ),
      event({
        type: "message_delta",
        delta: { stop_reason: reason, stop_sequence: null },
        usage: { output_tokens: extra?.output ?? 5 },
      }),
      event({ type: "message_stop" }),
    ];
  },
  renderError: (kind) =>
    `event: error\ndata: ${JSON.stringify({ type: "error", error: { type: kind, message: "It broke." } })}\n\n`,
  errorBody: (status, words) =>
    JSON.stringify({ type: "error", error: { type: `error_${status}`, message: words }, request_id: "req_1" }),
};
