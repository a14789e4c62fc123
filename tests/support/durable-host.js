// A host as an embedder would start it, whose turns take several steps that a test can count: run as a process of its own with
// `key=value` settings as arguments. A payload is `{ "steps": n, "asks": k }`: in each step the driver wants a line written and
// one read, and in step k it asks a person first. `"guarded": m` adds m calls of a tool of its own to the first step, which
// a grant can guard by a person's approval. With `"until": gate` the first call ends once there is a file of that name. Each decision is a line in `asked.log`, each effect one in `effects.log`.
import { appendFileSync, existsSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import { z } from "zod";
import { defineTool } from "../../packages/turnpike/dist/kernel/index.js";
import { standardRuntime } from "../../packages/turnpike/dist/runtime/index.js";
import { loadConfig } from "../../packages/host/dist/compose/config.js";
import { createLog } from "../../packages/host/dist/telemetry/log.js";
import { startHost } from "../../packages/host/dist/compose/compose.js";

const input = z.strictObject({ line: z.string() });
const requires = { action: "append", resource: { namespace: "effects", path: [] } };
const pause = () => delay(Math.random() * 4);

async function gate(name) {
  while (!existsSync(name)) await delay(5);
}

const append = defineTool({
  name: "effects.append",
  description: "Appends a line to a file.",
  namespace: "effects",
  readWrite: "write",
  input: z.strictObject({ line: z.string(), until: z.string().optional() }),
  requires,
  async run({ line, until }) {
    await pause();
    appendFileSync("effects.log", `${line}\n`);
    await pause();
    if (until !== undefined) await gate(until);
    return line;
  },
});

const read = defineTool({
  name: "effects.read",
  description: "Reads nothing, which may be done again.",
  namespace: "effects",
  readWrite: "read",
  input,
  requires,
  async run({ line }) {
    await pause();
    return line;
  },
});

const guarded = defineTool({
  name: "effects.guarded",
  description: "Appends a line to a file, for those who may do that.",
  namespace: "effects",
  readWrite: "write",
  input,
  requires: { action: "guard", resource: { namespace: "effects", path: [] } },
  async run({ line }) {
    await pause();
    appendFileSync("effects.log", `${line}\n`);
    return line;
  },
});

const driver = {
  manifest: { id: "steps", version: "1" },
  resumes: (version) => version === "1",
  async open({ executionId, message }) {
    const { steps, asks, guarded: count = 0, until } = message.payload;
    const said = [];
    let place = 0;
    const call = (name, tool, args) => ({
      id: `${name}-${place}`,
      tool,
      arguments: args,
      requestedAt: message.createdAt,
      traceId: message.traceId,
    });
    const learn = (given) => {
      if (given.type === "tool_results")
        for (const { status, error } of given.results) said.push(error?.code ?? status);
    };
    return {
      memory: () => place,
      recall(given, memory) {
        learn(given);
        place = memory;
      },
      async next(given) {
        appendFileSync("asked.log", `${executionId} decision-${place}\n`);
        await pause();
        learn(given);
        if (place === steps) return { type: "complete", output: said };
        const line = { line: `${executionId} ${place}` };
        const held = place === 0 && until !== undefined ? { ...line, until } : line;
        const calls = [call("append", "effects.append", held), call("read", "effects.read", line)];
        if (place === asks) calls.push(call("ask", "service.escalate", { reason: `May ${executionId} go on?` }));
        for (let one = 1; one <= (place === 0 ? count : 0); one += 1)
          calls.push(call(`guarded-${one}`, "effects.guarded", { line: `${executionId} guarded-${one}` }));
        place += 1;
        return { type: "tools", calls };
      },
    };
  },
};

const flags = Object.fromEntries(process.argv.slice(2).map((setting) => setting.split(/=(.*)/s, 2)));
const config = loadConfig({ env: {}, flags: { "listen.port": "0", ...flags } });
const host = await startHost(config, {
  log: createLog(config.log),
  runtime: standardRuntime(driver),
  tools: [append, read, guarded],
});
process.once("SIGTERM", () => void host.close().then(() => process.exit(0)));
process.stdout.write(`Turnpike runs at ${host.url}\n`);
