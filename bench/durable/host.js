// A whole host whose turns call a tool or ask a person, as a process of its own that is told what to do. Plain JavaScript
// like the other side, with which it shares its work.
import { z } from "zod";
import { createLog, loadConfig, startHost } from "turnpike-host";
import { defineTool } from "turnpike/kernel";
import { answerOrders, appendLine, memoryNow } from "./work.js";

const { database, file, hangs } = JSON.parse(process.argv[2]);

/** A tool that appends a line; what it says of itself decides whether an interrupted call is made again. */
const appendTool = (name, annotations) =>
  defineTool({
    name: `effects.${name}`,
    description: "Appends a line to a file.",
    namespace: "effects",
    readWrite: "write",
    annotations,
    input: z.strictObject({ line: z.string() }),
    requires: { action: "append", resource: { namespace: "effects", path: [] } },
    run: ({ line }) => appendLine(file, line, hangs),
  });

const runtime = {
  manifest: { id: "one-call", version: "1" },
  resumes: () => true,
  async run({ executionId, message }, host) {
    const { createdAt: requestedAt, traceId, payload } = message;
    const { status, error } = await host.invokeTool({ id: "call", ...payload, requestedAt, traceId });
    if (payload.tool === "service.escalate") process.send({ goesOn: executionId });
    return { type: "complete", output: error?.code ?? status };
  },
};

/** No limit may refuse what is measured. */
const limits = ["requestsPerSecond", "burst", "concurrentTurns", "tenantTurns", "credentialTurns"];
const flags = {
  "listen.port": "0",
  "log.level": "error",
  ...(database !== undefined && { database }),
  ...Object.fromEntries(limits.map((limit) => [`limits.${limit}`, "100000"])),
};
const config = loadConfig({ env: {}, flags });
const tools = [appendTool("append", {}), appendTool("append-again", { idempotent: true })];
const host = await startHost(config, { log: createLog(config.log), runtime, tools });

answerOrders({
  url: () => host.url,
  memory: memoryNow,
  cpu: () => process.cpuUsage(),
  close: () => host.close(),
});
