// A host as its users start it, for the programs here that try it out: with a configuration and a new database, which go
// with it.
import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { createAdminClient } from "turnpike-host/management";

export const turnpike = fileURLToPath(new URL("../packages/host/bin/turnpike.js", import.meta.url));

/** Starts a host, and resolves when it listens. `configure` gets its folder. */
export async function startHost(configure, env = {}) {
  const folder = mkdtempSync(join(tmpdir(), "turnpike-host-"));
  const config = join(folder, "turnpike.json");
  writeFileSync(config, JSON.stringify(configure(folder)));
  const database = join(folder, "turnpike.db");
  const args = [turnpike, "serve", "--config", config, "--port", "0", "--database", database];
  const host = spawn(process.execPath, args, {
    env: { PATH: process.env["PATH"], ...env },
    stdio: ["ignore", "pipe", "ignore"],
  });
  const ended = new Promise((resolve) => host.once("close", resolve));
  process.once("exit", () => host.kill("SIGKILL"));
  const url = await screenUrl(host);
  const token = readFileSync(join(folder, "admin-token"), "utf8").trim();
  return {
    url,
    operator: createAdminClient({ url, token }),
    folder,
    async stop() {
      host.kill("SIGTERM");
      await ended;
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

async function screenUrl(host) {
  for await (const line of createInterface(host.stdout)) {
    const [, url] = /^Turnpike runs at (\S+)/.exec(line) ?? [];
    if (url !== undefined) return url;
  }
  throw new Error("The host ended before it ran.");
}
