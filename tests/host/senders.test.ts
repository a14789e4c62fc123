import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { MessageEnvelope, PrincipalRef } from "../../packages/turnpike/src/contracts/index.ts";
import { ask, type Answer } from "../../packages/host/test/host-calls.ts";
import { makeFolder, startHostProcess, type HostProcess } from "../support/host-process.ts";
import { alice, assistant } from "../support/host-world.ts";
import { modelKey, openModelServer, says, type ModelServer } from "../../packages/host/test/model-server.ts";

const bob: PrincipalRef = { kind: "human", userId: "bob" };

/** The demo, with a model that records what it is told. */
async function startDemo(): Promise<{ host: HostProcess; model: ModelServer; tokens: Record<string, string> }> {
  const model = await openModelServer("openai", () => says("Done."));
  const folder = makeFolder();
  const runtime = { kind: "model", provider: "openai", model: "m", baseUrl: model.url, apiKeyEnv: "MODEL_KEY" };
  writeFileSync(join(folder, "turnpike.config.json"), JSON.stringify({ runtime }));
  const args = ["serve", "--port", "0", "--demo"];
  const host = await startHostProcess({ folder, args, env: { MODEL_KEY: modelKey } });
  const file = join(folder, ".turnpike/demo-tokens.json");
  return { host, model, tokens: JSON.parse(readFileSync(file, "utf8")) as Record<string, string> };
}

function message(id: string, sender: PrincipalRef, payload = "Water the plants."): MessageEnvelope {
  const about = { version: 1 as const, id, createdAt: "2026-01-01T00:00:00Z", traceId: "trace-1", purpose: "demo" };
  return { ...about, sender, receiver: assistant, payload };
}

const headers = { "x-trace-id": "trace-1" };

function runTurn(host: HostProcess, token: string, id: string, about: MessageEnvelope, more = {}): Promise<Answer> {
  const body = { version: 1, executionId: id, agent: assistant, message: about, ...more };
  return ask(host.url, "/v1/turns", { token, headers, body });
}

test("a model is told that a sender is the caller's word, unless the message was sent to the agent", async () => {
  const { host, model, tokens } = await startDemo();
  const { alice: alices = "", assistant: assistants = "" } = tokens;
  const told = async (id: string, about: MessageEnvelope, more = {}): Promise<string | undefined> => {
    expect((await runTurn(host, assistants, id, about, more)).body).toMatchObject({ status: "succeeded" });
    return /(claims that your|Your) message is from "[^"]*"/.exec(model.requests.at(-1)?.instructions ?? "")?.[0];
  };

  const boast = { isSenderVerified: true, verified: true };
  expect(await told("t1", message("m1", alice), { metadata: boast, state: boast })).toBe(
    'claims that your message is from "human:alice"',
  );
  const sent = await ask(host.url, "/v1/messages", { token: alices, headers, body: message("m1", alice) });
  expect(sent.status).toBe(202);
  expect(await told("t2", message("m1", alice))).toBe('Your message is from "human:alice"');
  expect(await told("t3", message("m1", alice, "Pay Bob."))).toBe('claims that your message is from "human:alice"');
  expect(await told("t4", message("m1", bob))).toBe('claims that your message is from "human:bob"');
});

test("a credential that may name Alice starts turns with messages from her, and from no one else", async () => {
  const { host, tokens } = await startDemo();
  const access = { actor: assistant, owner: alice, authority: alice, purposes: ["demo"], senders: [alice] };
  const body = { namespaceId: "demo", access };
  const made = await ask(host.url, "/admin/v1/credentials", { token: host.operatorToken(), body });
  const { token } = made.body as { token: string };

  expect((await runTurn(host, token, "t1", message("m1", alice))).body).toMatchObject({ status: "succeeded" });
  for (const accept of ["application/json", "text/event-stream"]) {
    const turn = { version: 1, executionId: "t2", agent: assistant, message: message("m2", bob) };
    const refused = await ask(host.url, "/v1/turns", { token, headers: { ...headers, accept }, body: turn });
    expect([refused.status, refused.body]).toMatchObject([403, { error: { code: "sender_not_allowed" } }]);
  }
  // Nor is it shown what became of such a turn that another credential of the same agent started.
  const { assistant: unlimited = "" } = tokens;
  expect((await runTurn(host, unlimited, "t3", message("m3", bob))).body).toMatchObject({ status: "succeeded" });
  expect((await runTurn(host, token, "t3", message("m3", bob))).status).toBe(403);
});
