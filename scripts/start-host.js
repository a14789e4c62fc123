// A host as its users start it, for the programs here that try it out: with a configuration and a new database, which go
// with it.
import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { createAdminClient } from "turnpike-host/admin-contract";

export const turnpike = fileURLToPath(new URL("../packages/host/bin/turnpike.js", import.meta.url));

/** Starts a host, and resolves when it listens. `configure` gets its folder. */
export async function startHost(configure, env = {}, flags = []) {
  const folder = mkdtempSync(join(process.env["TEST_FOLDER"] ?? tmpdir(), "turnpike-host-"));
  const config = join(folder, "turnpike.json");
  writeFileSync(config, JSON.stringify(configure(folder)));
  const args = [turnpike, "serve", ...flags, "--config", config, "--database", join(folder, "turnpike.db"), "--port"];
  let running = await run([...args, "0"], env);
  const { url, screen } = running;
  const token = readFileSync(join(folder, "admin-token"), "utf8").trim();
  return {
    url,
    /** What it printed when it had started. */
    screen,
    operator: createAdminClient({ url, token }),
    token,
    folder,
    /** Ends it, and keeps its data. */
    pause: () => running.stop(),
    /** Starts it again, on the same port with the same data. */
    async resume() {
      running = await run([...args, new URL(url).port], env);
    },
    /** Has its process do nothing, without ending it, and go on again. */
    freeze: () => running.signal("SIGSTOP"),
    thaw: () => running.signal("SIGCONT"),
    async stop() {
      await running.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Starts the demo with a folder and a port of its own. `tokens` are those of alice and the assistant. */
export async function startDemo(config = {}, env = {}) {
  const demo = await startHost(() => config, env, ["--demo"]);
  const tokens = JSON.parse(readFileSync(join(demo.folder, "demo-tokens.json"), "utf8"));
  return { ...demo, tokens };
}

async function run(args, env) {
  const host = spawn(process.execPath, args, {
    env: { PATH: process.env["PATH"], ...env },
    stdio: ["ignore", "pipe", "ignore"],
  });
  const ended = new Promise((resolve) => host.once("close", resolve));
  const kill = () => host.kill("SIGKILL");
  process.once("exit", kill);
  const signal = (name) => void host.kill(name);
  const stop = async () => {
    process.off("exit", kill);
    host.kill("SIGTERM");
    await ended;
  };
  let screen = "";
  for await (const line of createInterface(host.stdout)) {
    screen += `${line}\n`;
    const [, url] = /^Turnpike runs at (\S+)/.exec(screen) ?? [];
    // The demo prints its link on the next line.
    if (url !== undefined && /console \S+/.test(screen)) return { url, screen, stop, signal };
  }
  throw new Error("The host ended before it ran.");
}
