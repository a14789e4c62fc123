import { expect, test } from "vitest";
import {
  alice,
  bob,
  capability,
  contextOf,
  deferred,
  fails,
  grantOf,
  operationOf,
  portSecret,
  refusingAudit,
  rejection,
  untyped,
  worldOf,
} from "../../test/deployment.ts";
import { ticks } from "../../test/turns.ts";
import {
  ResourceResultSchema,
  type AccessContext,
  type AuditEvent,
  type AuthorizationRequest,
  type Grant,
  type ResourceOperation,
  type ResourceOperationRequest,
  type ResourceResult,
} from "../contracts/index.ts";
import { memoryAudit, memoryResources } from "../testing/index.ts";
import type { ResourceProvider } from "./ports.ts";

const grants = [grantOf("grant-1")];
const bounded = [grantOf("grant-1", { constraints: { maxUses: 1 } })];

const done = { status: "succeeded", operationId: "operation-1", completedAt: "2026-01-01T12:00:00Z", output: "milk" };

function answering(answer: unknown): ResourceProvider & { operations: ResourceOperation[] } {
  const operations: ResourceOperation[] = [];
  return {
    namespace: "files",
    operations,
    invoke(operation) {
      operations.push(operation);
      return Promise.resolve(untyped<ResourceResult>(answer));
    },
  };
}

interface Row {
  name: string;
  operation?: unknown;
  context?: unknown;
  grants?: readonly Grant[];
  provider?: ResourceProvider;
  status: "succeeded" | "denied" | "failed";
  code?: string;
  used: 0 | 1;
}

const climbing = operationOf({ resource: { namespace: "files", path: ["notes", "..", "private"] } });

const rows: Row[] = [
  { name: "an operation that a grant covers", status: "succeeded", used: 1 },
  {
    name: "an operation for the context's owner by name",
    operation: operationOf({ resource: { namespace: "files", path: ["notes", "today"], owner: alice } }),
    status: "succeeded",
    used: 1,
  },
  {
    name: "an operation for another owner",
    operation: operationOf({ resource: { namespace: "files", path: ["notes", "today"], owner: bob } }),
    grants: [...bounded, grantOf("grant-2", { capabilities: [capability("files", [], "*", { owner: bob })] })],
    status: "denied",
    code: "invalid_request",
    used: 0,
  },
  {
    name: "another action",
    operation: operationOf({ action: "write" }),
    status: "denied",
    code: "no_matching_grant",
    used: 0,
  },
  {
    name: "a place without a grant",
    operation: operationOf({ resource: { namespace: "files", path: ["private"] } }),
    status: "denied",
    code: "no_matching_grant",
    used: 0,
  },
  {
    name: "a namespace without a provider and without a grant",
    operation: operationOf({ resource: { namespace: "mail", path: [] } }),
    status: "denied",
    code: "no_matching_grant",
    used: 0,
  },
  { name: "a path that climbs", operation: climbing, status: "denied", code: "invalid_request", used: 0 },
  {
    name: "a slash in a segment",
    operation: operationOf({ resource: { namespace: "files", path: ["notes/today"] } }),
    status: "denied",
    code: "invalid_request",
    used: 0,
  },
  {
    name: "a key too many",
    operation: { ...operationOf(), grants: [] },
    status: "denied",
    code: "invalid_request",
    used: 0,
  },
  {
    name: "an input that is no JSON",
    operation: { ...operationOf(), input: new Date(0) },
    status: "denied",
    code: "invalid_request",
    used: 0,
  },
  {
    name: "a context that does not fit",
    context: { ...contextOf(), purpose: "" },
    status: "denied",
    code: "invalid_context",
    used: 0,
  },
  {
    name: "a context without authority",
    context: withoutAuthority(),
    status: "denied",
    code: "invalid_context",
    used: 0,
  },
  {
    name: "a provider that fails",
    provider: { namespace: "files", invoke: fails },
    status: "failed",
    code: "resource_execution_failed",
    used: 1,
  },
  {
    name: "a provider that throws at once",
    provider: {
      namespace: "files",
      invoke: (): never => {
        throw new Error(portSecret);
      },
    },
    status: "failed",
    code: "resource_execution_failed",
    used: 1,
  },
  {
    name: "a provider that answers for another operation",
    provider: answering({ ...done, operationId: "operation-2" }),
    status: "failed",
    code: "invalid_resource_result",
    used: 1,
  },
  {
    name: "a provider that answers nothing",
    provider: answering(undefined),
    status: "failed",
    code: "invalid_resource_result",
    used: 1,
  },
  {
    name: "a provider that answers without output",
    provider: answering({ ...done, output: undefined }),
    status: "failed",
    code: "invalid_resource_result",
    used: 1,
  },
  {
    name: "a provider that answers no JSON",
    provider: answering({ ...done, output: new Map() }),
    status: "failed",
    code: "invalid_resource_result",
    used: 1,
  },
  {
    name: "a provider that answers with a key too many",
    provider: answering({ ...done, secret: portSecret }),
    status: "failed",
    code: "invalid_resource_result",
    used: 1,
  },
];

for (const row of rows) {
  test(`${row.name} is ${row.status}${row.code === undefined ? "" : ` with ${row.code}`}`, async () => {
    const memory = memoryResources("files");
    const { kernel, usage, portErrors } = worldOf({
      grants: row.grants ?? bounded,
      resources: [row.provider ?? memory],
    });
    const result = await kernel.invokeResource(
      untyped<AccessContext>(row.context ?? contextOf()),
      untyped<ResourceOperationRequest>(row.operation ?? operationOf()),
    );
    expect(result.status).toBe(row.status);
    expect("error" in result ? result.error.code : undefined).toBe(row.code);
    expect(result.operationId).toBe("operation-1");
    expect(ResourceResultSchema.safeParse(result).success).toBe(true);
    expect(JSON.stringify(result)).not.toContain(portSecret);
    expect(await usage.used("demo", "grant-1")).toBe(row.used);
    expect(memory.operations).toHaveLength(row.status === "succeeded" ? 1 : 0);
    const isProvidersFault = row.status === "failed";
    expect(portErrors.map(({ failure }) => failure)).toStrictEqual(
      isProvidersFault ? [{ port: "resources", id: "files" }] : [],
    );
  });
}

function withoutAuthority(): Omit<AccessContext, "authority"> {
  const { authority: _open, ...rest } = contextOf();
  return rest;
}

test("a namespace with a grant and no provider is resource_provider_not_found", async () => {
  const { kernel, portErrors } = worldOf({ grants, resources: [memoryResources("mail")] });
  const result = await kernel.invokeResource(contextOf(), operationOf());
  expect(result).toMatchObject({
    status: "failed",
    operationId: "operation-1",
    error: { code: "resource_provider_not_found" },
  });
  expect(portErrors).toStrictEqual([]);
});

test("the provider gets the operation with its owner filled in and the trusted context, frozen, and a signal", async () => {
  const seen: unknown[] = [];
  const provider: ResourceProvider = {
    namespace: "files",
    invoke(operation, signal) {
      seen.push(
        operation,
        signal,
        Object.isFrozen(operation) && Object.isFrozen(operation.resource) && Object.isFrozen(operation.context),
      );
      return Promise.resolve(untyped<ResourceResult>(done));
    },
  };
  const { signal } = new AbortController();
  const { kernel } = worldOf({ grants, resources: [provider] });
  await kernel.invokeResource(contextOf(), operationOf({ input: { text: "eggs" }, metadata: { try: 1 } }), { signal });
  expect(seen).toStrictEqual([
    {
      operationId: "operation-1",
      action: "read",
      resource: { namespace: "files", owner: alice, path: ["notes", "today"] },
      input: { text: "eggs" },
      metadata: { try: 1 },
      context: contextOf(),
    },
    signal,
    true,
  ]);
});

test("the owner is filled in before the decision: the host's policy sees whose resource it is", async () => {
  const seen: unknown[] = [];
  const policy = {
    narrow(request: unknown): undefined {
      seen.push(request);
    },
  };
  await worldOf({ grants, policy, resources: [memoryResources("files")] }).kernel.invokeResource(
    contextOf(),
    operationOf(),
  );
  expect(seen).toStrictEqual([
    { action: "read", resource: { namespace: "files", owner: alice, path: ["notes", "today"] } },
  ]);
});

test("a context inside the operation is ignored: only the trusted one decides and reaches the provider", async () => {
  const provider = answering(done);
  const { kernel } = worldOf({ grants, resources: [provider] });
  const forged = contextOf({ actor: bob, owner: bob, namespaceId: "elsewhere" });
  expect(await kernel.invokeResource(contextOf(), { ...operationOf(), context: forged })).toMatchObject({
    status: "succeeded",
  });
  expect(provider.operations[0]?.context).toStrictEqual(contextOf());
  expect(await kernel.invokeResource(forged, { ...operationOf(), context: contextOf() })).toMatchObject({
    status: "denied",
  });
  expect(provider.operations).toHaveLength(1);
});

for (const status of ["denied", "failed"] as const) {
  test(`a provider's own ${status} passes with the provider's own code`, async () => {
    const { output: _none, ...common } = done;
    const own = { ...common, status, error: { code: "note_locked", message: "Try tomorrow." } };
    const result = await worldOf({ grants, resources: [answering(own)] }).kernel.invokeResource(
      contextOf(),
      operationOf(),
    );
    expect(result).toStrictEqual(own);
  });
}

test("a class instance has its this", async () => {
  class Shelf implements ResourceProvider {
    readonly namespace = "files";
    readonly #output = "milk";

    invoke({ operationId }: ResourceOperation): Promise<ResourceResult> {
      return Promise.resolve({
        status: "succeeded",
        operationId,
        completedAt: "2026-01-01T12:00:00Z",
        output: this.#output,
      });
    }
  }
  const { kernel } = worldOf({ grants, resources: [new Shelf()] });
  expect(await kernel.invokeResource(contextOf(), operationOf())).toStrictEqual(done);
});

test("a spent grant denies with grant_exhausted and the provider is not called again", async () => {
  const provider = answering(done);
  const { kernel } = worldOf({ grants: bounded, resources: [provider] });
  expect(await kernel.invokeResource(contextOf(), operationOf())).toMatchObject({ status: "succeeded" });
  expect(await kernel.invokeResource(contextOf(), operationOf())).toMatchObject({
    status: "denied",
    error: { code: "grant_exhausted" },
  });
  expect(provider.operations).toHaveLength(1);
});

test("two providers for one namespace cannot be registered; two for two can", () => {
  expect(() => worldOf({ resources: [memoryResources("files"), memoryResources("files")] })).toThrow(TypeError);
  expect(() => worldOf({ resources: [memoryResources("files"), memoryResources("mail")] })).not.toThrow();
});

test("tenants and owners never meet: what one writes the other does not read", async () => {
  const everywhere = { capabilities: [capability("files", [], "*")] };
  const { kernel } = worldOf({
    grants: [grantOf("grant-1", everywhere), grantOf("grant-2", { ...everywhere, namespaceId: "elsewhere" })],
    resources: [memoryResources("files")],
  });
  const write = operationOf({ action: "write", input: "milk" });
  expect(await kernel.invokeResource(contextOf(), write)).toMatchObject({ status: "succeeded" });
  for (const row of [
    { context: contextOf(), output: "milk" },
    { context: contextOf({ owner: bob }), output: null },
    { context: contextOf({ namespaceId: "elsewhere" }), output: null },
  ]) {
    expect(await kernel.invokeResource(row.context, operationOf())).toMatchObject({
      status: "succeeded",
      output: row.output,
    });
  }
});

test("an abort before the effect rejects with its reason; nothing is taken, run or recorded", async () => {
  const provider = answering(done);
  const reason = new Error("the caller went away");
  const answer = deferred<readonly Grant[]>();
  const { kernel, usage, events } = worldOf({ source: { load: () => answer.promise }, resources: [provider] });
  expect(
    await rejection(kernel.invokeResource(contextOf(), operationOf(), { signal: AbortSignal.abort(reason) })),
  ).toBe(reason);
  const controller = new AbortController();
  const invoking = rejection(kernel.invokeResource(contextOf(), operationOf(), { signal: controller.signal }));
  controller.abort(reason);
  answer.resolve(bounded);
  expect(await invoking).toBe(reason);
  expect([provider.operations.length, events.length, await usage.used("demo", "grant-1")]).toStrictEqual([0, 0, 0]);
});

test("an abort after the effect changes nothing about the result", async () => {
  const controller = new AbortController();
  const provider: ResourceProvider = {
    namespace: "files",
    invoke() {
      controller.abort(new Error("the caller went away"));
      return Promise.resolve(untyped<ResourceResult>(done));
    },
  };
  const { kernel } = worldOf({ grants, resources: [provider] });
  expect(await kernel.invokeResource(contextOf(), operationOf(), { signal: controller.signal })).toStrictEqual(done);
});

test("a decision that the sink refuses fails the operation, and the provider is not called", async () => {
  const provider = answering(done);
  const { kernel } = worldOf({ grants, resources: [provider], audit: refusingAudit(() => true) });
  const result = await kernel.invokeResource(contextOf(), operationOf());
  expect(result).toMatchObject({ status: "failed", error: { code: "audit_unavailable" } });
  expect(provider.operations).toStrictEqual([]);
});

test("a policy or a sink that changes the resource it is handed changes nothing for the provider", async () => {
  const changed: boolean[] = [];
  const tamper = (resource: object): void => {
    changed.push(Reflect.set(resource, "path", ["private"]), Reflect.set(resource, "owner", bob));
  };
  const policy = {
    narrow(request: AuthorizationRequest): undefined {
      changed.push(Reflect.set(request, "action", "write"));
      tamper(request.resource);
    },
  };
  const audit = {
    record({ resource }: AuditEvent): Promise<void> {
      if (resource !== undefined) tamper(resource);
      return Promise.resolve();
    },
  };
  const provider = answering(done);
  await worldOf({ grants, policy, audit, resources: [provider] }).kernel.invokeResource(contextOf(), operationOf());
  // Three attempts by the policy, two on each of the sink's two events.
  expect(changed).toStrictEqual([false, false, false, false, false, false, false]);
  expect(provider.operations).toMatchObject([
    { action: "read", resource: { namespace: "files", owner: alice, path: ["notes", "today"] } },
  ]);
});

for (const row of [
  { name: "without an audit log", audit: () => "none" as const },
  { name: "with a sink", audit: memoryAudit },
]) {
  for (const count of [0, 1, 2, 3, 4, 5, 6, 7, 8]) {
    test(`aborted ${count} microtasks after the call, ${row.name}, the provider runs before the abort or not at all`, async () => {
      const controller = new AbortController();
      const reason = new Error("the caller went away");
      const ranAborted: boolean[] = [];
      const provider: ResourceProvider = {
        namespace: "files",
        invoke(_operation, signal) {
          ranAborted.push(signal.aborted);
          return Promise.resolve(untyped<ResourceResult>(done));
        },
      };
      const { kernel } = worldOf({ grants, resources: [provider], audit: row.audit() });
      const ended = kernel.invokeResource(contextOf(), operationOf(), { signal: controller.signal }).then(
        ({ status }) => status,
        (error: unknown) => error,
      );
      await ticks(count);
      controller.abort(reason);
      const end = await ended;
      expect([reason, "succeeded"]).toContain(end);
      expect(ranAborted).toStrictEqual(end === reason ? [] : [false]);
    });
  }
}
