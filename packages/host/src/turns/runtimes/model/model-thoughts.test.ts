import { describe, expect, test } from "vitest";
import { modelWorldOf, says } from "../../../../test/model-server.ts";
import { saidOf } from "../../../../../turnpike/test/turns.ts";

describe("what a provider wants to see again within a turn, it sees:", () => {
  const sse = (...events: object[]): string => events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join("");

  test("the signed thoughts of a model of anthropic", async () => {
    const thought = { type: "thinking", thinking: "I should look.", signature: "signed-by-the-provider" };
    const usage = { input_tokens: 1, output_tokens: 1 };
    const body = sse(
      {
        type: "message_start",
        message: { id: "1", type: "message", role: "assistant", model: "m", content: [], usage },
      },
      { type: "content_block_start", index: 0, content_block: { type: "thinking", thinking: "", signature: "" } },
      { type: "content_block_delta", index: 0, delta: { type: "thinking_delta", thinking: thought.thinking } },
      { type: "content_block_delta", index: 0, delta: { type: "signature_delta", signature: thought.signature } },
      { type: "content_block_stop", index: 0 },
      {
        type: "content_block_start",
        index: 1,
        content_block: { type: "tool_use", id: "a", name: "files_read", input: {} },
      },
      { type: "content_block_stop", index: 1 },
      { type: "message_delta", delta: { stop_reason: "tool_use" }, usage: { output_tokens: 2 } },
      { type: "message_stop" },
    );
    const world = await modelWorldOf("anthropic", [{ type: "send", body }, says("Done.")]);
    const result = await world.run();
    expect(saidOf(result)).toBe("succeeded");
    expect(world.server.requests[1]?.body["messages"]).toMatchObject([
      { role: "user" },
      { role: "assistant", content: [thought, { type: "tool_use", id: "a" }] },
      { role: "user", content: [{ type: "tool_result", tool_use_id: "a" }] },
    ]);
    expect(JSON.stringify(result)).not.toContain("I should look.");
  });

  test("the encrypted thoughts of a model of openai, which keeps nothing itself", async () => {
    const thought = { type: "reasoning", id: "rs_1", summary: [], encrypted_content: "sealed-by-the-provider" };
    const call = { type: "function_call", id: "fc_1", call_id: "a", name: "files_read", arguments: "{}" };
    const body = sse(
      { type: "response.created", response: { id: "resp_1", created_at: 1, model: "gpt-5-mini" } },
      { type: "response.output_item.added", output_index: 0, item: { ...thought, encrypted_content: "" } },
      { type: "response.output_item.done", output_index: 0, item: thought },
      { type: "response.output_item.added", output_index: 1, item: { ...call, arguments: "" } },
      { type: "response.output_item.done", output_index: 1, item: { ...call, status: "completed" } },
      { type: "response.completed", response: { usage: { input_tokens: 1, output_tokens: 1 } } },
    );
    const world = await modelWorldOf("openai", [{ type: "send", body }, says("Done.")], {
      config: { model: "gpt-5-mini" },
    });
    const result = await world.run();
    expect(saidOf(result)).toBe("succeeded");
    expect(world.server.requests[0]?.body).toMatchObject({ store: false, include: ["reasoning.encrypted_content"] });
    expect(world.server.requests[1]?.body["input"]).toMatchObject([
      { role: "developer" },
      { role: "user" },
      thought,
      { type: "function_call", call_id: "a" },
      { type: "function_call_output", call_id: "a" },
    ]);
    expect(world.server.problems).toStrictEqual([]);
    expect(JSON.stringify(result)).not.toContain("sealed-by-the-provider");
  });

  test("the signatures of thoughts of a model of google", async () => {
    const thoughtSignature = "signed-by-the-provider";
    const body = sse(
      { candidates: [{ content: { role: "model", parts: [{ text: "I should look.", thought: true }] } }] },
      {
        candidates: [
          {
            content: {
              role: "model",
              parts: [
                { functionCall: { id: "a", name: "files_read", args: { note: "a" } }, thoughtSignature },
                { functionCall: { id: "b", name: "files_read", args: { note: "b" } } },
              ],
            },
            finishReason: "STOP",
          },
        ],
      },
    );
    const world = await modelWorldOf("google", [{ type: "send", body }, says("Done.")], {
      config: { model: "gemini-3-flash" },
    });
    const result = await world.run();
    expect(saidOf(result)).toBe("succeeded");
    expect(world.server.requests[1]?.body["contents"]).toMatchObject([
      { role: "user" },
      {
        role: "model",
        parts: [
          { thought: true },
          { functionCall: { id: "a" }, thoughtSignature },
          // Only the first call of a reply is signed.
          { functionCall: { id: "b" } },
        ],
      },
      { parts: [{ functionResponse: { id: "a" } }, { functionResponse: { id: "b" } }] },
    ]);
    expect(JSON.stringify(world.server.requests[1]?.body)).not.toContain("skip_thought_signature_validator");
    expect(world.server.problems).toStrictEqual([]);
    expect(JSON.stringify(result)).not.toContain("I should look.");
  });

  test("the marks on calls of a compatible server", async () => {
    const mark = { google: { thought_signature: "signed-by-the-provider" } };
    const call = { index: 0, id: "a", function: { name: "files_read", arguments: "{}" }, extra_content: mark };
    const body = sse(
      { id: "1", choices: [{ index: 0, delta: { tool_calls: [call] } }] },
      { id: "1", choices: [{ index: 0, delta: {}, finish_reason: "tool_calls" }] },
    );
    const world = await modelWorldOf("openai-compatible", [{ type: "send", body }, says("Done.")]);
    expect(saidOf(await world.run())).toBe("succeeded");
    expect(world.server.requests[1]?.body["messages"]).toMatchObject([
      { role: "system" },
      { role: "user" },
      { role: "assistant", tool_calls: [{ id: "a", extra_content: mark }] },
      { role: "tool", tool_call_id: "a" },
    ]);
  });
});
