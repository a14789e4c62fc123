// A host as an embedder would start it, whose turns call a tool of an MCP server in two steps: run as a process of its own with
// `key=value` settings as arguments. Each decision is a line in `asked.log`, with the tools that the turn is offered. While the
// file `hold` is there, the second decision is never made.
import { appendFileSync, existsSync } from "node:fs";
import { standardRuntime } from "../../packages/turnpike/dist/runtime/index.js";
import { loadConfig } from "../../packages/host/dist/compose/config.js";
import { createLog } from "../../packages/host/dist/telemetry/log.js";
import { startHost } from "../../packages/host/dist/compose/compose.js";

const driver = {
  manifest: { id: "mcp-steps", version: "1" },
  resumes: (version) => version === "1",
  async open({ message, tools }) {
    const said = [];
    let place = 0;
    const learn = (given) => {
      if (given.type !== "tool_results") return;
      for (const { status, error } of given.results) said.push(error?.code ?? status);
    };
    return {
      memory: () => place,
      recall(given, memory) {
        learn(given);
        place = memory;
      },
      async next(given) {
        const offered = tools.map(({ name }) => name).join(" ");
        appendFileSync("asked.log", `${place}: ${offered}\n`);
        if (place === 1 && existsSync("hold")) await new Promise(() => {});
        learn(given);
        if (place === 2) return { type: "complete", output: said };
        const about = { requestedAt: message.createdAt, traceId: message.traceId };
        const call = { id: `echo-${place}`, tool: "mcp.notes.echo", arguments: { words: String(place) }, ...about };
        place += 1;
        return { type: "tools", calls: [call] };
      },
    };
  },
};

const flags = Object.fromEntries(process.argv.slice(2).map((setting) => setting.split(/=(.*)/s, 2)));
const config = loadConfig({ env: {}, flags: { "listen.port": "0", ...flags } });
const host = await startHost(config, { log: createLog(config.log), runtime: standardRuntime(driver) });
process.once("SIGTERM", () => void host.close().then(() => process.exit(0)));
process.stdout.write(`Turnpike runs at ${host.url}\n`);
