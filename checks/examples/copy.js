// The examples as a user has them who copied them: in a folder of their own, beside what they depend on. A new one each run.
import { spawn } from "node:child_process";
import { cpSync, mkdirSync, rmSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";

const repository = join(import.meta.dirname, "../..");
export const copy = join(import.meta.dirname, ".build/copy");

/** Makes the copy. `data` is the folder of a host, which the copy has where the demo has it. */
export function makeCopy(data) {
  rmSync(copy, { recursive: true, force: true });
  mkdirSync(copy, { recursive: true });
  cpSync(join(repository, "examples"), join(copy, "examples"), {
    recursive: true,
    filter: (path) => !/\/(node_modules|dist|\.next)$/.test(path),
  });
  symlinkSync(data, join(copy, ".turnpike"));
  // The TypeScript of the examples is the workspace's: the one that is installed with the checks is an older one, for generators.
  mkdirSync(join(copy, "node_modules/.bin"), { recursive: true });
  symlinkSync(join(repository, "node_modules/typescript"), join(copy, "node_modules/typescript"));
  symlinkSync("../typescript/bin/tsc", join(copy, "node_modules/.bin/tsc"));
}

/** Runs commands in the copy as they are pasted, but for the installation, which was made for all examples at once. */
function start(commands, env) {
  const { PATH, HOME } = process.env;
  return spawn("bash", ["-ec", commands.replaceAll("npm install && ", "")], {
    cwd: copy,
    env: { PATH, HOME, NEXT_TELEMETRY_DISABLED: "1", npm_config_update_notifier: "false", ...env },
    stdio: ["ignore", "pipe", "pipe"],
    // A group of its own, so that it ends with everything that it has started.
    detached: true,
  });
}

/** Runs commands to their end. */
export async function run(commands, env) {
  const child = start(commands, env);
  const texts = { stdout: "", stderr: "" };
  for (const name of ["stdout", "stderr"]) child[name].setEncoding("utf8").on("data", (text) => (texts[name] += text));
  const exit = await new Promise((resolve, reject) => child.once("close", resolve).once("error", reject));
  return { exit, ...texts };
}

/** Starts a server, and resolves to its origin when it has printed where it listens. */
export async function serve(commands, env) {
  const child = start(commands, env);
  const ended = new Promise((resolve) => child.once("close", resolve));
  const end = (signal) => {
    try {
      process.kill(-child.pid, signal);
    } catch {
      // It has ended already.
    }
  };
  const kill = () => end("SIGKILL");
  process.once("exit", kill);
  const stop = async () => {
    end("SIGTERM");
    await ended;
    process.off("exit", kill);
  };
  const printed = [];
  child.stderr.setEncoding("utf8").on("data", (text) => printed.push(text));
  for await (const line of createInterface(child.stdout)) {
    printed.push(line);
    const [origin] = /http:\/\/127\.0\.0\.1:[1-9]\d*/.exec(line) ?? [];
    if (origin !== undefined) return { origin, stop, printed };
  }
  await stop();
  throw new Error(`It ended without serving:\n${printed.join("\n")}`);
}
