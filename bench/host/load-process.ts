import { fork, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { killWithThisProcess } from "../support/host-process.ts";
import type { LoadAnswer, LoadOrder, LoadReport } from "./load.ts";

/** The process that makes the load. */
export interface LoadProcess {
  run(order: LoadOrder): Promise<LoadReport>;
  stop(): Promise<void>;
}

export function startLoad(): LoadProcess {
  const child = startScript(new URL("load.js", import.meta.url));
  return {
    async run(order) {
      child.send(order);
      const answer = (await messageOf(child)) as LoadAnswer;
      if ("failure" in answer) throw new Error(answer.failure);
      return answer.report;
    },
    stop: () => disconnected(child),
  };
}

/** A server to measure. */
export interface BareServer {
  readonly pid: number;
  readonly port: number;
  stop(): Promise<void>;
}

export function startBareServer(): Promise<BareServer> {
  return startServer(new URL("bare-server.js", import.meta.url));
}

/** The same, which keeps what the host would in a file of its own. */
export function startKeepingServer(file: string): Promise<BareServer> {
  return startServer(new URL("keeping-server.js", import.meta.url), file);
}

/** Starts a script that sends its port once it listens, and ends when it is disconnected. */
export async function startServer(script: URL, ...args: string[]): Promise<BareServer> {
  const child = startScript(script, ...args);
  const port = (await messageOf(child)) as number;
  return { pid: child.pid ?? 0, port, stop: () => disconnected(child) };
}

function startScript(script: URL, ...args: string[]): ChildProcess {
  const child = fork(fileURLToPath(script), args);
  killWithThisProcess(child);
  return child;
}

function messageOf(child: ChildProcess): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const end = (code: number | null): void => reject(new Error(`a process of the benchmark ended with ${code}`));
    child.once("exit", end);
    child.once("message", (message) => {
      child.removeListener("exit", end);
      resolve(message);
    });
  });
}

async function disconnected(child: ChildProcess): Promise<void> {
  const ended = once(child, "exit");
  child.disconnect();
  await ended;
}
