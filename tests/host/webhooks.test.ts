import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { anyDatabase, newLocation } from "../../packages/host/test/databases.ts";
import { ask, eventually } from "../../packages/host/test/host-calls.ts";
import { openReceiver, type Receiver } from "../../packages/host/test/webhook-receiver.ts";
import { makeFolder, runTurnpike, startHostProcess, type HostProcess } from "../support/host-process.ts";
import { commandWith, words } from "../support/terminal.ts";
import { alice, assistant, listCall, makeGrant, makeTenant, turn } from "../support/host-world.ts";

const askingHost = fileURLToPath(new URL("../support/asking-host.js", import.meta.url));
const secret = "the secret of the webhook of this test";
const marker = "MARKER";

interface Place {
  folder: string;
  database: string;
  webhooks: string;
}

async function placeFor(kind: (typeof anyDatabase)[number], receiver: Receiver, events?: string[]): Promise<Place> {
  const folder = makeFolder();
  const database = await newLocation(kind, join(folder));
  const webhook = { url: `${receiver.url}?token=${marker}`, secretEnv: "HOOK_SECRET", ...(events && { events }) };
  return { folder, database, webhooks: JSON.stringify([webhook]) };
}

/** A host whose agents ask. Its operator's token is stored where the database's folder is. */
async function start({ folder, database, webhooks }: Place): Promise<HostProcess> {
  const args = [`database=${database}`, `notify.webhooks=${webhooks}`];
  const host = await startHostProcess({ folder, script: askingHost, args, env: { HOOK_SECRET: secret } });
  const token = database.startsWith("postgres") ? join(folder, ".turnpike") : folder;
  return { ...host, operatorToken: () => readFileSync(join(token, "admin-token"), "utf8").trim() };
}

/** A tenant whose assistant may ask, and the assistant's token. */
async function enter(host: HostProcess): Promise<string> {
  const token = await makeTenant(host);
  await makeGrant(host, { id: "asks", resource: "service/escalation", actions: ["request"] });
  await ask(host.url, "/v1/tools/namespaces", { token, method: "PUT", body: { enable: ["files", "service"] } });
  return token;
}

/** A turn that ends with an escalation, whose every word is the marker. */
async function escalate({ url }: HostProcess, token: string, id: string): Promise<void> {
  const capability = { resource: { namespace: "files", path: [marker, id] }, actions: ["read"], scope: "exact" };
  const asked = { reason: `${marker} ${id}`, requestedAuthority: { capabilities: [capability] } };
  const body = turn(id, "t", { escalate: asked, also: marker }, new Date().toISOString());
  const answer = await ask(url, "/v1/turns", { token, headers: { "x-trace-id": "t" }, body });
  expect(answer.body).toMatchObject({ status: "escalated" });
}

const turnsOf = ({ received }: Receiver) => received.map(({ message }) => message.data["executionId"]);

describe.each(anyDatabase)("a host on %s with a webhook", (kind) => {
  test("says what it was told, what failed, and tells it again on request", async () => {
    const receiver = await openReceiver(Buffer.from(secret));
    receiver.reply(() => 503);
    const host = await start(await placeFor(kind, receiver));
    await escalate(host, await enter(host), "1");
    const type = (...args: string[]) =>
      commandWith(host.folder, [...args, "--url", host.url], { TURNPIKE_ADMIN_TOKEN: host.operatorToken() });
    const list = async () => {
      const { stdout } = await type(...words`webhook list --tenant acme --json`);
      return (JSON.parse(stdout) as { deliveries: { id: string; state: string; lastError?: string }[] }).deliveries;
    };
    await eventually(async () =>
      expect(await list()).toMatchObject([{ state: "retrying", lastError: "answered 503" }]),
    );
    const [failed] = await list();
    receiver.reply(() => 204);
    expect(await type(...words`webhook retry ${failed?.id ?? ""} --tenant acme`)).toMatchObject({
      code: 0,
      stderr: "",
    });
    await eventually(async () => expect(await list()).toMatchObject([{ id: failed?.id, state: "delivered" }]));
    const { stdout } = await type(...words`webhook list`);
    expect(stdout).toMatch(/^TENANT +ID +STATE /);
    expect(stdout).toContain("delivered");
    expect(stdout).not.toContain(marker);
    expect((await type(...words`webhook retry msg_0 --tenant acme`)).stderr).toContain(
      "Refused (not_found): There is no message of this id to a webhook in this tenant.",
    );
  });

  test("tells it of what was asked before it was killed, while it sent and before it could", async () => {
    const receiver = await openReceiver(Buffer.from(secret));
    const place = await placeFor(kind, receiver);
    const first = await start(place);
    const token = await enter(first);
    receiver.reply(() => "hang");
    for (const id of ["turn-1", "turn-2", "turn-3"]) await escalate(first, token, id);
    await eventually(() => expect(receiver.received).toHaveLength(1));
    await first.stop("SIGKILL");
    receiver.reply(() => 200);
    const second = await start(place);
    await eventually(() => expect(turnsOf(receiver)).toEqual(["turn-1", "turn-1", "turn-2", "turn-3"]));
    const [one, again, ...others] = receiver.received;
    expect([again?.id, again?.body]).toEqual([one?.id, one?.body]);
    expect(receiver.received.every(({ isSigned }) => isSigned)).toBe(true);
    expect(new Set(others.map(({ id }) => id)).size).toBe(2);

    const { escalationId, requestHash } = one?.message.data ?? {};
    const body = { namespaceId: "acme", id: escalationId, ask: requestHash, reason: marker };
    const denied = await ask(second.url, "/admin/v1/escalations/deny", { token: second.operatorToken(), body });
    expect(denied.status).toBe(200);
    await eventually(() => expect(receiver.received).toHaveLength(5));
    expect(receiver.received[4]?.message).toMatchObject({
      type: "escalation.answered",
      data: { escalationId, status: "denied", decidedBy: expect.any(String) as string },
    });
    expect(one?.message.data["link"]).toBe(`${first.url}/console/acme/questions/${String(escalationId)}`);
    await second.stop();
    const written = [first, second].map((host) => host.stdout() + host.stderr());
    for (const text of [...written, ...receiver.received.map((each) => each.body)]) {
      expect(text).not.toContain(marker);
      expect(text).not.toContain(secret);
    }
  });
});

test("a denial is told with its decision, and without the arguments of the call", async () => {
  const receiver = await openReceiver(Buffer.from(secret));
  const host = await start(await placeFor("sqlite", receiver, ["decision.denied"]));
  const token = await enter(host);
  const call = listCall("call-1", "t", `${marker}/private`);
  const denied = await ask(host.url, "/v1/tools/invoke", { token, headers: { "x-trace-id": "t" }, body: call });
  expect(denied.body).toMatchObject({ status: "denied" });
  await eventually(() => expect(receiver.received).toHaveLength(1));
  expect(receiver.received[0]?.message).toMatchObject({
    type: "decision.denied",
    data: { tenant: "acme", tool: "files.list", reasonCode: "no_matching_grant" },
  });
  expect(receiver.received[0]?.body).not.toContain(marker);
  await eventually(async () => {
    const { text } = await ask(host.url, "/metrics", { token: host.operatorToken() });
    expect(text).toContain('turnpike_webhook_messages_total{outcome="sent"} 1');
    expect(text).toContain('turnpike_queue_depth{queue="webhooks"} 0');
  });
  await host.stop();
});

test("an act that needs an approval is reported with its hash, and without its arguments", async () => {
  const receiver = await openReceiver(Buffer.from(secret));
  const host = await start(await placeFor("sqlite", receiver));
  const token = await enter(host);
  const resource = { namespace: "files", path: ["notes"], owner: alice };
  const capability = { resource, actions: ["create"], scope: "descendants", approval: "each" };
  const people = { namespaceId: "acme", subject: assistant, issuer: alice };
  const grant = {
    id: "writes",
    ...people,
    capabilities: [capability],
    constraints: {},
    issuedAt: "2026-01-01T00:00:00Z",
  };
  const operator = { token: host.operatorToken() };
  expect(await ask(host.url, "/admin/v1/grants", { ...operator, body: grant })).toMatchObject({ status: 201 });
  const write = {
    ...listCall("call-1", "t"),
    tool: "files.create",
    arguments: { path: `notes/${marker}`, content: marker },
  };
  const call = () => ask(host.url, "/v1/tools/invoke", { token, headers: { "x-trace-id": "t" }, body: write });
  const asked = (await call()).body as { error?: { details?: { escalationId: string; requestHash: string } } };
  expect(asked).toMatchObject({ status: "denied", error: { code: "approval_required" } });
  const { escalationId: id, requestHash } = asked.error?.details ?? {};
  const body = { namespaceId: "acme", id, ask: requestHash };
  const approved = await ask(host.url, "/admin/v1/escalations/approve", { ...operator, body });
  expect(approved.status).toBe(200);
  expect((await call()).body).toMatchObject({ status: "succeeded" });
  await eventually(() => expect(receiver.received).toHaveLength(2));
  const told = { tenant: "acme", escalationId: id, about: "act", tool: "files.create", actor: assistant, requestHash };
  expect(receiver.received.map(({ message }) => message)).toMatchObject([
    { type: "escalation.opened", data: { ...told, status: "pending" } },
    { type: "escalation.answered", data: { ...told, status: "approved", approvedBy: [expect.anything()] } },
  ]);
  expect(receiver.received.map((each) => each.body).join("")).not.toContain(marker);
  await host.stop();
});

test("a host that stops does not wait until a webhook has answered", async () => {
  const receiver = await openReceiver(Buffer.from(secret));
  receiver.reply(() => "hang");
  const host = await start(await placeFor("sqlite", receiver));
  await escalate(host, await enter(host), "turn-1");
  await eventually(() => expect(receiver.received).toHaveLength(1));
  expect(await host.stop()).toMatchObject({ code: 0 });
  // The attempt was cut off. Had the host waited for it, it would have failed.
  expect(host.stderr()).not.toContain("could not send to webhook");
});

test("the configuration is shown without the secret, and a host without it does not start", async () => {
  const folder = makeFolder();
  const webhooks = JSON.stringify([{ url: `https://example.com/?${marker}`, secretEnv: "HOOK_SECRET" }]);
  const args = ["serve", "--port", "0", "--set", `notify.webhooks=${webhooks}`];
  const shown = await runTurnpike({ folder, args: [...args, "--print-config"], env: { HOOK_SECRET: secret } });
  expect(shown.code).toBe(0);
  expect(shown.stdout).toContain("HOOK_SECRET");
  for (const env of [{}, { HOOK_SECRET: "too short a secret" }]) {
    const refused = await runTurnpike({ folder, args, env });
    expect(refused.code).toBe(2);
    expect(refused.stderr).toContain("notify.webhooks.0.secretEnv: the variable HOOK_SECRET ");
    expect(refused.stdout + refused.stderr).not.toContain("too short a secret");
  }
  expect(shown.stdout + shown.stderr).not.toMatch(new RegExp(`${marker}|${secret}`));
});
