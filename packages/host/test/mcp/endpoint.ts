import { createServiceApi, ServiceHttpError, type ServiceApi } from "turnpike/http";
import type { AccessContext, Capability, JsonValue } from "turnpike/contracts";
import { createKernel, defineTool, type ResourceProvider, type ToolHandler } from "turnpike/kernel";
import { createTurnExecutor, standardRuntime } from "turnpike/runtime";
import { memoryAudit, memoryGrants, scriptedDriver, type MemoryAudit, type MemoryGrants } from "turnpike/testing";
import { z } from "zod";
import { createFront } from "../../src/front/front.ts";
import { asFetch } from "../fetch-front.ts";
import { serveProtocol } from "../../src/front/protocol.ts";
import { createMetrics } from "../../src/telemetry/metrics.ts";
import type { Caller } from "../../src/access/authenticate.ts";
import { fromOfferSegment, type McpPool, type ServerOffer } from "../../src/mcp-servers/index.ts";
import { createListening, type Listening } from "../../src/protocols/mcp/listening.ts";
import { mcpProtocol } from "../../src/protocols/mcp/mcp-protocol.ts";
import { createOriginOf, createStreamSlots } from "../../src/front/index.ts";
import type { ProtectedResource } from "../../src/protocols/mcp/protected-resource.ts";
import { alice, assistant, capability, contextOf, grantOf } from "./servers.ts";

const files: Readonly<Record<string, string>> = {
  "notes/ideas.md": "A gate.",
  "notes/plans/2026.md": "Grow.",
  "notes/todo.md": "- water the plants",
  "private/diary.md": "Dear diary",
  "shared/menü 100%.md": "Soup",
};

/** Has the resource namespace `files`: `list` and `read`, in pages of two unless fewer are asked for. */
const fileProvider: ResourceProvider = {
  namespace: "files",
  invoke({ operationId, action, resource, context, input }) {
    const about = { operationId, completedAt: context.now };
    const path = resource.path.join("/");
    const succeed = (output: JsonValue) => Promise.resolve({ status: "succeeded" as const, ...about, output });
    const isThere = Object.keys(files).some((file) => path === "" || `${file}/`.startsWith(`${path}/`));
    if (isThere && action === "list") return succeed(listing(path, input as never));
    const content = files[path];
    if (content !== undefined) return succeed({ content, version: 1 });
    const error = { code: "not_found", message: "There is no file at this path." };
    return Promise.resolve({ status: "failed" as const, ...about, error });
  },
};

function listing(folder: string, { limit, cursor = "0" }: { limit: number; cursor?: string }): JsonValue {
  const below = Object.keys(files).filter((path) => folder === "" || `${path}/`.startsWith(`${folder}/`));
  const start = Number(cursor);
  const end = start + Math.min(2, limit);
  const entries = below.slice(start, end).map((path) => ({ path, version: 1 }));
  return { entries, ...(end < below.length && { cursor: String(end) }) };
}

/** Has what a server offers: each resource says which server it is of, each prompt what it was given. */
function offerProvider({ namespace }: ServerOffer): ResourceProvider {
  return {
    namespace,
    invoke({ operationId, resource, input, context }) {
      const about = { operationId, completedAt: context.now };
      const [kind, segment = ""] = resource.path;
      const text = fromOfferSegment(segment) ?? "";
      const outputs: Record<string, JsonValue> = {
        resources: { contents: [{ uri: text, text: `of ${namespace}`, later: 1 }] },
        prompts: {
          description: text,
          messages: [{ role: "user", content: { type: "text", text: JSON.stringify(input ?? null) } }],
        },
      };
      const output = outputs[kind ?? ""];
      if (output !== undefined && !text.includes("gone"))
        return Promise.resolve({ status: "succeeded" as const, ...about, output });
      const error = { code: "not_found", message: "The server has nothing of that name." };
      return Promise.resolve({ status: "failed" as const, ...about, error });
    },
  };
}

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
  listening: Listening;
  /** Ends what the bearer of a token may hear. */
  revoke(token: string): void;
}

/** Who the tokens belong to; `no-authority` exercises no one's grants. */
const holders: Record<string, Partial<AccessContext>> = {
  assistant: { actor: assistant },
  alice: { actor: alice },
  "no-authority": {},
};

/** What a world is made with besides the notes. */
interface WorldOptions {
  /** What the assistant may do with files, and with what MCP servers offer. */
  files?: readonly Capability[];
  offers?: readonly ServerOffer[];
  /** What else the servers say. */
  pool?: Partial<McpPool>;
  about?: Partial<ProtectedResource>;
  /** How many streams a credential may have open, and how many sockets the host has. */
  streams?: number;
  sockets?: number;
  changeApi?: (api: ServiceApi) => ServiceApi;
}

/** The assistant may `read` notes a and b, Alice everything; files as the capabilities say. */
export function servedWorld(options: WorldOptions = {}): ServedWorld {
  const { offers = [] } = options;
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
    resources: [fileProvider, ...offers.map(offerProvider)],
  });
  const turns = createTurnExecutor({ kernel, runtime: standardRuntime(scriptedDriver([])) });
  const whole = createServiceApi({ kernel, turns });
  const api = options.changeApi?.(whole) ?? whole;
  const errors: unknown[] = [];
  const revoked = new Set<string>();
  const perCredential = options.streams ?? 100;
  const listening = createListening({ slots: createStreamSlots(options.sockets ?? 1000), perCredential });
  const protocol = mcpProtocol({
    api,
    pool: { offers: () => Promise.resolve(offers), unavailable: () => [], listen: () => () => {}, ...options.pool },
    listening,
    about: { originOf: createOriginOf({}), ...options.about },
    known: { tools: ["notes.burn", "notes.read"], namespaces: ["mcp.wiki", "mcp.other"] },
    version: "1.2.3",
    async resolveContext(headers, record) {
      const [, token = ""] = /^Bearer (.+)$/.exec(headers.get("authorization") ?? "") ?? [];
      const holder = holders[token];
      if (holder === undefined) {
        const challenge = { "www-authenticate": 'Bearer realm="turnpike"' };
        throw new ServiceHttpError(401, "unauthenticated", "Send a valid credential.", { headers: challenge });
      }
      record.facts = { tenant: "acme", credentialId: token };
      record.caller = { isStillAdmitted: () => Promise.resolve(!revoked.has(token)) } as unknown as Caller;
      const { authority, ...context } = contextOf({ enabledToolNamespaces: ["notes"], ...holder });
      return token === "no-authority" ? context : { ...context, authority };
    },
  });
  const note = (facts: { error?: string }): void => {
    if (facts.error !== undefined) errors.push(facts.error);
  };
  const front = asFetch(
    createFront({
      protocols: [serveProtocol(protocol)],
      log: { info() {}, warn: note, error: note },
      metrics: createMetrics(),
    }),
  );
  const serve = async (request: Request): Promise<Response> =>
    protocol.owns(new URL(request.url).pathname) ? front(request) : new Response("elsewhere", { status: 418 });
  return { serve, api, grants, audit, errors, listening, revoke: (token) => void revoked.add(token) };
}

/** Where it is served. */
export const mcpUrl = "http://turnpike.test/mcp";

/** Posts a message as a client does, with the assistant's credential. */
export function postMcp(
  world: ServedWorld,
  body: unknown,
  headers: Record<string, string> = {},
  signal: AbortSignal | null = null,
): Promise<Response> {
  return world.serve(
    new Request(mcpUrl, {
      method: "POST",
      headers: {
        authorization: "Bearer assistant",
        "content-type": "application/json",
        accept: "application/json, text/event-stream",
        ...headers,
      },
      body: typeof body === "string" ? body : JSON.stringify(body),
      signal,
    }),
  );
}
