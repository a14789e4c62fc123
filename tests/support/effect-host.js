// A host as an embedder would start it, with effects that a test can count and hold: run as a process of its own with
// `key=value` settings as arguments. Gates are files below the folder it runs in: what waits for one continues once it is there.
import { appendFileSync, existsSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import { z } from "zod";
import { defineTool } from "../../packages/turnpike/dist/kernel/index.js";
import { loadConfig } from "../../packages/host/dist/compose/config.js";
import { createLog } from "../../packages/host/dist/telemetry/log.js";
import { startHost } from "../../packages/host/dist/compose/compose.js";

const effects = "effects.log";

async function gate(name) {
  while (!existsSync(name)) await delay(5);
}

const append = defineTool({
  name: "effects.append",
  description: "Appends a line to a file.",
  namespace: "effects",
  readWrite: "write",
  input: z.strictObject({ line: z.string(), until: z.string().optional(), throws: z.string().optional() }),
  output: z.strictObject({ line: z.string() }),
  requires: { action: "append", resource: { namespace: "effects", path: [] } },
  async run({ line, until, throws }) {
    if (throws !== undefined) throw new Error(`Cannot append ${throws}.`);
    appendFileSync(effects, `${line}\n`);
    if (until !== undefined) await gate(until);
    return { line };
  },
});

/** Appends a line for each call that the message asks for, each once its gate is open, and says how the calls ended. */
async function callAll({ message }, host) {
  const output = [];
  for (const { id, until } of message.payload.calls) {
    if (until !== undefined) await gate(until);
    const asked = { id, tool: "effects.append", arguments: { line: id }, requestedAt: new Date().toISOString() };
    const { status, error } = await host.invokeTool({ ...asked, traceId: message.traceId });
    output.push(error === undefined ? status : `${status}: ${error.code}`);
  }
  return { type: "complete", output };
}

/** Makes the calls or waits for the gate that the message names, whatever the signal says. */
const runtime = {
  manifest: { id: "gated", version: "1" },
  async run(turn, host) {
    if (turn.message.payload.calls !== undefined) return callAll(turn, host);
    const { until, line, throws } = turn.message.payload;
    if (throws !== undefined) throw new Error(`Cannot run ${throws}.`);
    host.emit({ type: "waiting", data: { until: until ?? null } });
    appendFileSync(effects, `${line ?? "turn"}\n`);
    if (until !== undefined) await gate(until);
    return { type: "complete", output: { line: line ?? null } };
  },
};

const flags = Object.fromEntries(process.argv.slice(2).map((setting) => setting.split(/=(.*)/s, 2)));
const config = loadConfig({ env: {}, flags: { "listen.port": "0", ...flags } });
const host = await startHost(config, { log: createLog(config.log), runtime, tools: [append] });
process.once("SIGTERM", () => void host.close().then(() => process.exit(0)));
process.stdout.write(`Turnpike runs at ${host.url}\n`);
