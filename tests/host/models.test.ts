import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { loadConfig } from "../../packages/host/src/compose/config.ts";
import { ask, type Answer } from "../../packages/host/test/host-calls.ts";
import { makeFolder, runTurnpike, startHostProcess, type HostProcess } from "../support/host-process.ts";
import { readBlocks } from "../support/markdown.ts";
import {
  callsTools,
  modelKey,
  openModelServer,
  says,
  type ModelServer,
  providers,
  settingsOf,
} from "../../packages/host/test/model-server.ts";
import { alice, assistant } from "../support/host-world.ts";

type Provider = (typeof providers)[number];
/** One for each provider: what differs between the two APIs of OpenAI is tested beside the code. */
const hosts = providers.filter((provider) => provider !== "openai-chat");

/** A folder whose configuration asks a model at this address. */
function configured(provider: Provider, baseUrl: string): string {
  const folder = makeFolder();
  const runtime = { kind: "model", ...settingsOf(provider, baseUrl) };
  writeFileSync(join(folder, "turnpike.config.json"), JSON.stringify({ runtime, log: { level: "debug" } }));
  return folder;
}

const env = { MODEL_KEY: modelKey };
const demo = ["serve", "--port", "0", "--demo"];

/** Asks the demo's assistant, as a turn or as a stream of it. */
function question(host: HostProcess, id: string, more: { accept?: string; state?: unknown } = {}): Promise<Answer> {
  const { accept = "application/json", state } = more;
  const tokens = JSON.parse(readFileSync(join(host.folder, ".turnpike/demo-tokens.json"), "utf8")) as {
    assistant: string;
  };
  const message = {
    version: 1,
    id,
    createdAt: "2026-01-01T00:00:00Z",
    traceId: id,
    purpose: "demo",
    sender: alice,
    receiver: assistant,
    payload: "What is in my notes and in my diary?",
  };
  return ask(host.url, "/v1/turns", {
    token: tokens.assistant,
    headers: { "x-trace-id": id, accept },
    body: { version: 1, executionId: id, agent: assistant, message, ...(state !== undefined && { state }) },
  });
}

/** Lists the notes and tries the diary, then says so. */
function serveModel(provider: Provider): Promise<ModelServer> {
  return openModelServer(provider, ({ messages }) =>
    messages.at(-1)?.role === "results"
      ? says("Two notes, ", "and no diary.")
      : callsTools(
          { id: "notes", name: "files_list", arguments: { path: "notes" } },
          { id: "diary", name: "files_read", arguments: { path: "private/diary.md" } },
        ),
  );
}

describe.each(hosts)("a host with a model of %s", (provider) => {
  test("runs turns with it: two tools, one denied, streamed as they happen", async () => {
    const server = await serveModel(provider);
    const folder = configured(provider, server.url);
    const host = await startHostProcess({ folder, args: demo, env });

    const answer = await question(host, "turn-1");
    expect(answer.status).toBe(200);
    expect(answer.body).toMatchObject({
      status: "succeeded",
      output: "Two notes, and no diary.",
      metadata: {
        runtime: { id: "model", version: "1" },
        model: { provider, id: "model-1", requests: 2, usage: { inputTokens: 20, outputTokens: 10, totalTokens: 30 } },
        state: { conversation: [{ role: "user" }, { role: "assistant", text: "Two notes, and no diary." }] },
      },
    });
    expect(server.requests[0]?.tools.map(({ name }) => name)).toEqual([
      "files_list",
      "files_read",
      "files_search",
      "messages_inbox",
      "messages_send",
      "payments_pay",
      "service_escalate",
    ]);
    expect(server.requests[0]?.instructions).toContain('- "files/notes" and below: "list", "read"');
    expect(server.requests[1]?.messages.at(-1)?.results).toMatchObject([
      { id: "notes", content: { entries: [{ path: "notes/ideas.md" }, { path: "notes/todo.md" }] } },
      { id: "diary", content: { status: "denied", error: { code: "no_matching_grant" } } },
    ]);

    const { metadata } = answer.body as { metadata: { state: unknown } };
    const stream = await question(host, "turn-2", { accept: "text/event-stream", state: metadata.state });
    const events = [...stream.text.matchAll(/^event: turn\.event\nid: \d+\ndata: (.*)$/gm)].map(
      ([, data = ""]) => JSON.parse(data) as { type: string; data: { type?: string; data?: unknown; code?: string } },
    );
    // Text comes in pieces of a tenth of a second: how many there are depends on the machine.
    const texts = events.filter(({ data }) => data.type === "model.text").map(({ data }) => data.data);
    expect(texts).toEqual(texts.map(() => ({ step: 1, text: expect.any(String) as string })));
    expect(texts.map((piece) => (piece as { text: string }).text).join("")).toBe("Two notes, and no diary.");
    const types = events.map(({ type, data }) => (type === "runtime.event" ? data.type : type));
    expect(types.filter((type) => type !== "model.text").toSorted()).toEqual([
      "model.call",
      "model.call",
      "model.finished",
      "model.finished",
      "tool.completed",
      "tool.completed",
      "tool.requested",
      "tool.requested",
      "turn.completed",
      "turn.started",
    ]);
    expect(server.requests[2]?.messages.map(({ role }) => role)).toEqual(["user", "assistant", "user"]);

    expect(await host.stop("SIGINT")).toEqual({ code: 0, signal: null });
    expect(server.problems).toEqual([]);
    const stored = readdirSync(join(folder, ".turnpike")).map((file) =>
      readFileSync(join(folder, ".turnpike", file), "latin1"),
    );
    for (const place of [answer.text, stream.text, host.stdout(), host.stderr(), ...stored])
      expect(place.includes(modelKey)).toBe(false);
  });

  test("says in its own words when the provider refuses the key, and shows it nowhere", async () => {
    const words = `Incorrect API key provided: ${modelKey}`;
    const server = await openModelServer(provider, { type: "status", status: 401, words });
    const host = await startHostProcess({ folder: configured(provider, server.url), args: demo, env });
    const answer = await question(host, "turn-1");
    expect(answer.body).toMatchObject({
      status: "failed",
      error: {
        code: "model_rejected_request",
        message: "The model's provider refused the request.",
        retryable: false,
        details: { status: 401 },
      },
    });
    await host.stop();
    for (const place of [answer.text, host.stdout(), host.stderr()]) {
      expect(place).not.toContain(modelKey);
      expect(place).not.toContain("Incorrect");
    }
  });
});

test("a host does not start without the variable it was told of, and leaves nothing behind", async () => {
  const folder = configured("openai", "http://127.0.0.1:1/v1");
  const { code, stdout, stderr } = await runTurnpike({ folder, args: ["serve", "--port", "0"] });
  expect({ code, stdout, stderr }).toEqual({
    code: 2,
    stdout: "",
    stderr: "runtime.apiKeyEnv: the variable MODEL_KEY is not set. Put the key of the model there.\n",
  });
  expect(readdirSync(folder)).toEqual(["turnpike.config.json"]);
});

test("the variable's name is shown in the configuration and by the doctor, the key never", async () => {
  const folder = configured("openai", "http://127.0.0.1:1/v1");
  const shown = await runTurnpike({ folder, args: ["serve", "--print-config"], env });
  expect(JSON.parse(shown.stdout)).toMatchObject({
    runtime: { kind: "model", provider: "openai", apiKeyEnv: "MODEL_KEY" },
  });
  const set = await runTurnpike({ folder, args: ["doctor", "--port", "0"], env });
  expect(set.stdout).toContain("ok  runtime: MODEL_KEY is set\n");
  const missing = await runTurnpike({ folder, args: ["doctor", "--port", "0"] });
  expect(missing.code).toBe(1);
  expect(missing.stdout).toContain("BAD runtime: runtime.apiKeyEnv: the variable MODEL_KEY is not set.");
  for (const { stdout, stderr } of [shown, set, missing]) expect(stdout + stderr).not.toContain(modelKey);
});

test("the doctor checks the key of every fallback", async () => {
  const folder = makeFolder();
  const fallback = { ...settingsOf("anthropic", "http://127.0.0.1:1/v1"), apiKeyEnv: "OTHER_KEY" };
  const runtime = { kind: "model", ...settingsOf("openai", "http://127.0.0.1:1/v1"), fallbacks: [fallback] };
  writeFileSync(join(folder, "turnpike.config.json"), JSON.stringify({ runtime }));
  const missing = await runTurnpike({ folder, args: ["doctor", "--port", "0"], env });
  expect(missing.code).toBe(1);
  expect(missing.stdout).toContain("ok  runtime: MODEL_KEY is set\n");
  expect(missing.stdout).toContain("BAD runtime: runtime.fallbacks.0.apiKeyEnv: the variable OTHER_KEY is not set.");
  const both = { ...env, OTHER_KEY: "sk-other-0123456789" };
  const set = await runTurnpike({ folder, args: ["doctor", "--port", "0"], env: both });
  expect(set.stdout).toContain("ok  runtime: OTHER_KEY is set\n");
  const shown = await runTurnpike({ folder, args: ["serve", "--print-config"], env: both });
  expect(shown.stdout).toContain('"apiKeyEnv": "OTHER_KEY"');
  for (const { stdout, stderr } of [set, shown]) expect(stdout + stderr).not.toContain("sk-");
});

test("the demo without a model stays as it is", async () => {
  const host = await startHostProcess({ folder: makeFolder(), args: demo });
  const { body } = await question(host, "turn-1");
  expect(body).toMatchObject({ status: "succeeded", metadata: { runtime: { id: "scripted", version: "1" } } });
});

const guide = "docs/guide/models.md";
const configurations = readBlocks(guide).filter((block) => block.info === "json" && block.text.includes('"kind"'));
for (const { line, text } of configurations) {
  test(`the configuration at line ${line} of the guide is a valid one`, () => {
    const file = join(makeFolder(), "turnpike.config.json");
    writeFileSync(file, text);
    expect(loadConfig({ file, env: {}, flags: {} })).toMatchObject(JSON.parse(text) as object);
  });
}
