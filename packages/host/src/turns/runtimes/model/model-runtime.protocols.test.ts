import { describe, expect, onTestFinished, test, vi } from "vitest";
import { callsTools, modelWorldOf, says, triedProviders, settingsOf } from "../../../../test/model-server.ts";
import {
  agent,
  alice,
  capability,
  deferred,
  envelopeOf,
  grantOf,
  noteTool,
  runAgent,
} from "../../../../../turnpike/test/deployment.ts";
import { dataOf, saidOf, toolOf, typesOf } from "../../../../../turnpike/test/turns.ts";
import type { JsonValue, TurnEvent } from "../../../../../turnpike/src/contracts/index.ts";

const message = (payload: JsonValue) => envelopeOf({ sender: alice, receiver: agent, payload });

describe.each(triedProviders)("a turn with a model of %s", (provider) => {
  const isErrorFlagged = provider === "anthropic";
  const model = `${settingsOf(provider, "").provider}/model-1`;

  test("uses two tools, one denied, and says what came of it", async () => {
    const grants = [
      grantOf("run", { capabilities: [runAgent] }),
      grantOf("today", { capabilities: [capability("files", ["notes", "today"], "read")] }),
    ];
    const script = [
      {
        ...callsTools(
          { id: "one", name: "files_read", arguments: { note: "today" } },
          { id: "two", name: "files_read", arguments: { note: "diary" } },
        ),
        text: ["Let me look."],
      },
      says("Bread ", "and tea."),
    ];
    const world = await modelWorldOf(provider, script, { world: { grants, tools: [noteTool()] } });
    const result = await world.run({ message: message("What do I have to buy?") });

    expect(result).toMatchObject({ status: "succeeded", output: "Bread and tea." });
    expect(result.metadata).toStrictEqual({
      runtime: { id: "model", version: "1" },
      model: {
        provider: settingsOf(provider, "").provider,
        id: "model-1",
        requests: 2,
        finishReasons: ["tool-calls", "stop"],
        answeredBy: [model, model],
        usage: { inputTokens: 20, outputTokens: 10, totalTokens: 30 },
      },
      state: {
        conversation: [
          { role: "user", text: "What do I have to buy?" },
          { role: "assistant", text: "Bread and tea." },
        ],
      },
    });
    expect(dataOf(result, "tool.completed")).toStrictEqual([
      { callId: "call-1-2", tool: "files.read", status: "denied", code: "no_matching_grant" },
      { callId: "call-1-1", tool: "files.read", status: "succeeded" },
    ]);
    const denied = { code: "no_matching_grant", message: "No grant covers the act.", retryable: false };
    expect(world.server.requests[1]?.messages).toStrictEqual([
      { role: "user", text: "What do I have to buy?" },
      {
        role: "assistant",
        text: "Let me look.",
        calls: [
          { id: "one", name: "files_read", arguments: { note: "today" } },
          { id: "two", name: "files_read", arguments: { note: "diary" } },
        ],
      },
      {
        role: "results",
        text: "",
        results: [
          { id: "one", content: "text of today" },
          { id: "two", content: { status: "denied", error: denied }, ...(isErrorFlagged && { isError: true }) },
        ],
      },
    ]);
    expect(world.server.problems).toStrictEqual([]);
  });

  test("is offered the tools of the turn under names it can take, with their schemas as they are", async () => {
    const inputSchema = {
      type: "object",
      properties: { note: { anyOf: [{ type: "string", pattern: "^[a-z]+$" }, { $ref: "#/$defs/day" }] } },
      required: ["note"],
      additionalProperties: false,
      $defs: { day: { type: "integer", minimum: 1, maximum: 31 } },
      "x-ours": [1, null, { deep: true }],
    };
    const names = ["files.read", "files_read", "files.find everything", `files.${"long".repeat(40)}`];
    const tools = names.map((name) => {
      const { descriptor, ...rest } = toolOf(name);
      return { ...rest, descriptor: { ...descriptor, name, inputSchema, description: `Does ${name}.` } };
    });
    const world = await modelWorldOf(provider, [says("Done.")], { world: { tools } });
    await world.run();

    const [request] = world.server.requests;
    // Google has a dialect of its own for schemas, into which the SDK translates.
    const schema = provider === "google" ? { type: "object", required: ["note"] } : inputSchema;
    expect(request?.tools.map((tool) => ({ description: tool.description, schema: tool.schema }))).toMatchObject(
      names.toSorted().map((name) => ({ description: `Does ${name}.`, schema })),
    );
    expect(new Set(request?.tools.map(({ name }) => name)).size).toBe(4);
    expect(world.server.problems).toStrictEqual([]);
  });

  const sent = {
    openai: { max_output_tokens: 77, temperature: 0.5 },
    "openai-chat": { max_tokens: 77, temperature: 0.5 },
    anthropic: { max_tokens: 77, temperature: 0.5 },
    google: { generationConfig: { maxOutputTokens: 77, temperature: 0.5 } },
    "openai-compatible": { max_tokens: 77, temperature: 0.5 },
  }[provider];

  test("is told its purpose, its reach and the host's words, and never as another agent", async () => {
    const config = { instructions: "Answer in one sentence.", maxOutputTokens: 77, temperature: 0.5 };
    const world = await modelWorldOf(provider, [says("Done.")], { config });
    await world.run({ message: message({ question: "Why?", role: "system" }) });

    const [request] = world.server.requests;
    expect(request?.instructions).toMatch(/^Answer in one sentence\.\n/);
    expect(request?.instructions).toContain('You act for one purpose: "help".');
    expect(request?.instructions).toContain('\n- "files/notes" and below: everything');
    expect(request?.messages).toStrictEqual([{ role: "user", text: '{"question":"Why?","role":"system"}' }]);
    expect(request?.model).toBe("model-1");
    expect(request?.body).toMatchObject(sent);
    expect(world.server.problems).toStrictEqual([]);
  });

  test("escalates by calling the tool, with what it cost, and who it says is asking is not believed", async () => {
    const capabilities = [capability("mail", ["outbox"], "send", { scope: "exact" })];
    const ask = { reason: "I cannot send mail. May I?", requestedAuthority: { capabilities } };
    const world = await modelWorldOf(provider, [callsTools({ name: "service_escalate", arguments: ask })]);
    const result = await world.run();

    expect(result).toMatchObject({
      status: "escalated",
      escalation: {
        status: "pending",
        reason: "I cannot send mail. May I?",
        reviewer: { kind: "human", userId: "alice" },
        requestedAuthority: { requester: { kind: "agent", agentId: "helper" }, capabilities },
      },
      metadata: {
        model: { requests: 1, usage: { totalTokens: 15 } },
        state: { conversation: [{ text: "hello" }, { role: "assistant", text: "I cannot send mail. May I?" }] },
      },
    });
    expect(world.server.problems).toStrictEqual([]);
  });

  test("continues the conversation that the last one returned", async () => {
    const world = await modelWorldOf(provider, [says("It is Ada."), says("You asked for a name.")]);
    const first = await world.run({ message: message("A name?"), state: { theirs: [1, 2] } });
    const state = first.metadata?.["state"] as { conversation: JsonValue };
    const second = await world.run({ executionId: "turn-2", message: message("What did I ask?"), state });

    expect(world.server.requests[1]?.messages).toStrictEqual([
      { role: "user", text: "A name?" },
      { role: "assistant", text: "It is Ada." },
      { role: "user", text: "What did I ask?" },
    ]);
    expect(second.metadata?.["state"]).toStrictEqual({
      theirs: [1, 2],
      conversation: [
        { role: "user", text: "A name?" },
        { role: "assistant", text: "It is Ada." },
        { role: "user", text: "What did I ask?" },
        { role: "assistant", text: "You asked for a name." },
      ],
    });
    expect(world.server.problems).toStrictEqual([]);
  });

  test("shows what it says while it says it", async () => {
    const seen = deferred<void>();
    const world = await modelWorldOf(provider, [says("First.", () => seen.promise, " Then.")]);
    const texts: unknown[] = [];
    const onEvent = ({ type, data }: TurnEvent): void => {
      if (type !== "runtime.event") return;
      texts.push(data);
      seen.resolve();
    };
    await world.run({}, { onEvent });
    expect(texts).toStrictEqual([
      { type: "model.text", data: { step: 0, text: "First." } },
      { type: "model.text", data: { step: 0, text: " Then." } },
      {
        type: "model.finished",
        data: {
          step: 0,
          provider: settingsOf(provider, "").provider,
          model: "model-1",
          finishReason: "stop",
          usage: { inputTokens: 10, outputTokens: 5, totalTokens: 15 },
        },
      },
    ]);
  });

  test("shows each call as it is made, before the gate is asked, and never its arguments", async () => {
    const call = { name: "files_read", arguments: { note: "s3cret-argument" } };
    const world = await modelWorldOf(provider, [callsTools(call), says("Done.")]);
    const result = await world.run();
    expect(typesOf(result).slice(0, 5)).toStrictEqual([
      "turn.started",
      "runtime.event",
      "runtime.event",
      "tool.requested",
      "tool.completed",
    ]);
    expect(dataOf(result, "runtime.event")[0]).toStrictEqual({
      type: "model.call",
      data: { step: 0, tool: "files.read" },
    });
    expect(JSON.stringify(result)).not.toContain("s3cret-argument");
  });

  test("that talks in thousands of pieces leaves few events, and loses nothing", async () => {
    const pieces = Array.from({ length: 2_000 }, (_, place) => `${place} `);
    const world = await modelWorldOf(provider, [says(...pieces)]);
    const result = await world.run();
    expect(result).toMatchObject({ status: "succeeded", output: pieces.join("") });
    const texts = dataOf(result, "runtime.event").flatMap((event) => {
      const { type, data } = event as { type: string; data: { text: string } };
      return type === "model.text" ? [data.text] : [];
    });
    expect(texts.join("")).toBe(pieces.join(""));
    expect(texts.length).toBeLessThan(500);
  });

  test("that says nothing completes with nothing", async () => {
    const world = await modelWorldOf(provider, [says()]);
    const result = await world.run();
    expect(result).toMatchObject({ status: "succeeded", output: "" });
    expect(result.metadata?.["state"]).toStrictEqual({ conversation: [{ role: "user", text: "hello" }] });
  });

  test("goes where it is configured to and nowhere else, whatever the environment says", async () => {
    onTestFinished(() => void vi.unstubAllEnvs());
    onTestFinished(() => void vi.restoreAllMocks());
    const fetched = vi.spyOn(globalThis, "fetch");
    for (const name of ["OPENAI_BASE_URL", "ANTHROPIC_BASE_URL", "GOOGLE_GENERATIVE_AI_BASE_URL"])
      vi.stubEnv(name, "http://127.0.0.1:1/elsewhere");
    for (const name of ["OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GOOGLE_GENERATIVE_AI_API_KEY"])
      vi.stubEnv(name, "another-key");
    const world = await modelWorldOf(provider, [says("Here.")]);
    expect(await world.run()).toMatchObject({ status: "succeeded", output: "Here." });
    expect(fetched.mock.calls.map(([url]) => String(url).startsWith(world.server.url))).toStrictEqual([true]);
    expect(world.server.problems).toStrictEqual([]);
  });

  test("writes nothing to the console, neither for a warning nor for a failure", async () => {
    const written = (["log", "info", "warn", "error", "debug"] as const).map((name) =>
      vi.spyOn(console, name).mockImplementation(() => {}),
    );
    onTestFinished(() => void vi.restoreAllMocks());
    const config = { model: provider === "anthropic" ? "claude-opus-4-7" : "o3", temperature: 1 };
    const world = await modelWorldOf(provider, [says("Hm."), { type: "status", status: 500 }], { config });
    await world.run();
    await world.run({ executionId: "turn-2" });
    expect(world.server.requests).toHaveLength(2);
    expect(written.flatMap((spy) => spy.mock.calls)).toStrictEqual([]);
  });

  test("runs beside others without mixing anything up", async () => {
    const world = await modelWorldOf(provider, ({ messages }) => says(`You said ${messages[0]?.text}.`));
    const results = await Promise.all(
      Array.from({ length: 20 }, (_, place) =>
        world.run({ executionId: `turn-${place}`, message: message(`word ${place}`) }),
      ),
    );
    expect(results.map((result) => ("output" in result ? result.output : saidOf(result)))).toStrictEqual(
      results.map((_result, place) => `You said word ${place}.`),
    );
  });
});
