// The gate of this app: a tool, a grant, a caller. Yours has tools of its own, and grants from its database.
import { createHash, timingSafeEqual } from "node:crypto";
import { createServiceApi, createServiceHandler, ServiceHttpError } from "turnpike/http";
import { createKernel, defineTool } from "turnpike/kernel";
import { createTurnExecutor, standardRuntime } from "turnpike/runtime";
import { memoryGrants, memoryTurnJournal, scriptedDriver } from "turnpike/testing";
import { z } from "zod";

const alice = Object.freeze({ kind: "human", userId: "alice" });
const helper = Object.freeze({ kind: "agent", agentId: "helper" });

const readNote = defineTool({
  name: "notes.read",
  description: "Reads one of the owner's notes.",
  namespace: "notes",
  readWrite: "read",
  input: z.strictObject({ note: z.string() }),
  requires: {
    ceiling: { action: "read", resource: { namespace: "notes", path: [] } },
    of: ({ note }) => ({ action: "read", resource: { namespace: "notes", path: [note] } }),
  },
  run: ({ note }) => `the text of ${note}`,
});

// Alice lets the helper run, and read her shopping list.
const issued = { id: "grant-1", namespaceId: "home", constraints: {}, issuedAt: "2026-01-01T00:00:00Z" };
const grants = memoryGrants([
  {
    ...issued,
    subject: helper,
    issuer: alice,
    capabilities: [
      { resource: { namespace: "service.execution", path: ["agent", "helper"] }, actions: ["invoke"], scope: "exact" },
      { resource: { namespace: "notes", path: ["shopping"] }, actions: ["read"], scope: "exact" },
    ],
  },
]);
const kernel = createKernel({ grants, tools: [readNote], audit: "none" });

// A turn of the helper reads the list. A model, or whatever thinks in your turns, is a runtime in the place of this script.
const shopping = { tool: "notes.read", arguments: { note: "shopping" } };
const runtime = standardRuntime(scriptedDriver([{ type: "tools", calls: [shopping] }]));
const journal = memoryTurnJournal();

/** A `Request` in, a `Response` out. */
export const gate = createServiceHandler({
  api: createServiceApi({ kernel, turns: createTurnExecutor({ kernel, runtime, journal }) }),
  journal,
  basePath: "/api/turnpike",
  async resolveContext({ headers }) {
    const { APP_TOKEN: token } = process.env;
    if (!token) throw new Error("Set APP_TOKEN to the token that callers are to send.");
    // Hashes are compared, so that the time it takes tells nothing about the token.
    const texts = [headers.get("authorization") ?? "", `Bearer ${token}`];
    const [sent, expected] = texts.map((text) => createHash("sha256").update(text).digest());
    if (!timingSafeEqual(sent, expected)) throw new ServiceHttpError(401, "unauthenticated", "Send the token.");
    const who = { actor: helper, authority: alice, owner: alice, namespaceId: "home", purpose: "help" };
    const traceId = headers.get("x-trace-id") ?? crypto.randomUUID();
    return { ...who, enabledToolNamespaces: ["notes"], traceId, now: new Date().toISOString() };
  },
  onError: (error) => void (error instanceof ServiceHttpError || console.error(error)),
});
