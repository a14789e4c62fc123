import type { ModelReply } from "./model-server.ts";

const sse = (...events: object[]): ModelReply => ({
  type: "send",
  body: events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join(""),
});

/** The sign of a provider on a thought, which only that provider understands. */
export const mark = "signed-by-the-provider";

/** What a model thinks, and no one else is told. */
export const thought = "I should look.";

/** Replies that think, sign that, and call `files_read` with the id `a`. */
export const thoughtfulReplies = {
  anthropic: sse(
    {
      type: "message_start",
      message: {
        id: "1",
        type: "message",
        role: "assistant",
        model: "m",
        content: [],
        usage: { input_tokens: 1, output_tokens: 1 },
      },
    },
    { type: "content_block_start", index: 0, content_block: { type: "thinking", thinking: "", signature: "" } },
    { type: "content_block_delta", index: 0, delta: { type: "thinking_delta", thinking: thought } },
    { type: "content_block_delta", index: 0, delta: { type: "signature_delta", signature: mark } },
    { type: "content_block_stop", index: 0 },
    {
      type: "content_block_start",
      index: 1,
      content_block: { type: "tool_use", id: "a", name: "files_read", input: {} },
    },
    { type: "content_block_stop", index: 1 },
    { type: "message_delta", delta: { stop_reason: "tool_use" }, usage: { output_tokens: 2 } },
    { type: "message_stop" },
  ),
  openai: sse(
    { type: "response.created", response: { id: "resp_1", created_at: 1, model: "gpt-5-mini" } },
    {
      type: "response.output_item.added",
      output_index: 0,
      item: { type: "reasoning", id: "rs_1", summary: [], encrypted_content: "" },
    },
    {
      type: "response.output_item.done",
      output_index: 0,
      item: { type: "reasoning", id: "rs_1", summary: [], encrypted_content: mark },
    },
    {
      type: "response.output_item.added",
      output_index: 1,
      item: { type: "function_call", id: "fc_1", call_id: "a", name: "files_read", arguments: "" },
    },
    {
      type: "response.output_item.done",
      output_index: 1,
      item: {
        type: "function_call",
        id: "fc_1",
        call_id: "a",
        name: "files_read",
        arguments: "{}",
        status: "completed",
      },
    },
    { type: "response.completed", response: { usage: { input_tokens: 1, output_tokens: 1 } } },
  ),
  google: sse(
    { candidates: [{ content: { role: "model", parts: [{ text: thought, thought: true }] } }] },
    {
      candidates: [
        {
          content: {
            role: "model",
            parts: [
              { functionCall: { id: "a", name: "files_read", args: { note: "a" } }, thoughtSignature: mark },
              { functionCall: { id: "b", name: "files_read", args: { note: "b" } } },
            ],
          },
          finishReason: "STOP",
        },
      ],
    },
  ),
  "openai-compatible": sse(
    {
      id: "1",
      choices: [
        {
          index: 0,
          delta: {
            reasoning_content: thought,
            tool_calls: [
              {
                index: 0,
                id: "a",
                function: { name: "files_read", arguments: "{}" },
                extra_content: { google: { thought_signature: mark } },
              },
            ],
          },
        },
      ],
    },
    { id: "1", choices: [{ index: 0, delta: {}, finish_reason: "tool_calls" }] },
  ),
} satisfies Record<string, ModelReply>;
