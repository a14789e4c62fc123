import {
  argumentText,
  commonProblems,
  isObject,
  list,
  parsed,
  type Json,
  type Message,
  type Protocol,
  type SpokenCall,
} from "./model-protocol.ts";

const partsOf = (content: Json): Json[] => list(content["parts"]);
const textIn = (content: Json): string =>
  partsOf(content)
    .map(({ text }) => String(text ?? ""))
    .join("");

function messageOf(content: Json): Message {
  const parts = partsOf(content);
  const calls = parts.flatMap(({ functionCall }) => (isObject(functionCall) ? [functionCall] : []));
  const results = parts.flatMap(({ functionResponse }) => (isObject(functionResponse) ? [functionResponse] : []));
  const role = content["role"] === "model" ? "assistant" : String(content["role"]);
  return {
    role: results.length > 0 ? "results" : role,
    text: textIn(content),
    ...(calls.length > 0 && {
      calls: calls.map(({ id, name, args }) => ({ id: String(id), name: String(name), arguments: args })),
    }),
    ...(results.length > 0 && {
      results: results.map(({ id, response }) => ({ id: String(id), content: (response as Json)["content"] })),
    }),
  };
}

/** Google sends arguments as a value, not as text. A call without arguments has none. */
function callPart(call: SpokenCall, place: number): Json {
  const text = argumentText(call);
  const args = text === "" ? {} : { args: parsed(text) ?? text };
  return { functionCall: { id: call.id ?? `call_${place}`, name: call.name, ...args } };
}

/** The Gemini API of Google. */
export const google: Protocol = {
  path: (model) => `/v1/models/${model}:streamGenerateContent?alt=sse`,
  keyOf: (headers) => headers["x-goog-api-key"],
  understand(body, path) {
    const messages = list(body["contents"]).map(messageOf);
    const tools = list(body["tools"])
      .flatMap(({ functionDeclarations }) => list(functionDeclarations))
      .map(({ name, description, parameters, parametersJsonSchema }) => ({
        name: String(name),
        description,
        schema: parameters ?? parametersJsonSchema ?? {},
      }));
    const system = body["systemInstruction"];
    const instructions = isObject(system) ? textIn(system) : "";
    const model = /models\/([^:]+):/.exec(path)?.[1];
    const understood = { model, instructions, tools, messages };
    const problems = commonProblems(understood);
    if (messages[0]?.role !== "user") problems.push("the first message is not the user's");
    if (
      messages.some(
        ({ text, role }, place) =>
          role === "user" && text === "" && partsOf(list(body["contents"])[place] ?? {}).length === 0,
      )
    )
      problems.push("empty content");
    return { ...understood, problems };
  },
  render({ text = [], calls = [], finish, usage: extra = {} }, model) {
    const event = (parts: Json[], more: Json = {}, reason?: string): string => {
      const candidate = { content: { role: "model", parts }, index: 0, ...(reason && { finishReason: reason }) };
      return `data: ${JSON.stringify({ candidates: [candidate], ...more, modelVersion: model, responseId: "r1" })}\r\n\r\n`;
    };
    const reasons = { length: "MAX_TOKENS", refused: "SAFETY", unknown: "A_NEW_REASON", paused: "STOP" };
    const output = extra?.output ?? 5;
    const usageMetadata = extra && {
      promptTokenCount: 10,
      candidatesTokenCount: output - (extra.reasoning ?? 0),
      totalTokenCount: 10 + output,
      ...(extra.cached && { cachedContentTokenCount: extra.cached }),
      ...(extra.reasoning && { thoughtsTokenCount: extra.reasoning }),
    };
    return [
      ...text.map((piece) => (typeof piece === "string" ? event([{ text: piece }]) : piece)),
      ...calls.map((call, place) => event([callPart(call, place)])),
      event([{ text: "" }], usageMetadata ? { usageMetadata } : {}, finish === undefined ? "STOP" : reasons[finish]),
    ];
  },
  renderError(kind) {
    const status = /overloaded/.test(kind) ? 503 : /rate_limit/.test(kind) ? 429 : 400;
    const names: Record<number, string> = { 503: "UNAVAILABLE", 429: "RESOURCE_EXHAUSTED", 400: "INVALID_ARGUMENT" };
    return `data: ${JSON.stringify({ error: { code: status, message: "It broke.", status: names[status] } })}\r\n\r\n`;
  },
  errorBody: (status, words) => JSON.stringify({ error: { code: status, message: words, status: `ERROR_${status}` } }),
};
