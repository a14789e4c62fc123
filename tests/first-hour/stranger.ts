import { execFile, execFileSync } from "node:child_process";
import { lstatSync, readdirSync, statSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";
import { makeFolder, startHostProcess, type HostProcess } from "../support/host-process.ts";
import { repository } from "../support/repository.ts";
import type { Printed } from "../support/terminal.ts";

/** A newcomer who has the two tarballs, an empty folder, and the Node that runs this. */
export interface Stranger {
  readonly folder: string;
  /** The tarballs by the names of their packages. */
  readonly tarballs: Readonly<Record<"turnpike" | "turnpike-host", string>>;
  /** Types a line into a shell, in the folder. */
  type(line: string): Promise<Printed>;
  /** The demo as it was started last. */
  demo(): HostProcess;
  startDemo(): Promise<HostProcess>;
}

/** Packs both packages, as they would be published, and makes an empty folder. */
export function newStranger(): Stranger {
  const folder = makeFolder();
  const shelf = makeFolder();
  const pack = ["pack", "--silent", "--pack-destination", shelf, "-w", "turnpike", "-w", "turnpike-host"];
  const [library = "", host = ""] = execFileSync("npm", pack, { cwd: repository, env, encoding: "utf8" }).split("\n");
  let demo: HostProcess | undefined;
  return {
    folder,
    tarballs: { turnpike: join(shelf, library), "turnpike-host": join(shelf, host) },
    type: (line) =>
      new Promise((resolve) => {
        execFile("bash", ["-c", line], { cwd: folder, env, maxBuffer: 2 ** 26 }, (error, stdout, stderr) => {
          const code = error === null ? 0 : typeof error.code === "number" ? error.code : null;
          resolve({ code, stdout, stderr });
        });
      }),
    demo() {
      if (demo === undefined) throw new Error("The demo was not started.");
      return demo;
    },
    async startDemo() {
      const script = join(folder, "node_modules/.bin/turnpike");
      return (demo = await startHostProcess({ folder, script, args: ["serve", "--demo", "--port", "0"] }));
    },
  };
}

/**
 * What a shell has: the command where it is installed, this Node, and nothing of the npm that runs the tests but its cache and
 * its registry.
 */
const env: NodeJS.ProcessEnv = {
  ...Object.fromEntries(
    Object.entries(process.env).filter(([name]) => !/^(npm_(?!config_(cache|registry)$)|TURNPIKE_|VITEST)/i.test(name)),
  ),
  PATH: ["node_modules/.bin", dirname(process.execPath), process.env["PATH"]].join(delimiter),
  npm_config_update_notifier: "false",
};

/** The bytes of a file, or of all files below a folder. */
export function bytesOf(path: string): number {
  if (!statSync(path).isDirectory()) return statSync(path).size;
  return readdirSync(path, { recursive: true, encoding: "utf8" })
    .map((name) => lstatSync(join(path, name)))
    .reduce((sum, found) => (found.isFile() ? sum + found.size : sum), 0);
}

/** The lines of the demo's screen that are commands of a program. */
export function linesOf(host: HostProcess, program: string): string[] {
  const lines = host.stdout().split("\n");
  return lines.map((line) => line.trim()).filter((line) => line.startsWith(`${program} `));
}
