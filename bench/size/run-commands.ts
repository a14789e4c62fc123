import { fork, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { killWithThisProcess, startHost, type HostOptions, type HostProcess } from "../support/host-process.ts";
import { digits } from "../support/results.ts";
import { median } from "../support/statistics.ts";
import { commandsOf } from "./commands.ts";

/** What a command took, and the longest that another request waited meanwhile. */
export interface CommandTimes {
  readonly name: string;
  readonly ms: number;
  readonly delayMs: number;
  /** The host's refusal, if it refused. */
  readonly failure?: string;
}

const longMs = 5000;

/** Runs every command so many times, those that take long once, while another process asks for `/health`. */
export async function runCommands(
  host: HostProcess,
  token: string,
  grants: number,
  repeats: number,
  say: (words: string) => void,
): Promise<{ idleDelayMs: number; commands: CommandTimes[] }> {
  const poller = fork(fileURLToPath(new URL("health-poller.js", import.meta.url)), [String(host.port)]);
  killWithThisProcess(poller);
  await pause(1000);
  await longestDelay(poller);
  await pause(2000);
  const idleDelayMs = await longestDelay(poller);
  const commands: CommandTimes[] = [];
  for (const { name, run } of commandsOf(host, token, grants, Date.now())) {
    const [times, delays]: [number[], number[]] = [[], []];
    let failure: string | undefined;
    for (let repeat = 0; repeat < repeats; repeat += 1) {
      await longestDelay(poller);
      const start = performance.now();
      await run().catch((error: unknown) => (failure = String(error).slice(0, 60)));
      const ms = performance.now() - start;
      times.push(ms);
      delays.push(await longestDelay(poller));
      // What takes this long is not a matter of luck.
      if (ms > longMs) break;
    }
    const measured = { name, ms: median(times), delayMs: Math.max(...delays), ...(failure && { failure }) };
    say(`${name}: ${digits(measured.ms)} ms, /health ${digits(measured.delayMs)} ms ${failure ?? ""}`);
    commands.push(measured);
  }
  poller.disconnect();
  await once(poller, "exit");
  return { idleDelayMs, commands };
}

/** The longest delay since this was asked for the last time. */
async function longestDelay(poller: ChildProcess): Promise<number> {
  const answer = once(poller, "message");
  poller.send("longest");
  const [delay] = (await answer) as [number];
  return delay;
}

/** Runs every command once on a host that writes down its statements. Which ones each of them ran, by its name. */
export async function statementsOfCommands(
  options: HostOptions,
  token: string,
  grants: number,
): Promise<Map<string, string[]>> {
  const file = join(options.folder, "statements.jsonl");
  const hook = new URL("record-statements.js", import.meta.url).href;
  const env = { BENCH_STATEMENTS: file, BENCH_MODULES: resolve("node_modules") };
  const host = await startHost({ ...options, nodeFlags: ["--import", hook], env });
  const statements = new Map([["start of the host", [...new Set(readLines(file))]]]);
  for (const { name, run } of commandsOf(host, token, grants, Date.now())) {
    writeFileSync(file, "");
    await run().catch(() => {});
    statements.set(name, [...new Set(readLines(file))]);
  }
  await host.stop();
  return statements;
}

function readLines(file: string): string[] {
  if (!existsSync(file)) return [];
  const lines = readFileSync(file, "utf8").split("\n").filter(Boolean);
  return lines.map((line) => JSON.parse(line) as string);
}
