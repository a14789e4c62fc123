import { createServiceApi, ServiceHttpError, type ServiceApi } from "turnpike/http";
import type { AccessContext, Capability } from "turnpike/contracts";
import { createKernel, defineTool, type ToolHandler } from "turnpike/kernel";
import { createTurnExecutor, standardRuntime } from "turnpike/runtime";
import { memoryAudit, memoryGrants, scriptedDriver, type MemoryAudit, type MemoryGrants } from "turnpike/testing";
import { z } from "zod";
import { createFront } from "../../src/front/front.ts";
import { serveProtocol } from "../../src/front/protocol.ts";
import { createMetrics } from "../../src/observe/metrics.ts";
import { mcpProtocol } from "../../src/protocols/mcp/mcp-protocol.ts";
import { fileProvider } from "./file-provider.ts";
import { alice, assistant, capability, contextOf, grantOf } from "./servers.ts";

const files = {
  "notes/ideas.md": "A gate.",
  "notes/plans/2026.md": "Grow.",
  "notes/todo.md": "- water the plants",
  "private/diary.md": "Dear diary",
  "shared/menü 100%.md": "Soup",
};

function noteTool(name: string, readWrite: "read" | "write"): ToolHandler {
  return defineTool({
    name: `notes.${name}`,
    description: `Can ${name} a note.`,
    namespace: "notes",
    readWrite,
    input: z.strictObject({ note: z.string() }),
    output: z.strictObject({ note: z.string(), by: z.string() }),
    requires: {
      ceiling: { action: name, resource: { namespace: "notes", path: [] } },
      of: ({ note }) => ({ action: name, resource: { namespace: "notes", path: [note] } }),
    },
    run({ note }, { context }) {
      if (note === "broken") throw new Error("secret words");
      return { note, by: JSON.stringify(context.actor) };
    },
  });
}

/** A deployment that serves `/mcp` without a socket. */
export interface ServedWorld {
  serve(request: Request): Promise<Response>;
  api: ServiceApi;
  grants: MemoryGrants;
  audit: MemoryAudit;
  errors: unknown[];
}

/** Who the tokens belong to; `no-authority` exercises nobody's grants. */
const holders: Record<string, Partial<AccessContext>> = {
  assistant: { actor: assistant },
  alice: { actor: alice },
  "no-authority": {},
};

/** The assistant may `read` notes a and b, Alice everything; files as the capabilities say. */
export function servedWorld(
  options: { files?: readonly Capability[]; changeApi?: (api: ServiceApi) => ServiceApi } = {},
): ServedWorld {
  const grants = memoryGrants([
    grantOf("a", [capability("notes/a", ["read"], "exact")]),
    grantOf("b", [capability("notes/b", ["read"], "exact")]),
    ...(options.files ?? []).map((place, index) => grantOf(`files-${index}`, [place])),
    grantOf("all", [capability("notes", ["*"])], { subject: alice }),
  ]);
  const audit = memoryAudit();
  const kernel = createKernel({
    grants,
    audit,
    tools: [noteTool("read", "read"), noteTool("burn", "write")],
    resources: [fileProvider(files)],
  });
  const turns = createTurnExecutor({ kernel, runtime: standardRuntime(scriptedDriver([])) });
  const whole = createServiceApi({ kernel, turns });
  const api = options.changeApi?.(whole) ?? whole;
  const errors: unknown[] = [];
  const protocol = mcpProtocol({
    api,
    version: "1.2.3",
    async resolveContext(headers) {
      const [, token = ""] = /^Bearer (.+)$/.exec(headers.get("authorization") ?? "") ?? [];
      const holder = holders[token];
      if (holder === undefined) {
        const challenge = { "www-authenticate": 'Bearer realm="turnpike"' };
        throw new ServiceHttpError(401, "unauthenticated", "Send a valid credential.", { headers: challenge });
      }
      const { authority, ...context } = contextOf({ enabledToolNamespaces: ["notes"], ...holder });
      return token === "no-authority" ? context : { ...context, authority };
    },
  });
  const note = (facts: { error?: string }): void => {
    if (facts.error !== undefined) errors.push(facts.error);
  };
  const front = createFront({
    protocols: [serveProtocol(protocol)],
    log: { info() {}, warn: note, error: note },
    metrics: createMetrics(),
  });
  const serve = async (request: Request): Promise<Response> =>
    protocol.owns(new URL(request.url).pathname) ? front(request) : new Response("elsewhere", { status: 418 });
  return { serve, api, grants, audit, errors };
}
