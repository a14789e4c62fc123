import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, openSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { createAdminClient, type AdminClient } from "turnpike-host/admin-contract";

/** A host that runs as a process of its own, as people run it. */
export interface HostProcess {
  readonly pid: number;
  readonly port: number;
  readonly url: string;
  readonly operator: AdminClient;
  readonly operatorToken: string;
  /** Stops it as an operator would, and waits until it is gone. */
  stop(): Promise<void>;
}

/** What to start. */
export interface HostOptions {
  /** Where it keeps its files, and its log. */
  readonly folder: string;
  /** A `postgres://` URL; an SQLite file in the folder unless given. */
  readonly database?: string;
  /** Flags of node, such as `--cpu-prof`. */
  readonly nodeFlags?: readonly string[];
  /** Runs the files that were compiled, not their bundle, which is one room to a profile. */
  readonly isUnbundled?: boolean;
  readonly env?: Readonly<Record<string, string>>;
  /** What its configuration file says. */
  readonly config?: Readonly<Record<string, unknown>>;
}

/** No limit may refuse the load: what is measured is what the host can do, not what it is told to allow. */
const settings: Readonly<Record<string, string | number>> = {
  "limits.requestsPerSecond": 1_000_000,
  "limits.burst": 1_000_000,
  "limits.concurrentTurns": 4096,
  "limits.tenantTurns": 4096,
  "limits.credentialTurns": 4096,
  // A host that is too slow for its load would answer 408 to requests that it has not read yet.
  "limits.headersMs": 600_000,
  "limits.bodyMs": 600_000,
};

const command = [join(process.cwd(), "packages/host/bin/turnpike.js")];
const unbundled = pathToFileURL(join(process.cwd(), "packages/host/dist/cli/cli.js")).href;
const unbundledCommand = [
  "--input-type=module",
  `--eval=import { runCommand } from "${unbundled}"; process.exitCode = await runCommand(process.argv.slice(1));`,
  "--",
];

/** Where a host in this folder has its SQLite file. */
export function sqliteFile(folder: string): string {
  return join(folder, ".turnpike/turnpike.db");
}

/** Starts `turnpike serve` on a free port, everything else as it comes. Its log goes to a file, as it would in a service. */
export async function startHost(options: HostOptions): Promise<HostProcess> {
  const { folder, database, nodeFlags = [], isUnbundled = false, env, config } = options;
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "turnpike.config.json"), JSON.stringify({ runtime: { kind: "scripted" }, ...config }));
  const log = openSync(join(folder, "host.log"), "a");
  const flags = Object.entries(settings).flatMap(([key, value]) => ["--set", `${key}=${value}`]);
  const where = database === undefined ? [] : ["--database", database];
  const program = [...nodeFlags, ...(isUnbundled ? unbundledCommand : command)];
  const { PATH = "" } = process.env;
  const child = spawn(process.execPath, [...program, "serve", "--port", "0", ...where, ...flags], {
    cwd: folder,
    env: { PATH, ...env },
    stdio: ["ignore", "pipe", log],
  });
  killWithThisProcess(child);
  const ended = once(child, "close");
  const url = await Promise.race([screenUrl(child), ended.then(() => undefined)]);
  if (url === undefined) throw new Error(`The host did not start:\n${readFileSync(join(folder, "host.log"), "utf8")}`);
  const operatorToken = readFileSync(join(folder, ".turnpike/admin-token"), "utf8").trim();
  return {
    pid: child.pid ?? 0,
    port: Number(new URL(url).port),
    url,
    operatorToken,
    operator: createAdminClient({ url, token: operatorToken }),
    async stop() {
      child.kill("SIGTERM");
      const [code] = (await ended) as [number | null];
      if (code !== 0) throw new Error(`The host ended with ${code}; its log is ${join(folder, "host.log")}`);
    },
  };
}

async function screenUrl(child: ChildProcess): Promise<string> {
  let screen = "";
  return new Promise((resolve) => {
    child.stdout?.setEncoding("utf8").on("data", (text: string) => {
      screen += text;
      const [, url] = /^Turnpike runs at (\S+)\n/m.exec(screen) ?? [];
      if (url !== undefined) resolve(url);
    });
  });
}

// A benchmark that is told to stop exits, which takes everything with it that it started and made.
for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => process.exit(1));

/** A benchmark that ends in the middle leaves no process behind. */
export function killWithThisProcess(child: ChildProcess): void {
  const kill = (): void => void child.kill("SIGKILL");
  process.once("exit", kill);
  child.once("close", () => process.removeListener("exit", kill));
}
