import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { resolve } from "node:path";
import type { Channel } from "./channel.ts";
import type { JsonLimits } from "./json-limits.ts";
import { createLineTransport } from "./line-transport.ts";
import { makeServerFolder, removeServerFolder, type ServerUser } from "./server-folder.ts";
import { logStandardError, type StandardErrorLine } from "./standard-error.ts";

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

/** The limits of what is read from a server. */
export interface StdioLimits {
  maxBytes: number;
  json: JsonLimits;
  /** Called when the server writes more lines than are read. */
  onFlood(): void;
  /** Called for each logged line of the server's standard error. */
  onStandardError(line: StandardErrorLine): void;
}

/** Starts a server as a child process, in a folder that is removed when it ends. Rejects when there is no such program. */
export async function openStdioChannel(server: StdioServer, limits: StdioLimits): Promise<Channel> {
  const folder = await makeServerFolder(server.user);
  try {
    return await start(server, folder, limits);
  } catch (error) {
    await removeServerFolder(folder, server.user);
    throw error;
  }
}

async function start(server: StdioServer, folder: string, limits: StdioLimits): Promise<Channel> {
  const { maxBytes, json, onFlood, onStandardError } = limits;
  const [program = "", ...args] = server.command;
  const child = spawn(programPath(program, server.cwd), args, {
    cwd: server.cwd ?? folder,
    env: environmentFor(server, folder),
    // With a user, the system also removes the host's supplementary groups.
    ...server.user,
    stdio: ["pipe", "pipe", "pipe"],
    // In a process group of its own, because Ctrl-C in a terminal is for the host, which then stops its servers in order.
    detached: process.platform !== "win32",
    windowsHide: true,
  });
  const ended = new Promise<void>((done) => child.once("close", () => done()));
  // Writing to a server that is gone fails. Its transport notices that by the end of the output.
  child.stdin.on("error", () => {}).setMaxListeners(0);
  logStandardError(child.stderr, { write: onStandardError, secrets: Object.values(server.env ?? {}) });
  await once(child, "spawn");
  const streams = { output: child.stdout, input: child.stdin };
  const transport = createLineTransport(streams, { maxBytes, ...json, maxLinesPerSecond }, { onFlood });
  return {
    transport,
    async close() {
      await transport.close();
      await endProcess(child, ended);
      await removeServerFolder(folder, server.user);
    },
  };
}

/** A relative path in the configuration is relative to the host's working directory, not the server's. */
function programPath(program: string, cwd: string | undefined): string {
  return cwd === undefined && /[/\\]/.test(program) ? resolve(program) : program;
}

/** Of the host's own variables a server gets only PATH. */
function environmentFor({ env }: StdioServer, folder: string): NodeJS.ProcessEnv {
  const { PATH } = process.env;
  return { ...(PATH !== undefined && { PATH }), HOME: folder, TMPDIR: folder, ...env };
}

/** Closes the server's input first, which also ends it when the host itself is killed; then sends signals. */
async function endProcess(child: ChildProcess, ended: Promise<void>): Promise<void> {
  child.stdin?.end();
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

/** Signals the server and all processes that it has started. */
function kill({ pid }: ChildProcess, signal: NodeJS.Signals): void {
  if (pid === undefined) return;
  try {
    process.kill(process.platform === "win32" ? pid : -pid, signal);
  } catch {
    // It has just ended by itself.
  }
}
