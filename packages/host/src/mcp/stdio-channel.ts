import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { StdioServerTransport } from "@modelcontextprotocol/server/stdio";
import type { Channel } from "./channel.ts";
import type { JsonLimits } from "./json-limits.ts";
import { createLineGate } from "./line-gate.ts";

/** A program that speaks MCP on its standard input and output. */
export interface StdioServer {
  command: readonly string[];
  env?: Readonly<Record<string, string>> | undefined;
  cwd?: string | undefined;
}

const graceMs = 1000;
const maxLinesPerSecond = 1000;

/** What a server on standard output is read with. */
export interface StdioLimits {
  maxBytes: number;
  json: JsonLimits;
  /** Told when the server says more lines than are read. */
  onFlood(): void;
}

/** Starts a server as a child process. Rejects when there is no such program. */
export async function openStdioChannel(server: StdioServer, limits: StdioLimits): Promise<Channel> {
  const { maxBytes, json, onFlood } = limits;
  const [program = "", ...args] = server.command;
  const child = spawn(program, args, {
    cwd: server.cwd,
    env: environmentFor(server),
    stdio: ["pipe", "pipe", "ignore"],
    // A group of its own: Ctrl-C in a terminal is for the host, which then stops its servers in order.
    detached: process.platform !== "win32",
    windowsHide: true,
  });
  const ended = new Promise<void>((resolve) => child.once("close", () => resolve()));
  // A server that is gone cannot be written to, which its transport finds out by the end of its output.
  child.stdin.on("error", () => {}).setMaxListeners(0);
  await once(child, "spawn");
  const lines = child.stdout.pipe(createLineGate({ maxBytes, ...json, maxLinesPerSecond }, { onFlood }));
  return {
    // Named after the other end: it reads messages from one stream and writes them to another, which is all there is to it.
    transport: new StdioServerTransport(lines, child.stdin, { maxBufferSize: 2 * maxBytes }),
    close: () => endProcess(child, ended),
  };
}

/** Nothing of the host's own variables but where programs and a home are. */
function environmentFor({ env }: StdioServer): NodeJS.ProcessEnv {
  const { PATH, HOME } = process.env;
  return { ...(PATH !== undefined && { PATH }), ...(HOME !== undefined && { HOME }), ...env };
}

/** The end of its input is the polite way, and the one that works when the host itself is killed. */
async function endProcess(child: ChildProcess, ended: Promise<void>): Promise<void> {
  child.stdin?.end();
  child.stdout?.unpipe().resume();
  for (const signal of ["SIGTERM", "SIGKILL"] as const) {
    if (await isOverSoon(ended)) return;
    kill(child, signal);
  }
  await isOverSoon(ended);
  child.stdout?.destroy();
}

async function isOverSoon(ended: Promise<void>): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<boolean>((resolve) => (timer = setTimeout(() => resolve(false), graceMs)));
  const isOver = await Promise.race([ended.then(() => true), late]);
  clearTimeout(timer);
  return isOver;
}

/** With everything the server has started in turn. */
function kill({ pid }: ChildProcess, signal: NodeJS.Signals): void {
  if (pid === undefined) return;
  try {
    process.kill(process.platform === "win32" ? pid : -pid, signal);
  } catch {
    // It has just ended by itself.
  }
}
