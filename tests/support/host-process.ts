import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { testRoot } from "../../packages/host/test/test-root.ts";

/** The real command. */
export const turnpike = fileURLToPath(new URL("../../packages/host/bin/turnpike.js", import.meta.url));

/** How a process ended. */
export interface Exit {
  code: number | null;
  signal: NodeJS.Signals | null;
}

/** A host that runs as a process of its own. */
export interface HostProcess {
  readonly url: string;
  readonly pid: number;
  /** Where it was started; its data is in `.turnpike` below. */
  readonly folder: string;
  /** Everything it wrote so far. */
  stdout(): string;
  stderr(): string;
  /** The token of its operator. */
  operatorToken(): string;
  /** Sends a signal and waits for the end. */
  stop(signal?: NodeJS.Signals): Promise<Exit>;
  /** Sends a signal and waits for nothing. */
  signal(signal: NodeJS.Signals): void;
  /** Stops reading what it logs, until it is read again. */
  freezeLog(): void;
  thawLog(): void;
  /** Resolves when the process has ended and all it wrote has arrived. */
  readonly ended: Promise<Exit>;
}

/** What to start: `turnpike serve` unless a script is given. */
export interface HostProcessOptions {
  folder: string;
  args?: readonly string[];
  env?: Readonly<Record<string, string>>;
  script?: string;
  /** Gets the process as soon as there is one. */
  onStart?(child: ChildProcess): void;
}

const children = new Set<ChildProcess>();
const folders = new Set<string>();

process.once("exit", () => {
  for (const child of children) child.kill("SIGKILL");
});

/** Ends every process that was started here, and removes every folder. */
export async function endProcesses(): Promise<void> {
  for (const child of children) {
    child.kill("SIGKILL");
    await once(child, "close");
  }
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
  folders.clear();
}

/** A folder that is removed with the test file. */
export function makeFolder(): string {
  const folder = mkdtempSync(join(testRoot, "turnpike-host-"));
  folders.add(folder);
  return folder;
}

/** Starts a host on a free port and waits for the URL on its screen; throws what it wrote when it ends before. */
export async function startHostProcess(options: HostProcessOptions): Promise<HostProcess> {
  const { child, output, ended } = run(options);
  const url = await Promise.race([screenUrl(child, output), ended.then(() => undefined)]);
  if (url === undefined) throw new Error(`The host ended before it ran: ${output.stdout}${output.stderr}`);
  return {
    url,
    pid: child.pid ?? 0,
    folder: options.folder,
    stdout: () => output.stdout,
    stderr: () => output.stderr,
    operatorToken: () => readFileSync(join(options.folder, ".turnpike", "admin-token"), "utf8").trim(),
    stop(signal = "SIGTERM") {
      child.kill(signal);
      return ended;
    },
    signal: (signal) => void child.kill(signal),
    freezeLog: () => void child.stderr?.pause(),
    thawLog: () => void child.stderr?.resume(),
    ended,
  };
}

/** Runs a command of `turnpike` to its end. */
export async function runTurnpike(options: HostProcessOptions): Promise<Exit & { stdout: string; stderr: string }> {
  const { output, ended } = run(options);
  const exit = await ended;
  return { ...exit, ...output };
}

interface Output {
  stdout: string;
  stderr: string;
}

function run(options: HostProcessOptions): { child: ChildProcess; output: Output; ended: Promise<Exit> } {
  const { folder, script = turnpike, env = {} } = options;
  const args = options.args ?? ["serve", "--port", "0"];
  const { PATH = "" } = process.env;
  const child = spawn(process.execPath, [script, ...args], {
    cwd: folder,
    // No test sees the contexts of the user who runs it. Started as by npx, hints name the program and not a file of this checkout.
    env: { PATH, HOME: folder, npm_command: "exec", ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  children.add(child);
  options.onStart?.(child);
  const output: Output = { stdout: "", stderr: "" };
  child.stdout.setEncoding("utf8").on("data", (text: string) => (output.stdout += text));
  child.stderr.setEncoding("utf8").on("data", (text: string) => (output.stderr += text));
  const ended = once(child, "close").then(([code, signal]): Exit => {
    children.delete(child);
    return { code: code as number | null, signal: signal as NodeJS.Signals | null };
  });
  return { child, output, ended };
}

function screenUrl(child: ChildProcess, output: Output): Promise<string> {
  return new Promise((resolve) => {
    child.stdout?.on("data", () => {
      const [, url] = /^(?:Turnpike runs at |\{"url":")([^\s"]+)["\n]/m.exec(output.stdout) ?? [];
      if (url !== undefined) resolve(url);
    });
  });
}
