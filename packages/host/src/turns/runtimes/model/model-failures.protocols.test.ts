import { describe, expect, test } from "vitest";
import {
  callsTools,
  modelKey,
  openModelServer,
  says,
  type ModelReply,
  type ScriptedReply,
  modelWorldOf,
  triedProviders,
} from "../../../../test/model-server.ts";
import { never, saidOf, toolsOf } from "../../../../../turnpike/test/turns.ts";

/** What a provider could say about us that the caller is not to hear. */
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

describe.each(triedProviders)("a model of %s that fails", (provider) => {
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
