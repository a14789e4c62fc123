import { describe, expect, test } from "vitest";
import { modelWorldOf, says } from "../../../../test/model-server.ts";
import { mark, thought, thoughtfulReplies } from "../../../../test/model-thoughts.ts";
import { saidOf } from "../../../../../turnpike/test/turns.ts";

describe("what a provider wants to see again within a turn, it sees, and no one else:", () => {
  const rows = [
    {
      name: "the signed thoughts of a model of anthropic",
      backend: "anthropic",
      model: "claude-sonnet-4-5",
      key: "messages",
      sent: [
        { role: "user" },
        {
          role: "assistant",
          content: [
            { type: "thinking", thinking: thought, signature: mark },
            { type: "tool_use", id: "a" },
          ],
        },
        { role: "user", content: [{ type: "tool_result", tool_use_id: "a" }] },
      ],
    },
    {
      name: "the encrypted thoughts of a model of openai, which stores nothing itself",
      backend: "openai",
      model: "gpt-5-mini",
      key: "input",
      sent: [
        { role: "developer" },
        { role: "user" },
        { type: "reasoning", id: "rs_1", summary: [], encrypted_content: mark },
        { type: "function_call", call_id: "a" },
        { type: "function_call_output", call_id: "a" },
      ],
    },
    {
      name: "the signatures of thoughts of a model of google, of which only the first call of a reply has one",
      backend: "google",
      model: "gemini-3-flash",
      key: "contents",
      sent: [
        { role: "user" },
        {
          role: "model",
          parts: [
            { text: thought, thought: true },
            { functionCall: { id: "a" }, thoughtSignature: mark },
            { functionCall: { id: "b" } },
          ],
        },
        { parts: [{ functionResponse: { id: "a" } }, { functionResponse: { id: "b" } }] },
      ],
    },
    {
      name: "the marks on calls of a compatible server",
      backend: "openai-compatible",
      model: "model-1",
      key: "messages",
      sent: [
        { role: "system" },
        { role: "user" },
        { role: "assistant", tool_calls: [{ id: "a", extra_content: { google: { thought_signature: mark } } }] },
        { role: "tool", tool_call_id: "a" },
      ],
    },
  ] as const;
  for (const { name, backend, model, key, sent } of rows) {
    test(name, async () => {
      const world = await modelWorldOf(backend, [thoughtfulReplies[backend], says("Done.")], { config: { model } });
      const result = await world.run();
      expect(saidOf(result)).toBe("succeeded");
      expect(world.server.requests[1]?.body[key]).toMatchObject(sent);
      expect(world.server.problems).toStrictEqual([]);
      for (const secret of [thought, mark]) expect(JSON.stringify(result)).not.toContain(secret);
      expect(JSON.stringify(world.server.requests)).not.toContain("skip_thought_signature_validator");
    });
  }

  test("openai is told to store nothing, and to send its thoughts", async () => {
    const world = await modelWorldOf("openai", [says("Done.")], { config: { model: "gpt-5-mini" } });
    await world.run();
    expect(world.server.requests[0]?.body).toMatchObject({ store: false, include: ["reasoning.encrypted_content"] });
  });
});
