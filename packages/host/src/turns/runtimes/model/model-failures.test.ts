import { describe, expect, test } from "vitest";
import {
  callsTools,
  configOf,
  modelKey,
  openModelServer,
  runtimeOf,
  says,
  type ModelReply,
  type ScriptedReply,
  modelWorldOf,
  providers,
} from "../../../../test/model-server.ts";
import { dataOf, never, saidOf, toolOf, toolsOf, turnWorldOf } from "../../../../../turnpike/test/turns.ts";
import { z } from "zod";
import { defineTool } from "../../../../../turnpike/src/kernel/index.ts";

/** What a provider could say about us that nobody else is to hear. */
const quoted = `Incorrect API key provided: ${modelKey}. See provider-body.`;
const headers = { "x-provider-secret": "provider-header", "retry-after": "0" };
const status = (code: number): ModelReply => ({ type: "status", status: code, words: quoted, headers });

interface Row {
  name: string;
  reply: ModelReply;
  code: string;
  retryable: boolean;
  details?: object;
}

const rows: Row[] = [
  ...[429].map((code) => ({
    name: `a status of ${code}`,
    reply: status(code),
    code: "model_rate_limited",
    retryable: true,
    details: { status: code },
  })),
  ...[408, 500, 502, 503, 504, 529].map((code) => ({
    name: `a status of ${code}`,
    reply: status(code),
    code: "model_unavailable",
    retryable: true,
    details: { status: code },
  })),
  ...[400, 401, 403, 404, 409, 413, 422].map((code) => ({
    name: `a status of ${code}`,
    reply: status(code),
    code: "model_rejected_request",
    retryable: false,
    details: { status: code },
  })),
  {
    name: "an error page",
    reply: { type: "status", status: 502, body: `<html>${quoted}</html>`, headers: { "content-type": "text/html" } },
    code: "model_unavailable",
    retryable: true,
    details: { status: 502 },
  },
  {
    name: "an error without a body",
    reply: { type: "status", status: 404, body: "" },
    code: "model_rejected_request",
    retryable: false,
    details: { status: 404 },
  },
  { name: "a reset connection", reply: { type: "break", with: "reset" }, code: "model_unavailable", retryable: true },
  {
    name: "a reset in the middle of a stream",
    reply: { type: "break", text: "I was just", with: "reset" },
    code: "model_unavailable",
    retryable: true,
  },
  {
    name: "a stream that ends in the middle",
    reply: { type: "break", text: "I was just", with: "end" },
    code: "model_unavailable",
    retryable: true,
  },
  {
    name: "an overload in the middle of a stream",
    reply: { type: "break", text: "I was just", with: { error: "overloaded_error" } },
    code: "model_unavailable",
    retryable: true,
  },
  {
    name: "a rate limit in the middle of a stream",
    reply: { type: "break", text: "I was just", with: { error: "rate_limit_error" } },
    code: "model_rate_limited",
    retryable: true,
  },
  {
    name: "a refusal of the request in the middle of a stream",
    reply: { type: "break", text: "I was just", with: { error: "invalid_request_error" } },
    code: "model_rejected_request",
    retryable: false,
  },
  {
    name: "a web page",
    reply: { type: "send", body: `<html>${quoted}</html>`, contentType: "text/html" },
    code: "model_response_invalid",
    retryable: false,
  },
  {
    name: "events that are no JSON",
    reply: { type: "send", body: `data: {"choices": ${quoted}\n\n` },
    code: "model_response_invalid",
    retryable: false,
  },
  {
    name: "events of another kind",
    reply: { type: "send", body: 'data: {"choices":"none","type":5}\n\n' },
    code: "model_response_invalid",
    retryable: false,
  },
  { name: "nothing at all", reply: { type: "send", body: "" }, code: "model_response_invalid", retryable: false },
  {
    name: "an overload at the beginning of a stream",
    reply: { type: "break", with: { error: "overloaded_error" } },
    code: "model_unavailable",
    retryable: true,
  },
  {
    name: "a refusal of the request at the beginning of a stream",
    reply: { type: "break", with: { error: "invalid_request_error" } },
    code: "model_rejected_request",
    retryable: false,
  },
  {
    name: "a reply cut at the token limit",
    reply: { type: "say", text: ["It is a long"], finish: "length" },
    code: "model_output_truncated",
    retryable: false,
  },
  {
    name: "calls cut at the token limit",
    reply: { type: "say", calls: [{ name: "files_read", arguments: '{"note": "to' }], finish: "length" },
    code: "model_output_truncated",
    retryable: false,
  },
  {
    name: "a reply that repeats the key",
    reply: { type: "say", text: ["The key is", ` ${modelKey}.`] },
    code: "model_response_invalid",
    retryable: false,
  },
  {
    name: "more words than a turn may hold",
    reply: { type: "say", text: ["x".repeat(1_000_001)] },
    code: "model_response_invalid",
    retryable: false,
  },
  {
    name: "a reply that a filter stopped",
    reply: { type: "say", text: ["I cannot"], finish: "refused" },
    code: "model_refused",
    retryable: false,
  },
];

describe.each(providers)("a model of %s that fails", (provider) => {
  for (const { name, reply, code, retryable, details } of rows) {
    test(`with ${name} ends the turn ${code}, after one request, in our words alone`, async () => {
      const { read } = toolsOf();
      const world = await modelWorldOf(provider, [reply], { world: { tools: [read] } });
      const result = await world.run();
      expect(result).toMatchObject({ status: "failed", error: { code, retryable, ...(details && { details }) } });
      expect(result.metadata).not.toHaveProperty("state");
      expect(read.calls).toStrictEqual([]);
      expect(world.turnErrors).toStrictEqual([]);
      expect(world.server.requests).toHaveLength(1);
      expect(world.server.problems).toStrictEqual([]);
      for (const secret of [modelKey, "provider-body", "provider-header", "<html>"])
        expect(JSON.stringify(result)).not.toContain(secret);
    });
  }

  test("after a tool had its effect cannot be tried again", async () => {
    const { write } = toolsOf();
    const script = [callsTools({ name: "files_write" }), status(503)];
    const world = await modelWorldOf(provider, script, { world: { tools: [write] } });
    expect(await world.run()).toMatchObject({
      status: "failed",
      error: { code: "model_unavailable", retryable: false },
      metadata: { model: { requests: 2, finishReasons: ["tool-calls"], usage: { totalTokens: 15 } } },
    });
    expect(write.calls).toHaveLength(1);
  });

  test("does not take the key where a redirect points", async () => {
    const elsewhere = await openModelServer(provider, [says("Thanks.")]);
    for (const code of [301, 302, 307, 308]) {
      const location = `${elsewhere.url}/chat/completions`;
      const reply: ModelReply = { type: "status", status: code, headers: { location } };
      const world = await modelWorldOf(provider, [reply]);
      expect(await world.run()).toMatchObject({
        status: "failed",
        error: { code: "model_rejected_request", retryable: false, details: { status: code } },
      });
    }
    expect(elsewhere.requests).toStrictEqual([]);
  });

  test("by never ending its reply runs into a bound", async () => {
    const flood = Array.from({ length: 40 }, () => "x".repeat(500_000));
    const world = await modelWorldOf(provider, [says(...flood, never)]);
    expect(await world.run()).toMatchObject({ status: "failed", error: { code: "model_response_invalid" } });
    await world.server.left;
  });

  for (const { name, reply } of [
    { name: "does not answer", reply: { type: "break", with: "silence" } },
    { name: "stops in the middle of a stream", reply: { type: "break", text: "I was just", with: "silence" } },
  ] satisfies { name: string; reply: ScriptedReply }[]) {
    test(`because it ${name} is left at the turn's deadline`, async () => {
      const world = await modelWorldOf(provider, [reply]);
      const started = performance.now();
      expect(await world.run({ options: { timeoutMs: 1_000 } })).toMatchObject({
        status: "cancelled",
        error: { code: "turn_cancelled", retryable: true },
      });
      expect(performance.now() - started).toBeLessThan(60_000);
      await world.server.left;
      expect(world.turnErrors).toStrictEqual([]);
    });

    test(`because it ${name} is left when the caller goes`, async () => {
      const caller = new AbortController();
      const leave = (): ModelReply => (caller.abort(), reply);
      const world = await modelWorldOf(provider, [leave]);
      expect(saidOf(await world.run({}, { signal: caller.signal }))).toBe("turn_cancelled");
      await world.server.left;
    });
  }
});

describe.each(providers)("arguments of a model of %s", (provider) => {
  const malformed: { name: string; arguments: unknown }[] = [
    { name: "no JSON", arguments: '{"note": "to' },
    { name: "not even text of it", arguments: "today please" },
    { name: "a list", arguments: "[1]" },
    { name: "a number", arguments: "5" },
    { name: "null", arguments: "null" },
    { name: "a text", arguments: '"today"' },
    { name: "nested too deep", arguments: `{"a":${"[".repeat(70)}${"]".repeat(70)}}` },
    { name: "with a key of the prototype", arguments: '{"note":"a","__proto__":{"isAdmin":true}}' },
  ];
  // Google sends arguments as values: one with a key of the prototype spoils the whole event.
  const survivable = malformed.filter(({ name }) => provider !== "google" || !name.includes("prototype"));
  for (const { name, arguments: args } of survivable) {
    test(`that are ${name} reach no tool, cost a step, and the model is told`, async () => {
      const { read } = toolsOf();
      const script = [callsTools({ name: "files_read", arguments: args }), says("I am sorry.")];
      const world = await modelWorldOf(provider, script, { world: { tools: [read] } });
      const result = await world.run({ options: { maxSteps: 2 } });
      expect(result).toMatchObject({ status: "succeeded", output: "I am sorry." });
      expect(world.server.requests[1]?.messages.at(-1)?.results).toMatchObject([
        { content: { status: "failed", error: { code: "invalid_tool_arguments", retryable: false } } },
      ]);
      expect(read.calls).toStrictEqual([]);
      expect(dataOf(result, "tool.requested")).toStrictEqual([]);
      expect(world.server.problems).toStrictEqual([]);
    });
  }

  test("that never get better end at the turn's last step", async () => {
    const { read } = toolsOf();
    const script = callsTools({ name: "files_read", arguments: "today please" });
    const world = await modelWorldOf(provider, script, { world: { tools: [read] } });
    expect(saidOf(await world.run({ options: { maxSteps: 3 } }))).toBe("step_limit_exceeded");
    expect(world.server.requests).toHaveLength(3);
  });

  test("that do not fit the tool are refused by the tool, and the model learns what fits", async () => {
    const ran: unknown[] = [];
    const strict = defineTool({
      name: "files.read",
      description: "Reads one note.",
      namespace: "files",
      readWrite: "read",
      input: z.strictObject({ note: z.string() }),
      requires: { action: "read", resource: { namespace: "files", path: ["notes"] } },
      run: ({ note }) => ran.push(note),
    });
    const script = [callsTools({ name: "files_read", arguments: { note: 5, also: true } }), says("I am sorry.")];
    const world = await modelWorldOf(provider, script, { world: { tools: [strict] } });
    expect(saidOf(await world.run())).toBe("succeeded");
    expect(world.server.requests[1]?.messages.at(-1)?.results).toMatchObject([
      {
        content: {
          status: "failed",
          error: { code: "invalid_tool_arguments", message: "/note: expected string; /also: expected no such key" },
        },
      },
    ]);
    expect(ran).toStrictEqual([]);
  });

  test("that are left out are none", async () => {
    const { read } = toolsOf();
    const world = await modelWorldOf(provider, [callsTools({ name: "files_read", arguments: "" }), says("Done.")], {
      world: { tools: [read] },
    });
    expect(saidOf(await world.run())).toBe("succeeded");
    expect(read.calls).toMatchObject([{ arguments: {} }]);
  });

  test("of one call that are broken do not keep the others from the gate", async () => {
    const { read } = toolsOf();
    const script = [
      callsTools(
        { id: "broken", name: "files_read", arguments: "{" },
        { id: "sound", name: "files_read", arguments: { note: "a" } },
      ),
      says("Done."),
    ];
    const world = await modelWorldOf(provider, script, { world: { tools: [read] } });
    expect(saidOf(await world.run())).toBe("succeeded");
    expect(world.server.requests[1]?.messages.at(-1)?.results).toMatchObject([
      { id: "broken", content: { status: "failed", error: { code: "invalid_tool_arguments" } } },
      { id: "sound", content: "call-1-2" },
    ]);
    expect(read.calls).toMatchObject([{ id: "call-1-2", arguments: { note: "a" } }]);
    expect(world.server.problems).toStrictEqual([]);
  });
});

test("an event of google with a key of the prototype is no reply, and reaches no tool", async () => {
  const { read } = toolsOf();
  const call = { name: "files_read", arguments: '{"note":"a","__proto__":{"isAdmin":true}}' };
  const world = await modelWorldOf("google", [callsTools(call)], { world: { tools: [read] } });
  expect(saidOf(await world.run())).toBe("model_response_invalid");
  expect(read.calls).toStrictEqual([]);
});

test("a quota that is spent does not come back by waiting", async () => {
  const error = { message: "You exceeded your current quota.", type: "insufficient_quota", code: "insufficient_quota" };
  const reply: ModelReply = { type: "status", status: 429, body: JSON.stringify({ error }) };
  const world = await modelWorldOf("openai", [reply]);
  expect(await world.run()).toMatchObject({ error: { code: "model_rate_limited", retryable: false } });
});

test("a provider that is not there is one that may come back", async () => {
  const baseUrl = "http://127.0.0.1:1/v1";
  const config = configOf({ provider: "openai", model: "m", baseUrl, apiKeyEnv: "MODEL_KEY" });
  const result = await turnWorldOf(await runtimeOf(config)).run();
  expect(result).toMatchObject({ status: "failed", error: { code: "model_unavailable", retryable: true } });
  expect(JSON.stringify(result)).not.toContain("127.0.0.1");
});

test("counts that are none are not counted", async () => {
  const chunk = (part: object): string => `data: ${JSON.stringify({ id: "1", model: "m", created: 1, ...part })}\n\n`;
  const body = [
    chunk({ choices: [{ index: 0, delta: { content: "Hi." }, finish_reason: "stop" }] }),
    `data: {"id":"1","choices":[],"usage":{"prompt_tokens":1.5,"completion_tokens":-5,"total_tokens":null}}\n\n`,
  ].join("");
  const world = await modelWorldOf("openai-compatible", [{ type: "send", body }]);
  const result = await world.run();
  expect(result).toMatchObject({ status: "succeeded", output: "Hi." });
  expect(result.metadata?.["model"]).toMatchObject({ usage: {} });
});

test("a tool that fails is told to the model as it is told to everybody", async () => {
  const broken = toolOf("files.read", { work: () => Promise.reject(new Error("s3cret of the tool")) });
  const world = await modelWorldOf("openai", [callsTools({ name: "files_read" }), says("It failed.")], {
    world: { tools: [broken] },
  });
  expect(saidOf(await world.run())).toBe("succeeded");
  expect(world.server.requests[1]?.messages.at(-1)?.results).toMatchObject([
    { content: { status: "failed", error: { code: "tool_execution_failed" } } },
  ]);
  expect(JSON.stringify(world.server.requests)).not.toContain("s3cret");
});
