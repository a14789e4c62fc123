/** The protocols of two model providers, as far as a server needs them: what a request may look like, and a reply. */

export type ProtocolName = "openai" | "anthropic";

/** One call in a reply; arguments that are a text are sent as they are, even when they are no JSON. */
interface SpokenCall {
  id?: string;
  name: string;
  arguments?: unknown;
}

/** A piece of text, or something to wait for before the next. */
type Piece = string | (() => Promise<unknown>);

/** What a model says. */
export interface Speech {
  text?: readonly Piece[];
  calls?: readonly SpokenCall[];
  finish?: "length" | "refused";
}

/** A request in words that fit both protocols. */
export interface Understood {
  model: unknown;
  instructions: string;
  tools: { name: string; description: unknown; schema: unknown }[];
  messages: Message[];
  /** Everything about it that its provider would refuse. */
  problems: string[];
}

interface Message {
  role: string;
  text: string;
  calls?: { id: string; name: string; arguments: unknown }[];
  results?: { id: string; content: unknown; isError?: boolean }[];
}

/** What differs between providers. */
export interface Protocol {
  path: string;
  keyOf(headers: Record<string, unknown>): unknown;
  understand(body: Json): Understood;
  /** The events of a reply, in order; a function is something to wait for. */
  render(speech: Speech, model: unknown): (string | (() => Promise<unknown>))[];
  /** An event that reports an error in the middle of a stream. */
  renderError(kind: string): string;
  errorBody(status: number, words: string): string;
}

type Json = Record<string, unknown>;

const list = (value: unknown): Json[] => (Array.isArray(value) ? (value as Json[]) : []);
const isObject = (value: unknown): value is Json =>
  typeof value === "object" && value !== null && !Array.isArray(value);
const nameRule = /^[a-zA-Z0-9_-]{1,64}$/;

/** Rules that both have: names, schemas, and an answer to every call right after it. */
function commonProblems({ model, tools, messages }: Omit<Understood, "problems">): string[] {
  const problems: string[] = [];
  if (typeof model !== "string" || model === "") problems.push("no model");
  if (new Set(tools.map(({ name }) => name)).size !== tools.length) problems.push("two tools of one name");
  for (const { name, schema } of tools) {
    if (!nameRule.test(name)) problems.push(`tool name ${name}`);
    if (!isObject(schema)) problems.push(`no schema of ${name}`);
  }
  for (const [place, { role, calls = [], results = [] }] of messages.entries()) {
    const ids = calls.map(({ id }) => id);
    if (new Set(ids).size !== ids.length) problems.push("a call id twice in a message");
    for (const { name, arguments: args } of calls) {
      if (!nameRule.test(name)) problems.push(`call name ${name}`);
      if (!isObject(args)) problems.push("arguments that are no object");
    }
    const before = messages[place - 1]?.calls ?? [];
    const answered = results.map(({ id }) => id);
    if (role === "results" && answered.join() !== before.map(({ id }) => id).join())
      problems.push("results that answer other calls");
    if (ids.length > 0 && messages[place + 1]?.role !== "results") problems.push("a call without a result");
  }
  return problems;
}

function parsed(text: unknown): unknown {
  try {
    return JSON.parse(String(text)) as unknown;
  } catch {
    return undefined;
  }
}

function argumentText({ arguments: args = {} }: SpokenCall): string {
  return typeof args === "string" ? args : JSON.stringify(args);
}

/** Text in two halves, so that nothing arrives at once. */
function halves(text: string): string[] {
  const middle = Math.ceil(text.length / 2);
  return [text.slice(0, middle), text.slice(middle)].filter((half) => half !== "");
}

const openai: Protocol = {
  path: "/v1/chat/completions",
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
      messages.push({ role: String(role), text: String(content ?? ""), ...(calls.length > 0 && { calls }) });
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
  render({ text = [], calls = [], finish }, model) {
    const head = { id: "chatcmpl-1", object: "chat.completion.chunk", created: 1_767_225_600, model };
    const event = (data: object): string => `data: ${JSON.stringify({ ...head, ...data })}\n\n`;
    const delta = (part: object): string => event({ choices: [{ index: 0, delta: part, finish_reason: null }] });
    const reasons = { length: "length", refused: "content_filter" };
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
      event({ choices: [], usage: { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 } }),
      "data: [DONE]\n\n",
    ];
  },
  renderError: (kind) => `data: ${JSON.stringify({ error: { message: "It broke.", type: kind, code: null } })}\n\n`,
  errorBody: (status, words) => JSON.stringify({ error: { message: words, type: `error_${status}`, code: words } }),
};

const anthropic: Protocol = {
  path: "/v1/messages",
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
    const sides = messages.map(({ role }) => (role === "assistant" ? "assistant" : "user"));
    if (sides.some((side, place) => side === sides[place + 1])) problems.push("two messages of one side in a row");
    if (messages.some(({ text, calls, results }) => text === "" && !calls && !results)) problems.push("empty content");
    return { ...understood, problems };
  },
  render({ text = [], calls = [], finish }, model) {
    const event = (data: { type: string } & Json): string => `event: ${data.type}\ndata: ${JSON.stringify(data)}\n\n`;
    const reasons = { length: "max_tokens", refused: "refusal" };
    const reason = finish === undefined ? (calls.length > 0 ? "tool_use" : "end_turn") : reasons[finish];
    const usage = { input_tokens: 10, output_tokens: 1 };
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
        usage: { output_tokens: 5 },
      }),
      event({ type: "message_stop" }),
    ];
  },
  renderError: (kind) =>
    `event: error\ndata: ${JSON.stringify({ type: "error", error: { type: kind, message: "It broke." } })}\n\n`,
  errorBody: (status, words) =>
    JSON.stringify({ type: "error", error: { type: `error_${status}`, message: words }, request_id: "req_1" }),
};

export const protocols: Record<ProtocolName, Protocol> = { openai, anthropic };
