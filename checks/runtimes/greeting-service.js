// A service with one tool and one grant, made of nothing but the library. Every runtime serves it, and the test of the
// library's globals calls it.
import { createServiceApi, createServiceHandler, ServiceHttpError } from "turnpike/http";
import { createKernel, defineTool } from "turnpike/kernel";
import { createTurnExecutor, standardRuntime } from "turnpike/runtime";
import { memoryAudit, memoryGrants, memoryMessages, memoryNamespaceSettings, scriptedDriver } from "turnpike/testing";
import { z } from "zod";

export const alice = { kind: "human", userId: "alice" };
export const agent = { kind: "agent", agentId: "helper" };
export const greeting = { namespace: "greetings", path: ["world"] };
const toAlice = { namespace: "service.messaging", path: ["human", "alice"] };
const toRun = { namespace: "service.execution", path: ["agent", "helper"] };

export const audit = memoryAudit();

const greet = defineTool({
  name: "greetings.greet",
  description: "Greets.",
  namespace: "greetings",
  readWrite: "read",
  input: z.object({ name: z.string() }),
  output: z.string(),
  requires: { action: "greet", resource: greeting },
  run: ({ name }) => `hello ${name}`,
});
const kernel = createKernel({
  grants: memoryGrants([
    {
      id: "grant-1",
      namespaceId: "demo",
      subject: agent,
      issuer: alice,
      capabilities: [greeting, toAlice, toRun].map((resource) => ({ resource, actions: ["*"], scope: "exact" })),
      constraints: {},
      issuedAt: "2026-01-01T12:00:00Z",
    },
  ]),
  tools: [greet],
  messages: memoryMessages(),
  namespaceSettings: memoryNamespaceSettings(["greetings"]),
  audit,
});
const steps = [{ type: "tools", calls: [{ tool: "greetings.greet", arguments: { name: "world" } }] }];
const turns = createTurnExecutor({ kernel, runtime: standardRuntime(scriptedDriver(steps)) });

/** The one token that the handler answers. */
export const token = "s3cret";

export const handler = createServiceHandler({
  api: createServiceApi({ kernel, turns }),
  async resolveContext({ headers }) {
    if (headers.get("authorization") !== `Bearer ${token}`) {
      throw new ServiceHttpError(401, "unauthenticated", "Send the token.");
    }
    return {
      actor: agent,
      authority: alice,
      enabledToolNamespaces: ["greetings"],
      namespaceId: "demo",
      now: new Date().toISOString(),
      owner: alice,
      purpose: "help",
      traceId: "trace-1",
    };
  },
});
