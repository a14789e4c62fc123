// What a decision and an operation cost, next to a plain loop over the same grants.
import {
  AuthorizationRequestSchema,
  ToolCallSchema,
  type AccessContext,
  type AuthorizationRequest,
  type Grant,
} from "turnpike/contracts";
import { acceptContext, readBody } from "turnpike/http";
import { cachedGrants, createKernel, defineTool, type Kernel, type ToolHandler } from "turnpike/kernel";
import { memoryGrants, memoryUsage } from "turnpike/testing";
import { z } from "zod";
import { measureSubjects, type Subject } from "./support/in-process.ts";
import { publish, type Section } from "./support/results.ts";

const agent = { kind: "agent", agentId: "assistant" } as const;
const alice = { kind: "human", userId: "alice" } as const;
const now = "2026-06-01T12:00:00Z";
const quiet = { record: () => Promise.resolve() };

/** A body that was accepted once, as the HTTP adapter does: what is measured is the kernel, not the check of its input. */
function accepted<T>(schema: Parameters<typeof readBody>[1], value: T): Promise<T> {
  const bytes = new TextEncoder().encode(JSON.stringify(value)).buffer;
  return readBody({ arrayBuffer: () => Promise.resolve(bytes) }, schema) as Promise<T>;
}

const plainContext: AccessContext = {
  actor: agent,
  authority: alice,
  enabledToolNamespaces: ["bench"],
  namespaceId: "bench",
  now,
  owner: alice,
  purpose: "measure",
  traceId: "trace-1",
};
const context = acceptContext(plainContext, "required");

function grant(place: number, changes: Partial<Grant> = {}): Grant {
  return {
    id: `grant-${place}`,
    namespaceId: "bench",
    subject: agent,
    issuer: alice,
    capabilities: [
      { resource: { namespace: "files", path: [`folder-${place}`] }, actions: ["read"], scope: "descendants" },
    ],
    constraints: { purposes: ["measure"], notBefore: "2026-01-01T00:00:00Z", expiresAt: "2027-01-01T00:00:00Z" },
    issuedAt: "2026-01-01T00:00:00Z",
    ...changes,
  };
}

function ask(folder: string): Promise<AuthorizationRequest> {
  return accepted(AuthorizationRequestSchema, {
    action: "read",
    resource: { namespace: "files", path: [folder, "notes", "today.md"] },
  });
}

const ask0 = await ask("folder-0");

/** The same question to the same grants, one after the other. */
function scan(grants: readonly Grant[], { action, resource }: AuthorizationRequest): Grant | undefined {
  const at = Date.parse(now);
  return grants.find(
    ({ issuedAt, revokedAt, constraints, capabilities }) =>
      Date.parse(issuedAt) <= at &&
      (revokedAt === undefined || at < Date.parse(revokedAt)) &&
      (constraints.notBefore === undefined || Date.parse(constraints.notBefore) <= at) &&
      (constraints.expiresAt === undefined || at < Date.parse(constraints.expiresAt)) &&
      (constraints.purposes?.includes("measure") ?? true) &&
      capabilities.some(
        ({ resource: { namespace, path }, actions, scope }) =>
          namespace === resource.namespace &&
          (actions.includes(action) || actions.includes("*")) &&
          (scope === "descendants" || path.length === resource.path.length) &&
          path.every((segment, place) => segment === resource.path[place]),
      ),
  );
}

const sections: Section[] = [];
for (const count of [1, 256, 10_000]) {
  const grants = Array.from({ length: count }, (_, place) => grant(place));
  const kernel = createKernel({ grants: memoryGrants(grants), audit: "none" });
  const last = await ask(`folder-${count - 1}`);
  const none = await ask("elsewhere");
  const plain = `${count} grants, a loop`;
  sections.push(
    await measureSubjects(`kernel.authorize, ${count} grants`, [
      { name: plain, run: () => scan(grants, last) },
      { name: "match last", run: () => kernel.authorize(context, last), against: plain },
      { name: "match last, unchecked input", run: () => kernel.authorize(plainContext, { ...last }), against: plain },
      { name: "no match, with the request restated", run: () => kernel.authorize(context, none), against: plain },
    ]),
  );
}

/** What a database answers: other objects at every call. */
const freshGrants = (count: number) => Array.from({ length: count }, (_, place) => grant(place));
const goals = new Map([
  [1, 15],
  [16, 40],
  [256, 400],
]);
for (const [count, goalMicros] of goals) {
  const source = `making ${count} grants alone`;
  const fresh = createKernel({ grants: { load: () => Promise.resolve(freshGrants(count)) }, audit: "none" });
  const frozen = createKernel({
    grants: { load: () => Promise.resolve(Object.freeze(freshGrants(count).map((one) => Object.freeze(one)))) },
    audit: "none",
  });
  const known = freshGrants(count);
  const versioned = createKernel({
    grants: { load: () => Promise.resolve({ version: "1", grants: known }) },
    audit: "none",
  });
  const cached = createKernel({
    grants: cachedGrants({
      version: () => Promise.resolve("1"),
      load: () => Promise.resolve({ version: "1", grants: freshGrants(count) }),
    }),
    audit: "none",
  });
  sections.push(
    await measureSubjects(`kernel.authorize, ${count} grants from a source that answers with fresh promises`, [
      { name: source, run: () => Promise.resolve(freshGrants(count)) },
      { name: `${count} fresh grants`, run: () => fresh.authorize(context, ask0), against: source, goalMicros },
      { name: `${count} fresh frozen grants`, run: () => frozen.authorize(context, ask0), against: source },
      { name: `${count} grants with a version`, run: () => versioned.authorize(context, ask0), goalMicros: 10 },
      { name: `${count} cached grants`, run: () => cached.authorize(context, ask0), goalMicros: 10 },
    ]),
  );
}

/** Root to leaf: human 0 delegates to human 1, and so on down to the agent. */
function chainOf(links: number): Grant[] {
  const holder = (place: number) => (place === links ? agent : ({ kind: "human", userId: `user-${place}` } as const));
  return Array.from({ length: links + 1 }, (_, place) =>
    grant(0, {
      id: `link-${place}`,
      subject: holder(place),
      issuer: place === 0 ? alice : holder(place - 1),
      constraints: { delegationDepth: links - place },
      ...(place > 0 && { parentId: `link-${place - 1}` }),
    }),
  );
}

const chained = createKernel({ grants: memoryGrants(chainOf(3)), audit: "none" });
const direct = createKernel({ grants: memoryGrants([grant(0)]), audit: "none" });
const delegated = acceptContext({ ...plainContext, authority: { kind: "human", userId: "user-2" } }, "required");
sections.push(
  await measureSubjects("Delegation", [
    { name: "no chain", run: () => direct.authorize(context, ask0) },
    {
      name: "authorize through a chain of three",
      run: () => chained.authorize(delegated, ask0),
      against: "no chain",
      goalMicros: 2,
    },
  ]),
);

function toolsFor(count: number): ToolHandler[] {
  return Array.from({ length: count }, (_, place) =>
    defineTool({
      name: `bench.tool-${place}`,
      description: "Reads one file.",
      namespace: "bench",
      readWrite: "read",
      input: z.strictObject({ path: z.string() }),
      requires: {
        ceiling: { action: "read", resource: { namespace: "files", path: [] } },
        of: ({ path }) => ({ action: "read", resource: { namespace: "files", path: path.split("/") } }),
      },
      run: ({ path }) => ({ path }),
    }),
  );
}

const everything: Grant = grant(0, {
  capabilities: [
    { resource: { namespace: "files", path: ["folder-0"] }, actions: ["read", "write"], scope: "descendants" },
    { resource: { namespace: "service.messaging", path: [] }, actions: ["send"], scope: "descendants" },
  ],
  constraints: { maxUses: Number.MAX_SAFE_INTEGER },
});

function kernelWith(count: number): Kernel {
  return createKernel({
    grants: memoryGrants([everything]),
    usage: memoryUsage(),
    audit: quiet,
    tools: toolsFor(count),
    resources: [
      {
        namespace: "files",
        invoke: ({ operationId }) =>
          Promise.resolve({ status: "succeeded", operationId, completedAt: now, output: null }),
      },
    ],
    messages: {
      deliver: (_context, { id }) => Promise.resolve({ status: "delivered", messageId: id, timestamp: now }),
    },
  });
}

const call = await accepted(ToolCallSchema, {
  id: "call-1",
  tool: "bench.tool-5",
  arguments: { path: "folder-0/today.md" },
  requestedAt: now,
  traceId: "trace-1",
});
const envelope = {
  version: 1,
  id: "message-1",
  createdAt: now,
  traceId: "trace-1",
  purpose: "measure",
  sender: agent,
  receiver: alice,
  payload: { text: "hello" },
} as const;
const operation = { operationId: "op-1", action: "read", resource: { namespace: "files", path: ["folder-0", "a"] } };

const subjects = [12, 200].flatMap((count): Subject[] => {
  const kernel = kernelWith(count);
  return [
    { name: `listTools, ${count} tools`, run: () => kernel.listTools(context), against: "authorize" },
    {
      name: `invokeTool, ${count} tools`,
      run: () => kernel.invokeTool(context, call),
      against: "authorize",
      ...(count === 200 && { goalMicros: 8 }),
    },
  ];
});
const twelve = kernelWith(12);
sections.push(
  await measureSubjects("Operations, uses counted, audit to a sink that keeps nothing", [
    { name: "authorize", run: () => twelve.authorize(context, ask0) },
    ...subjects,
    { name: "sendMessage", run: () => twelve.sendMessage(context, envelope), against: "authorize" },
    { name: "invokeResource", run: () => twelve.invokeResource(context, operation), against: "authorize" },
  ]),
);
publish("kernel", sections);
