// A host as an embedder would start it, whose agents end their turns as the message says: run as a process of its own with
// `key=value` settings as arguments. A payload is `{ "escalate": {...} }`, `{ "fail": {...} }`, `{ "ask": {...} }` for an escalation
// whose answer the turn waits for, or what the turn completes with.
import { loadConfig } from "../../packages/host/dist/compose/config.js";
import { createLog } from "../../packages/host/dist/telemetry/log.js";
import { startHost } from "../../packages/host/dist/compose/compose.js";

const runtime = {
  manifest: { id: "told", version: "1" },
  resumes: () => true,
  async run({ message: { payload, createdAt: requestedAt, traceId } }, host) {
    host.emit({ type: "told", data: payload });
    if (payload?.ask !== undefined) {
      const call = { id: "ask-1", tool: "service.escalate", arguments: payload.ask, requestedAt, traceId };
      const { status } = await host.invokeTool(call, { step: 0 });
      return { type: "complete", output: status };
    }
    if (payload?.escalate !== undefined) return { type: "escalate", ...payload.escalate };
    if (payload?.fail !== undefined) return { type: "fail", error: payload.fail };
    return { type: "complete", output: payload };
  },
};

const flags = Object.fromEntries(process.argv.slice(2).map((setting) => setting.split(/=(.*)/s, 2)));
const config = loadConfig({ env: {}, flags: { "listen.port": "0", ...flags } });
const host = await startHost(config, { log: createLog(config.log), runtime });
process.once("SIGTERM", () => void host.close().then(() => process.exit(0)));
process.stdout.write(`Turnpike runs at ${host.url}\n`);
