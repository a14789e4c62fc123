import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { AccessContext } from "turnpike/contracts";
import { ServiceHttpError, type ServiceApi } from "turnpike/http";
import { createKernel, defineTool, KernelError } from "turnpike/kernel";
import { memoryGrants } from "turnpike/testing";
import { z } from "zod";
import { databaseKinds, newTenant, openPair, sharedDatabase } from "../../test/databases.ts";
import { call, countingApi, envelope, operation } from "../../test/counting-api.ts";
import { alice, context, grant } from "../../test/records.ts";
import { replayStoreOf } from "../../test/single-stores.ts";
import type { ReplayKey } from "./replay-store.ts";
import { protectFromReplay } from "./replay-api.ts";

const later = "2026-02-02T00:00:00Z";
const olivia = { kind: "human", userId: "olivia" } as const;

type Ask = (api: ServiceApi, context: AccessContext) => Promise<unknown>;

/** The three kinds of effects: as they are first asked for, again later, with another body, and under another id. */
const kinds: { kind: ReplayKey["kind"]; ask: Ask; again: Ask; otherBody: Ask; otherId: Ask }[] = [
  {
    kind: "tool",
    ask: (api, who) => api.invokeTool(who, call),
    again: (api, who) =>
      api.invokeTool(who, {
        ...call,
        requestedAt: later,
        arguments: { deep: { list: [1, { a: 1, b: 2 }] }, path: "a" },
      }),
    otherBody: (api, who) => api.invokeTool(who, { ...call, arguments: { path: "b" } }),
    otherId: (api, who) => api.invokeTool(who, { ...call, id: "id-2" }),
  },
  {
    kind: "resource",
    ask: (api, who) => api.invokeResource(who, operation),
    again: (api, who) => api.invokeResource(who, { ...operation, context: { ...who, now: later } }),
    otherBody: (api, who) => api.invokeResource(who, { ...operation, action: "delete" }),
    otherId: (api, who) => api.invokeResource(who, { ...operation, operationId: "id-2" }),
  },
  {
    kind: "message",
    ask: (api, who) => api.sendMessage(who, envelope),
    again: (api, who) => api.sendMessage(who, { ...envelope, createdAt: later }),
    otherBody: (api, who) => api.sendMessage(who, { ...envelope, payload: "bye" }),
    otherId: (api, who) => api.sendMessage(who, { ...envelope, id: "id-2" }),
  },
];

/** What an api may throw, and whether it surely came before anything ran. */
const thrown = [
  { name: "something unknown", error: new Error("a bug after the effect"), isFree: false },
  {
    name: "an error that is only written like a refusal",
    error: Object.assign(new Error("no"), { code: "overloaded" }),
    isFree: false,
  },
  { name: "an internal error", error: new ServiceHttpError(500, "internal_error", "Failed."), isFree: false },
  { name: "a refusal that it does not know", error: new ServiceHttpError(403, "of_a_host", "No."), isFree: false },
  { name: "that the host is overloaded", error: new ServiceHttpError(503, "overloaded", "Full."), isFree: true },
  { name: "that the grants cannot be read", error: new KernelError("authority_unavailable"), isFree: true },
  { name: "an abort that the caller did not make", error: new DOMException("Aborted.", "AbortError"), isFree: false },
];

const conflict = { status: 409, code: "replay_conflict", message: "This id was used for another request." };

describe.each(databaseKinds)("replay protection on %s", (databaseKind) => {
  const open = sharedDatabase(databaseKind);

  const protect = async (counting = countingApi()) => {
    const replayed: string[] = [];
    const store = replayStoreOf(await open());
    const api = protectFromReplay(counting.api, { store, onReplay: ({ kind, id }) => replayed.push(`${kind} ${id}`) });
    return { api, store, replayed, effects: counting.effects };
  };

  for (const { kind, ask, again, otherBody, otherId } of kinds) {
    describe(`a ${kind}`, () => {
      test("asked for again, later and with its keys in another order, gets the recorded result; nothing runs", async () => {
        const { api, effects, replayed } = await protect();
        const who = context({ namespaceId: newTenant() });
        const first = await ask(api, who);
        expect(replayed).toEqual([]);
        expect(await again(api, { ...who, now: later, traceId: "trace-1" })).toStrictEqual(first);
        expect(effects).toEqual([`${kind} id-1`]);
        expect(replayed).toEqual([`${kind} id-1`]);
      });

      test("with another id is another effect", async () => {
        const { api, effects } = await protect();
        const who = context({ namespaceId: newTenant() });
        await ask(api, who);
        await otherId(api, who);
        expect(effects).toEqual([`${kind} id-1`, `${kind} id-2`]);
      });

      test("of another tenant with the same id is another effect", async () => {
        const { api, effects } = await protect();
        const [first, second] = [
          await ask(api, context({ namespaceId: newTenant() })),
          await ask(api, context({ namespaceId: newTenant() })),
        ];
        expect(effects).toHaveLength(2);
        expect(second).not.toEqual(first);
      });

      test("of another actor with the same id is another effect: no actor uses up or sees another's ids", async () => {
        const { api, effects, replayed } = await protect();
        const who = context({ namespaceId: newTenant() });
        const first = await ask(api, who);
        const second = await ask(api, { ...who, actor: olivia });
        expect(second).not.toEqual(first);
        expect(await ask(api, who)).toEqual(first);
        expect(effects).toHaveLength(2);
        expect(replayed).toHaveLength(1);
      });

      test("with another body conflicts", async () => {
        const { api, effects } = await protect();
        const who = context({ namespaceId: newTenant() });
        await ask(api, who);
        await expect(otherBody(api, who)).rejects.toMatchObject(conflict);
        expect(effects).toHaveLength(1);
      });

      for (const [field, change] of Object.entries({
        authority: { authority: olivia },
        owner: { owner: olivia },
        purpose: { purpose: "billing" },
      } satisfies Partial<Record<keyof AccessContext, Partial<AccessContext>>>)) {
        test(`with another ${field} conflicts`, async () => {
          const { api, effects } = await protect();
          const who = context({ namespaceId: newTenant() });
          await ask(api, who);
          await expect(ask(api, { ...who, ...change })).rejects.toMatchObject(conflict);
          expect(effects).toHaveLength(1);
        });
      }

      test("still running is pending, with a time to come back", async () => {
        const namespaceId = newTenant();
        const meanwhile: unknown[] = [];
        const counting = countingApi(async () => {
          meanwhile.push(await again(api, context({ namespaceId })).catch((error: unknown) => error));
        });
        const { api, effects } = await protect(counting);
        await ask(api, context({ namespaceId }));
        expect(meanwhile).toMatchObject([
          {
            status: 409,
            code: "replay_pending",
            message: "The same request is still running.",
            headers: { "retry-after": "1" },
          },
        ]);
        expect(effects).toHaveLength(1);
      });

      for (const row of thrown) {
        const fate = row.isFree ? "leaves its id free" : "is interrupted: it is never run again by itself";
        test(`that throws ${row.name} gives its error to the caller and ${fate}`, async () => {
          let isBroken = true;
          const counting = countingApi(() => (isBroken ? Promise.reject(row.error) : Promise.resolve()));
          const { api, effects } = await protect(counting);
          const who = context({ namespaceId: newTenant() });
          await expect(ask(api, who)).rejects.toBe(row.error);
          isBroken = false;
          const second = await ask(api, who).catch(({ code }: ServiceHttpError) => code);
          expect(second === "replay_interrupted").toBe(!row.isFree);
          expect(effects).toHaveLength(row.isFree ? 2 : 1);
        });
      }

      test("whose result is forgotten is not run again", async () => {
        const { api, store, effects } = await protect();
        const who = context({ namespaceId: newTenant() });
        await ask(api, who);
        for (const of of ["reads", "writes"] as const) await store.forgetResults(of, "2999-01-01T00:00:00.000Z", 500);
        await expect(ask(api, who)).rejects.toMatchObject({ status: 409, code: "replay_interrupted" });
        expect(effects).toHaveLength(1);
      });
    });
  }

  for (const row of [
    { kind: "tool", status: "denied", code: "no_matching_grant", isFree: true },
    { kind: "tool", status: "denied", code: "grant_exhausted", isFree: true },
    { kind: "tool", status: "failed", code: "audit_unavailable", isFree: true },
    { kind: "tool", status: "failed", code: "tool_catalog_unavailable", isFree: true },
    { kind: "tool", status: "failed", code: "invalid_tool_arguments", isFree: true },
    { kind: "tool", status: "failed", code: "tool_execution_failed", isFree: false },
    { kind: "tool", status: "failed", code: "a_code_of_the_tool", isFree: false },
    { kind: "tool", status: "denied", code: "a_code_of_the_tool", isFree: false },
    { kind: "tool", status: "succeeded", code: "no_matching_grant", isFree: false },
    { kind: "resource", status: "denied", code: "authority_unavailable", isFree: true },
    { kind: "resource", status: "failed", code: "resource_provider_not_found", isFree: true },
    { kind: "resource", status: "failed", code: "resource_execution_failed", isFree: false },
    { kind: "message", status: "denied", code: "no_matching_grant", isFree: true },
    { kind: "message", status: "failed", code: "message_transport_not_configured", isFree: true },
    { kind: "message", status: "failed", code: "message_delivery_failed", isFree: false },
  ] as const) {
    const fate = row.isFree ? "leaves its id free: once it is allowed it works" : "is stored and repeated";
    test(`a ${row.kind} that is ${row.status} with ${row.code} ${fate}`, async () => {
      let isRefused = true;
      const counting = countingApi();
      const refusing = { status: row.status, error: { code: row.code, message: "Refused." }, events: [] };
      const answer = (allowed: () => Promise<unknown>) => () => (isRefused ? Promise.resolve(refusing) : allowed());
      const who = context({ namespaceId: newTenant() });
      const api = {
        ...counting.api,
        invokeTool: answer(() => counting.api.invokeTool(who, call)),
        invokeResource: answer(() => counting.api.invokeResource(who, operation)),
        sendMessage: answer(() => counting.api.sendMessage(who, envelope)),
      } as unknown as ServiceApi;
      const { api: protecting } = await protect({ api, effects: counting.effects });
      const asked = kinds.find(({ kind }) => kind === row.kind);
      const first = await asked?.ask(protecting, who);
      isRefused = false;
      const second = await asked?.ask(protecting, who);
      expect(counting.effects).toHaveLength(row.isFree ? 1 : 0);
      expect(JSON.stringify(second) === JSON.stringify(first)).toBe(!row.isFree);
    });
  }

  test("the kinds do not share ids", async () => {
    const { api, effects } = await protect();
    const who = context({ namespaceId: newTenant() });
    for (const { ask } of kinds) await ask(api, who);
    expect(effects).toEqual(["tool id-1", "resource id-1", "message id-1"]);
  });

  for (const row of [
    { name: "another trace", second: { traceId: "trace-2" }, execution: undefined, count: 2 },
    { name: "the same trace", second: {}, execution: undefined, count: 1 },
    { name: "another execution", second: {}, execution: "execution-2", count: 2 },
    { name: "the same execution", second: {}, execution: "execution-1", count: 1 },
  ]) {
    test(`a tool call with the same id in ${row.name} ${row.count === 2 ? "is another effect" : "is replayed"}`, async () => {
      const { api, effects } = await protect();
      const namespaceId = newTenant();
      const who = context({ namespaceId, ...(row.execution !== undefined && { executionId: "execution-1" }) });
      await api.invokeTool(who, call);
      await api.invokeTool(
        { ...who, ...row.second, ...(row.execution !== undefined && { executionId: row.execution }) },
        { ...call, ...row.second },
      );
      expect(effects).toHaveLength(row.count);
    });
  }

  test("however many ask for the same at once, the effect happens once and all others are told to wait", async () => {
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 1, max: 25 }), fc.constantFrom(...kinds), async (count, { ask }) => {
        const { api, effects } = await protect();
        const who = context({ namespaceId: newTenant() });
        const asked = await Promise.allSettled(Array.from({ length: count }, () => ask(api, who)));
        expect(effects).toHaveLength(1);
        const refused = asked.flatMap((one) =>
          one.status === "rejected" ? [(one.reason as { code: string }).code] : [],
        );
        expect(refused.every((code) => code === "replay_pending")).toBe(true);
        expect(asked.some(({ status }) => status === "fulfilled")).toBe(true);
      }),
      { numRuns: 20 },
    );
  });

  /** The real kernel with one tool, whose work is what the test says. */
  const kernelWith = (
    namespaceId: string,
    run: (signal: AbortSignal) => Promise<string>,
    readWrite: "read" | "write" = "write",
  ) => {
    const requires = { resource: { namespace: "files", path: ["notes"] }, action: "read" };
    const tool = defineTool({
      name: "files.read",
      description: "Reads.",
      namespace: "files",
      readWrite,
      input: z.object({}),
      requires,
      run: (_input, { signal }) => run(signal),
    });
    return createKernel({ grants: memoryGrants([grant("one", { namespaceId })]), tools: [tool], audit: "none" });
  };
  const toolCall = { ...call, arguments: {} };

  for (const row of [
    { readWrite: "read", forgotten: "reads", retained: "writes" },
    { readWrite: "write", forgotten: "writes", retained: "reads" },
  ] as const) {
    test(`the result of a tool that ${row.readWrite}s is forgotten among those of ${row.forgotten}`, async () => {
      const namespaceId = newTenant();
      const kernel = kernelWith(namespaceId, () => Promise.resolve("done"), row.readWrite);
      const { api, store } = await protect({ api: kernel as unknown as ServiceApi, effects: [] });
      const who = context({ namespaceId, enabledToolNamespaces: ["files"] });
      const first = await api.invokeTool(who, toolCall);
      await store.forgetResults(row.retained, "2999-01-01T00:00:00.000Z", 500);
      expect(await api.invokeTool(who, toolCall)).toEqual(first);
      await store.forgetResults(row.forgotten, "2999-01-01T00:00:00.000Z", 500);
      await expect(api.invokeTool(who, toolCall)).rejects.toMatchObject({ code: "replay_interrupted" });
    });
  }

  describe("a caller who goes away", () => {
    test("before the effect leaves the id free", async () => {
      const namespaceId = newTenant();
      let effects = 0;
      const kernel = kernelWith(namespaceId, async () => `effect ${(effects += 1)}`);
      const { api } = await protect({ api: kernel as unknown as ServiceApi, effects: [] });
      const who = context({ namespaceId, enabledToolNamespaces: ["files"] });
      const gone = AbortSignal.abort(new Error("gone"));
      await expect(api.invokeTool(who, toolCall, { signal: gone })).rejects.toThrow("gone");
      expect(effects).toBe(0);
      expect(await api.invokeTool(who, toolCall)).toMatchObject({ status: "succeeded", output: "effect 1" });
    });

    for (const row of [
      { name: "that stops", rest: (signal: AbortSignal) => Promise.reject(signal.reason as Error) },
      { name: "that continues", rest: () => Promise.resolve("done all the same") },
    ]) {
      test(`during the effect of a tool ${row.name} never frees the id`, async () => {
        const namespaceId = newTenant();
        const caller = new AbortController();
        let effects = 0;
        const kernel = kernelWith(namespaceId, (signal) => {
          effects += 1;
          caller.abort(new Error("gone"));
          return row.rest(signal);
        });
        const { api } = await protect({ api: kernel as unknown as ServiceApi, effects: [] });
        const who = context({ namespaceId, enabledToolNamespaces: ["files"] });
        await api.invokeTool(who, toolCall, { signal: caller.signal }).catch(() => {});
        await api.invokeTool(who, toolCall).catch(() => {});
        expect(effects).toBe(1);
      });
    }
  });

  for (const row of [
    { name: "a tool", code: "invalid_tool_arguments" },
    { name: "a resource provider", code: "no_matching_grant" },
    { name: "a message transport", code: "audit_unavailable" },
  ] as const) {
    test(`${row.name} that says after its effect that nothing ran never frees the id`, async () => {
      const namespaceId = newTenant();
      const who = context({ namespaceId, enabledToolNamespaces: ["files"] });
      let effects = 0;
      const lie = () => {
        effects += 1;
        return { status: "failed", error: { code: row.code, message: "Nothing ran." } } as const;
      };
      const capabilities = ["files", "service.messaging"].map((namespace) => ({
        resource: { namespace, path: [] },
        actions: ["*"],
        scope: "descendants" as const,
      }));
      const read = { action: "read", resource: { namespace: "files", path: [] } };
      const kernel = createKernel({
        grants: memoryGrants([grant("one", { namespaceId, capabilities })]),
        audit: "none",
        tools: [
          {
            descriptor: {
              name: "files.read",
              description: "Reads.",
              namespace: "files",
              source: "test",
              readWrite: "write",
              inputSchema: {},
              requiredCapability: read,
            },
            parse: (args) => args,
            invoke: (_context, { id, tool }) => Promise.resolve({ ...lie(), callId: id, tool, completedAt: later }),
          },
        ],
        resources: [
          {
            namespace: "files",
            invoke: ({ operationId }) => Promise.resolve({ ...lie(), operationId, completedAt: later }),
          },
        ],
        messages: {
          deliver: (_context, { id }) => Promise.resolve({ ...lie(), messageId: id, timestamp: later }),
        },
      });
      const { api } = await protect({ api: kernel as unknown as ServiceApi, effects: [] });
      const asks = {
        "a tool": () => api.invokeTool(who, call),
        "a resource provider": () => api.invokeResource(who, operation),
        "a message transport": () => api.sendMessage(who, envelope),
      };
      const first = await asks[row.name]();
      expect(first).toMatchObject({ status: "failed", error: { code: row.code } });
      expect(await asks[row.name]()).toEqual(first);
      expect(effects).toBe(1);
    });
  }

  test("a caller who asks for an effect that runs is told how far it has come", async () => {
    const counting = countingApi();
    const who = context({ namespaceId: newTenant() });
    const { api } = await protect({
      ...counting,
      api: {
        ...counting.api,
        invokeTool(caller, asked, options) {
          options?.onProgress?.({ progress: 1, total: 2 });
          return counting.api.invokeTool(caller, asked, options);
        },
      },
    });
    const told: unknown[] = [];
    const options = { onProgress: (progress: unknown) => told.push(progress) };
    await api.invokeTool(who, call, options);
    await api.invokeTool(who, call, options);
    expect(told).toEqual([{ progress: 1, total: 2 }]);
  });

  test("operations without an effect pass through as they are", async () => {
    const counting = countingApi();
    const { api } = await protect(counting);
    expect(api.authorize).toBe(counting.api.authorize);
    expect(api.listTools).toBe(counting.api.listTools);
  });
});

test("two hosts on one PostgreSQL do the same effect once, and the other one replays it", async () => {
  const counting = countingApi();
  const [here, there] = (await openPair()).map((database) =>
    protectFromReplay(counting.api, { store: replayStoreOf(database) }),
  );
  const asked = Array.from({ length: 10 }, () => [here, there].map((api) => api?.sendMessage(context(), envelope)));
  await Promise.allSettled(asked.flat());
  expect(counting.effects).toEqual(["message id-1"]);
  expect(await there?.sendMessage(context(), envelope)).toEqual(await here?.sendMessage(context(), envelope));
  await expect(there?.sendMessage(context({ owner: alice, purpose: "other" }), envelope)).rejects.toMatchObject(
    conflict,
  );
});
