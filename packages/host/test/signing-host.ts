import { join } from "node:path";
import { writeFileSync } from "node:fs";
import { onTestFinished } from "vitest";
import { loadConfig } from "../src/compose/config.ts";
import type { Stores } from "../src/compose/stores.ts";
import { wireHost } from "../src/compose/wire-host.ts";
import { loadMcpPool, McpConfigSchema } from "../src/mcp-servers/index.ts";
import type { Database } from "../src/storage/index.ts";
import { openRuntimes } from "../src/turns/index.ts";
import { createMetrics } from "../src/telemetry/index.ts";
import { temporaryFolder } from "./databases.ts";
import { asFetch } from "./fetch-front.ts";
import { recordingLog, type RecordingLog } from "./recording-log.ts";
import { testBrowser, type TestBrowser } from "./test-browser.ts";

/** A whole host without a socket, with identity providers. */
export interface SigningHost {
  stores: Stores;
  origin: string;
  /** What was logged. */
  said: RecordingLog["said"];
  send(request: Request): Promise<Response>;
  newBrowser(): TestBrowser;
}

/** Wires a host that signs people in, for the time of a test. */
export async function openSigningHost(
  database: Database,
  signIn: unknown,
  { settings = {}, now }: { settings?: Record<string, unknown>; now?: () => Date } = {},
): Promise<SigningHost> {
  const folder = temporaryFolder();
  const file = join(folder, "turnpike.config.json");
  writeFileSync(file, JSON.stringify({ signIn, ...settings }));
  const config = loadConfig({
    file,
    env: {},
    flags: {
      database: join(folder, "unused.db"),
      "audit.keyFile": join(folder, "key.pem"),
      "audit.checkpointFile": join(folder, "checkpoints.jsonl"),
      "retention.auditFolder": join(folder, "exports"),
      "admin.tokenFile": "false",
    },
  });
  const log = recordingLog();
  const openPool = await loadMcpPool(McpConfigSchema.parse({ servers: {} }), log);
  const made = { database, metrics: createMetrics(), tracing: undefined, openPool, webhooks: [], consoleUrl: () => "" };
  const runtimes = await openRuntimes(config.runtime, {});
  const host = await wireHost(config, { log, ...runtimes, ...(now && { clock: now }) }, made);
  onTestFinished(() => host.close(() => Promise.resolve()));
  const origin = "http://127.0.0.1:8787";
  const send = asFetch(host.front);
  return { stores: host.stores, origin, said: log.said, send, newBrowser: () => testBrowser(origin, send) };
}
