import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, constants, openSync, readFileSync } from "node:fs";
import { createServer, type AddressInfo } from "node:net";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { ask, eventually } from "../../packages/host/test/host-calls.ts";
import { droppedLines, fillLog } from "../support/full-log.ts";
import { makeFolder, turnpike } from "../support/host-process.ts";
import { listCall, makeTenant } from "../support/host-world.ts";

/** Where a host's output goes. */
type Place = number | "pipe" | "ignore";

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

/** A host whose output is not read. It is found by its port. */
async function startUnread(stderr: Place, stdout: Place = "ignore") {
  const folder = makeFolder();
  const port = await freePort();
  const child = spawn(process.execPath, [turnpike, "serve", "--port", String(port)], {
    cwd: folder,
    env: { PATH: process.env["PATH"] ?? "", HOME: folder },
    stdio: ["ignore", stdout, stderr],
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  const ended = once(child, "exit") as Promise<[number | null, NodeJS.Signals | null]>;
  const url = `http://127.0.0.1:${port}`;
  await eventually(async () => expect((await ask(url, "/ready")).status).toBe(200));
  const operatorToken = (): string => readFileSync(join(folder, ".turnpike", "admin-token"), "utf8").trim();
  return { child, ended, url, operatorToken };
}

/** A pipe with a reader that does not read. */
function unreadPipe(): { reader: number; writer: number } {
  const path = join(makeFolder(), "log");
  execFileSync("mkfifo", [path]);
  const reader = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  const writer = openSync(path, constants.O_WRONLY);
  return { reader, writer };
}

function openFull(): number {
  return openSync("/dev/full", "w");
}

for (const row of [
  { name: "a pipe without a reader", open: () => unreadPipe().writer },
  { name: "a socket without a reader", open: () => "pipe" as const },
  {
    name: "a pipe whose reader has gone",
    open() {
      const { reader, writer } = unreadPipe();
      closeSync(reader);
      return writer;
    },
  },
  { name: "a full disk", open: openFull },
]) {
  test(`a host whose log is ${row.name} serves, counts the lines that it drops, and hears SIGTERM`, async () => {
    const host = await startUnread(row.open());
    const token = await makeTenant(host);
    const dropped = await fillLog(host);
    const call = { token, headers: { "x-trace-id": "t" }, body: listCall("call", "t") };
    expect((await ask(host.url, "/v1/tools/invoke", call)).body).toMatchObject({ status: "succeeded" });
    await eventually(async () => expect(await droppedLines(host)).toBeGreaterThan(dropped));
    host.child.kill("SIGTERM");
    expect(await host.ended).toEqual([0, null]);
  });
}

for (const row of [
  { name: "a full disk", open: openFull },
  {
    name: "a pipe whose reader has gone",
    open() {
      const { reader, writer } = unreadPipe();
      closeSync(reader);
      return writer;
    },
  },
]) {
  test(`a host whose standard output is ${row.name} serves and hears SIGTERM`, async () => {
    const host = await startUnread("ignore", row.open());
    expect((await ask(host.url, "/health")).status).toBe(200);
    host.child.kill("SIGTERM");
    expect(await host.ended).toEqual([0, null]);
  });
}
