import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { rolldown } from "rolldown";
import { createServiceClient } from "turnpike/client";
import { beforeAll, expect, onTestFinished, test } from "vitest";

const folder = import.meta.dirname;
const [cpu, bunCpu, workerdCpu] = process.arch === "arm64" ? ["arm64", "aarch64", "arm64"] : ["x64", "x64", "64"];
const node22 = `node22-linux-${cpu}/bin/node`;
const node24 = `node24-linux-${cpu}/bin/node`;

/** Each runtime by its program below `node_modules`, and what it is started with. */
const runtimes = [
  { name: "Node 22", program: node22, args: ["serve.js"] },
  { name: "Node 24", program: node24, args: ["serve.js"] },
  { name: "Bun", program: `@oven/bun-linux-${bunCpu}/bin/bun`, args: ["serve.js"] },
  { name: "Deno", program: `@deno/linux-${cpu}-glibc/deno`, args: ["run", "--allow-net", "--no-prompt", "serve.js"] },
  {
    name: "workerd",
    program: `@cloudflare/workerd-linux-${workerdCpu}/bin/workerd`,
    args: ["serve", "worker.capnp", "--control-fd=1"],
  },
];

beforeAll(async () => {
  // A worker is one file.
  const bundle = await rolldown({ input: join(folder, "worker.js") });
  await bundle.write({ file: join(folder, "dist/worker.js"), format: "esm" });
});

/** Starts a program, which ends with the test at the latest, and reads what it prints up to a line that ends it. */
async function start(program, args, lastLine) {
  const child = spawn(join(folder, "../node_modules", program), args, {
    cwd: folder,
    stdio: ["ignore", "pipe", "ignore"],
  });
  const exit = new Promise((resolve, reject) => child.once("exit", resolve).once("error", reject));
  const stop = () => {
    child.kill("SIGTERM");
    return exit;
  };
  onTestFinished(stop);
  const lines = [];
  for await (const line of createInterface(child.stdout)) {
    lines.push(line);
    if (lastLine.test(line)) return { text: lines.join("\n"), stop };
  }
  await exit;
  throw new Error(`${program} ended without serving:\n${lines.join("\n")}`);
}

const now = "2026-01-01T12:00:00Z";
const alice = { kind: "human", userId: "alice" };
const agent = { kind: "agent", agentId: "helper" };
const world = { namespace: "greetings", path: ["world"] };
const moon = { namespace: "greetings", path: ["moon"] };
const call = { id: "call-1", tool: "greetings.greet", requestedAt: now, traceId: "trace-1" };
const message = { version: 1, id: "message-1", createdAt: now, traceId: "trace-1", purpose: "help", payload: null };
const turn = { version: 1, executionId: "turn-1", agent, message: { ...message, sender: alice, receiver: agent } };

for (const { name, program, args } of runtimes) {
  test(`the handler answers every kind of request on ${name}`, async () => {
    const { text } = await start(program, args, /port/);
    const [port] = /\d+(?=\D*$)/.exec(text);
    const clientWith = (token) => createServiceClient({ baseUrl: `http://127.0.0.1:${port}`, token });
    const client = clientWith("s3cret");

    expect(await client.health()).toEqual({ status: "ok", protocolVersion: "1" });
    expect((await client.listTools()).map((tool) => tool.name)).toEqual(["greetings.greet"]);
    expect((await client.listToolNamespaces()).summary).toEqual({ enabled: 1, disabled: 0, total: 1 });
    expect((await client.authorize({ action: "greet", resource: world })).reasonCode).toBe("allowed");
    expect((await client.authorize({ action: "greet", resource: moon })).reasonCode).toBe("no_matching_grant");
    expect(await client.invokeTool({ ...call, arguments: { name: "there" } })).toMatchObject({ output: "hello there" });
    const refused = await client.invokeTool({ ...call, arguments: {} });
    expect(refused).toMatchObject({ status: "failed", error: { code: "invalid_tool_arguments" } });
    expect((await client.sendMessage({ ...message, sender: agent, receiver: alice })).status).toBe("delivered");
    expect(await client.executeTurn(turn)).toMatchObject({ status: "succeeded", output: ["hello world"] });

    const types = [];
    for await (const { type } of client.streamTurn(turn)) types.push(type);
    expect(types).toEqual(["turn.started", "tool.requested", "tool.completed", "turn.completed"]);

    await expect(clientWith("wrong").listTools()).rejects.toMatchObject({ status: 401, code: "unauthenticated" });
    await expect(client.authorize({ action: "", resource: world })).rejects.toMatchObject({ code: "invalid_request" });
  });
}

for (const [name, program] of [
  ["Node 22", node22],
  ["Node 24", node24],
]) {
  test(`the host serves its demo on ${name}, and the same world after a restart`, async () => {
    const data = mkdtempSync(join(tmpdir(), "turnpike-runtime-"));
    onTestFinished(() => rmSync(data, { recursive: true, force: true }));
    const database = join(data, "turnpike.db");
    const args = ["../../packages/host/bin/turnpike.js", "serve", "--demo", "--port", "0", "--database", database];
    const tokens = [];
    for (const round of ["first", "second"]) {
      const { text, stop } = await start(program, args, /^Ctrl-C/);
      const [baseUrl] = /http:\S+(?=\/health)/.exec(text);
      const [token] = /tp_\w+/.exec(text);
      tokens.push(token);
      const client = createServiceClient({ baseUrl, token });
      for (const [path, status] of [
        ["notes/todo.md", "succeeded"],
        ["private/diary.md", "denied"],
      ]) {
        const read = { id: `${path}-${round}`, tool: "files.read", arguments: { path } };
        expect(await client.invokeTool({ ...read, requestedAt: now, traceId: "trace-1" })).toMatchObject({ status });
      }
      expect(await stop()).toBe(0);
    }
    expect(tokens[1]).toBe(tokens[0]);
  });
}
