import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { resolve } from "node:path";
import { StdioServerTransport } from "@modelcontextprotocol/server/stdio";
import type { Channel } from "./channel.ts";
import type { JsonLimits } from "./json-limits.ts";
import { createLineGate } from "./line-limiter.ts";
import { makeOwnFolder, removeOwnFolder, type ServerUser } from "./server-folder.ts";
import { followStandardError, type Said } from "./standard-error.ts";

/** A program that speaks MCP on its standard input and output. */
export interface StdioServer {
  command: readonly string[];
  env?: Readonly<Record<string, string>> | undefined;
  cwd?: string | undefined;
  /** Who it runs as; the host's own user when not given. */
  user?: ServerUser | undefined;
}

const graceMs = 1000;
const maxLinesPerSecond = 1000;

/** What a server is read with. */
export interface StdioLimits {
  maxBytes: number;
  json: JsonLimits;
  /** Told when the server says more lines than are read. */
  onFlood(): void;
  /** Told what the server says on its standard error. */
  onSaid(said: Said): void;
}

/** Starts a server as a child process, in a folder of its own that goes with it. Rejects when there is no such program. */
export async function openStdioChannel(server: StdioServer, limits: StdioLimits): Promise<Channel> {
  const folder = await makeOwnFolder(server.user);
  try {
    return await start(server, folder, limits);
  } catch (error) {
    await removeOwnFolder(folder, server.user);
    throw error;
  }
}

async function start(server: StdioServer, folder: string, limits: StdioLimits): Promise<Channel> {
  const { maxBytes, json, onFlood, onSaid } = limits;
  const [program = "", ...args] = server.command;
  const child = spawn(programPath(program, server.cwd), args, {
    cwd: server.cwd ?? folder,
    env: environmentFor(server, folder),
    // With a user the system also takes every further group of the host's away.
    ...server.user,
    stdio: ["pipe", "pipe", "pipe"],
    // A group of its own: Ctrl-C in a terminal is for the host, which then stops its servers in order.
    detached: process.platform !== "win32",
    windowsHide: true,
  });
  const ended = new Promise<void>((done) => child.once("close", () => done()));
  // A server that is gone cannot be written to, which its transport finds out by the end of its output.
  child.stdin.on("error", () => {}).setMaxListeners(0);
  followStandardError(child.stderr, { say: onSaid, secrets: Object.values(server.env ?? {}) });
  await once(child, "spawn");
  const lines = child.stdout.pipe(createLineGate({ maxBytes, ...json, maxLinesPerSecond }, { onFlood }));
  return {
    // Named after the other end: it reads messages from one stream and writes them to another, which is all there is to it.
    transport: new StdioServerTransport(lines, child.stdin, { maxBufferSize: 2 * maxBytes }),
    async close() {
      await endProcess(child, ended);
      await removeOwnFolder(folder, server.user);
    },
  };
}

/** A path in the configuration is meant from where the host runs, wherever the server does. */
function programPath(program: string, cwd: string | undefined): string {
  return cwd === undefined && /[/\\]/.test(program) ? resolve(program) : program;
}

/** Nothing of the host's own variables but where programs are. */
function environmentFor({ env }: StdioServer, folder: string): NodeJS.ProcessEnv {
  const { PATH } = process.env;
  return { ...(PATH !== undefined && { PATH }), HOME: folder, TMPDIR: folder, ...env };
}

/** The end of its input is the polite way, and the one that works when the host itself is killed. */
async function endProcess(child: ChildProcess, ended: Promise<void>): Promise<void> {
  child.stdin?.end();
  child.stdout?.unpipe().resume();
  child.stderr?.resume();
  for (const signal of ["SIGTERM", "SIGKILL"] as const) {
    if (await isOverSoon(ended)) return;
    kill(child, signal);
  }
  await isOverSoon(ended);
  child.stdout?.destroy();
  child.stderr?.destroy();
}

async function isOverSoon(ended: Promise<void>): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<boolean>((done) => (timer = setTimeout(() => done(false), graceMs)));
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
