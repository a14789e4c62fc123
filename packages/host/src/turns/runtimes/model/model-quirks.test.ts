import { describe, expect, test } from "vitest";
import { modelWorldOf, says, type ModelReply } from "../../../../test/model-server.ts";
import { saidOf, toolsOf } from "../../../../../turnpike/test/turns.ts";

const sse = (...events: (object | string)[]): ModelReply => ({
  type: "send",
  body: events.map((event) => (typeof event === "string" ? event : `data: ${JSON.stringify(event)}\n\n`)).join(""),
});

describe("calls whose arguments come in pieces that are mixed", () => {
  const chat = (...calls: object[]): object => ({ id: "1", choices: [{ index: 0, delta: { tool_calls: calls } }] });
  const piece = (index: number, args: string): object => ({ index, function: { arguments: args } });
  const item = (place: number, args: string) => {
    const about = { type: "function_call", id: `fc_${place}`, call_id: `id_${place}`, name: "files_read" };
    return { output_index: place, item: { ...about, arguments: args, status: "completed" } };
  };
  const delta = (place: number, args: string): object => ({
    type: "response.function_call_arguments.delta",
    item_id: `fc_${place}`,
    output_index: place,
    delta: args,
  });
  const mixedChat = sse(
    ": a comment, as proxies send them to keep a connection\n\n",
    chat({ index: 0, id: "id_0", function: { name: "files_read", arguments: "" } }),
    chat({ index: 1, id: "id_1", function: { name: "files_read", arguments: '{"no' } }),
    chat(piece(0, '{"note"'), piece(1, 'te":')),
    chat(piece(1, '"b"}')),
    chat(piece(0, ':"a"}')),
    { id: "1", choices: [{ index: 0, delta: {}, finish_reason: "tool_calls" }] },
  );
  for (const { provider, reply } of [
    { provider: "openai-chat", reply: mixedChat },
    { provider: "openai-compatible", reply: mixedChat },
    {
      provider: "openai",
      reply: sse(
        { type: "response.created", response: { id: "r", created_at: 1, model: "m" } },
        { type: "response.output_item.added", ...item(0, "") },
        { type: "response.output_item.added", ...item(1, "") },
        delta(0, '{"note"'),
        delta(1, '{"note":"b"}'),
        delta(0, ':"a"}'),
        { type: "response.a_new_kind_of_event", item_id: "fc_0" },
        { type: "response.output_item.done", ...item(1, '{"note":"b"}') },
        { type: "response.output_item.done", ...item(0, '{"note":"a"}') },
        { type: "response.completed", response: {} },
      ),
    },
  ] as const) {
    test(`are put together (${provider})`, async () => {
      const { read } = toolsOf();
      const world = await modelWorldOf(provider, [reply, says("Done.")], { world: { tools: [read] } });
      expect(saidOf(await world.run())).toBe("succeeded");
      expect(read.calls.map((call) => call.arguments["note"]).toSorted()).toStrictEqual(["a", "b"]);
      expect(world.server.problems).toStrictEqual([]);
    });
  }
});

describe("a model of google", () => {
  for (const { name, reply, code } of [
    {
      name: "whose filter stops the question",
      reply: sse({ promptFeedback: { blockReason: "PROHIBITED_CONTENT" }, usageMetadata: { promptTokenCount: 5 } }),
      code: "model_refused",
    },
    {
      name: "that makes a call that cannot be read",
      reply: sse({ candidates: [{ content: {}, finishReason: "MALFORMED_FUNCTION_CALL" }] }),
      code: "model_response_invalid",
    },
    {
      name: "that recites",
      reply: sse({ candidates: [{ content: { parts: [{ text: "Once" }] }, finishReason: "RECITATION" }] }),
      code: "model_refused",
    },
  ] as const) {
    test(`${name} ends the turn ${code}`, async () => {
      const world = await modelWorldOf("google", [reply]);
      expect(saidOf(await world.run())).toBe(code);
    });
  }

  test("that wants to be left alone says so in the body, and is", async () => {
    const details = [{ "@type": "type.googleapis.com/google.rpc.RetryInfo", retryDelay: "34s" }];
    const body = JSON.stringify({ error: { code: 429, message: "No.", status: "RESOURCE_EXHAUSTED", details } });
    const waits: number[] = [];
    const wait = (ms: number): Promise<void> => Promise.resolve(void waits.push(ms));
    const world = await modelWorldOf("google", [{ type: "status", status: 429, body }, says("Hello.")], {
      config: { retries: 1 },
      clock: { now: () => 0, random: () => 0, wait },
    });
    expect(saidOf(await world.run())).toBe("succeeded");
    expect(waits).toStrictEqual([34_000]);
  });
});

test("a response of openai that failed in the end is a failure, whatever it said before", async () => {
  const response = { id: "r", created_at: 1, model: "m" };
  const message = { type: "message", id: "msg_1", role: "assistant", content: [] };
  const error = { code: "server_error", message: "It broke." };
  const world = await modelWorldOf("openai", [
    sse(
      { type: "response.created", response },
      { type: "response.output_item.added", output_index: 0, item: message },
      { type: "response.output_text.delta", item_id: "msg_1", output_index: 0, content_index: 0, delta: "I was just" },
      { type: "response.failed", sequence_number: 4, response: { ...response, error } },
    ),
  ]);
  expect(await world.run()).toMatchObject({ status: "failed", error: { code: "model_unavailable", retryable: true } });
});
