import { expect, test } from "vitest";
import { answerOf, exchanges, httpWorldOf, jsonHeaders, requestFor } from "../../test/http.ts";
import {
  callOf,
  capability,
  contextOf,
  envelopeOf,
  fails,
  grantOf,
  noteTool,
  operationOf,
  portSecret,
  providerOf,
  refusingAudit,
  rejection,
  runAgent,
  untyped,
  worldOf,
} from "../../test/deployment.ts";
import { recordingRun, pluginOf, requestOf, typesOf } from "../../test/turns.ts";
import type { TurnEvent } from "../contracts/index.ts";
import type { Kernel } from "../kernel/index.ts";
import { createTurnExecutor, type TurnExecutionPort, type RunWriter } from "../runtime/index.ts";
import { createServiceApi, type ServiceApi } from "./service-api.ts";

const grants = [grantOf("notes"), grantOf("run", { capabilities: [runAgent] })];

/** A kernel that says what it was asked, before it answers as it would. */
function overheard(kernel: Kernel): { kernel: Kernel; heard: { name: string; args: unknown[] }[] } {
  const heard: { name: string; args: unknown[] }[] = [];
  const listening = Object.entries(kernel).map(([name, operation]) => [
    name,
    (...args: unknown[]) => {
      heard.push({ name, args });
      return (operation as (...args: unknown[]) => unknown)(...args);
    },
  ]);
  return { kernel: Object.fromEntries(listening) as Kernel, heard };
}

/** Turns that are recorded and not run. */
function recordedTurns(): TurnExecutionPort & { recorded: Parameters<TurnExecutionPort["execute"]>[] } {
  const recorded: Parameters<TurnExecutionPort["execute"]>[] = [];
  return {
    recorded,
    execute(...args) {
      recorded.push(args);
      return Promise.resolve(untyped({ status: "recorded" }));
    },
  };
}

test("the api has nine operations, and none that is for operators or executors", () => {
  const api = createServiceApi({ kernel: worldOf().kernel, turns: recordedTurns() });
  expect(Object.keys(api).toSorted()).toStrictEqual([
    "authorize",
    "executeTurn",
    "invokeResource",
    "invokeTool",
    "listToolNamespaces",
    "listTools",
    "reach",
    "sendMessage",
    "updateToolNamespaces",
  ]);
});

const context = contextOf();
const options = { signal: new AbortController().signal };
const operations: { name: keyof Kernel & keyof ServiceApi; input?: unknown }[] = [
  { name: "authorize", input: { action: "read", resource: { namespace: "files", path: ["notes"] } } },
  { name: "invokeResource", input: operationOf() },
  { name: "invokeTool", input: callOf() },
  { name: "listToolNamespaces" },
  { name: "listTools" },
  { name: "reach" },
  { name: "sendMessage", input: envelopeOf() },
  { name: "updateToolNamespaces", input: { enable: ["files"] } },
];
for (const { name, input } of operations) {
  test(`${name} hands the kernel the context first and the options last, and its answer back`, async () => {
    const namespaceSettings = { applyUpdate: () => Promise.resolve(["files"]) };
    const world = worldOf({ grants, tools: [noteTool()], namespaceSettings });
    const { kernel, heard } = overheard(world.kernel);
    const api = createServiceApi({ kernel, turns: recordedTurns() });
    const args = input === undefined ? [context, options] : [context, input, options];
    const call = (operation: unknown): Promise<unknown> =>
      (operation as (...args: readonly unknown[]) => Promise<unknown>)(...args);
    const answer = await call(api[name]);
    expect(heard).toStrictEqual([{ name, args }]);
    expect(heard[0]?.args.map((arg, place) => arg === args[place])).toStrictEqual(args.map(() => true));
    expect(answer).toStrictEqual(await call(world.kernel[name]));
  });
}

test("executeTurn lists the tools itself and hands them on with the context and the request", async () => {
  const world = worldOf({ grants, tools: [noteTool(), noteTool({ name: "mail.read" })] });
  const { kernel, heard } = overheard(world.kernel);
  const turns = recordedTurns();
  const watched = { ...options, onEvent: () => {} };
  const answer = await createServiceApi({ kernel, turns }).executeTurn(context, requestOf(), watched);

  expect(answer).toStrictEqual({ status: "recorded" });
  expect(heard).toStrictEqual([{ name: "listTools", args: [context, watched] }]);
  const tools = await world.kernel.listTools(context);
  expect(tools.map(({ name }) => name)).toStrictEqual(["files.read"]);
  expect(turns.recorded).toStrictEqual([[{ ...requestOf(), context, tools }, watched]]);
});

test("a request that brings a context and tools has them replaced", async () => {
  const turns = recordedTurns();
  const api = createServiceApi({ kernel: worldOf({ grants, tools: [noteTool()] }).kernel, turns });
  const smuggled = { ...requestOf(), context: contextOf({ purpose: "theft" }), tools: [{ name: "files.burn" }] };
  await api.executeTurn(context, untyped(smuggled));
  expect(turns.recorded[0]?.[0].context).toBe(context);
  expect(turns.recorded[0]?.[0].tools?.map(({ name }) => name)).toStrictEqual(["files.read"]);
});

test("the runtime is offered the tools of GET /v1/tools, and no provider is asked twice for a turn", async () => {
  const provider = providerOf("mcp", ["mail"], () => Promise.resolve([noteTool({ name: "mail.read" })]));
  const { kernel } = worldOf({ grants, tools: [noteTool()], toolProviders: [provider] });
  const { run, given } = recordingRun();
  const api = createServiceApi({ kernel, turns: createTurnExecutor({ kernel, runtime: pluginOf(run) }) });
  const both = contextOf({ enabledToolNamespaces: ["files", "mail"] });
  expect(await api.executeTurn(both, requestOf())).toMatchObject({ status: "succeeded" });
  expect(provider.asked).toBe(1);
  expect(given[0]?.turn.tools.map(({ name }) => name)).toStrictEqual(["files.read", "mail.read"]);
  expect(await api.listTools(both)).toStrictEqual(given[0]?.turn.tools);
});

test("executeTurn lists no tools for a turn that runs without its caller: its admission says what it is offered", async () => {
  const { kernel, heard } = overheard(worldOf({ grants, tools: [noteTool()] }).kernel);
  const turns = recordedTurns();
  const goingOn = { writer: {} as RunWriter };
  await createServiceApi({ kernel, turns }).executeTurn(context, requestOf(), goingOn);
  expect(heard).toStrictEqual([]);
  expect(turns.recorded).toStrictEqual([[{ ...requestOf(), context }, goingOn]]);
});

test("executeTurn hands its observer every event of the turn", async () => {
  const { kernel } = worldOf({ grants });
  const { run } = recordingRun();
  const api = createServiceApi({ kernel, turns: createTurnExecutor({ kernel, runtime: pluginOf(run) }) });
  const events: TurnEvent[] = [];
  const result = await api.executeTurn(context, requestOf(), { onEvent: (event) => void events.push(event) });
  expect(events).toStrictEqual(result.events);
  expect(typesOf({ events })).toStrictEqual(["turn.started", "turn.completed"]);
});

const bounded = grantOf("bounded", {
  capabilities: [capability("files", ["notes"], "read")],
  constraints: { maxUses: 1 },
});
for (const row of [
  {
    name: "a grant source that is down",
    kernel: { source: { load: fails } },
    answer: { status: "denied", code: "authority_unavailable" },
  },
  {
    name: "a usage store that is down",
    kernel: { grants: [bounded, grantOf("run", { capabilities: [runAgent] })], usage: { used: fails, consume: fails } },
    answer: { status: "denied", code: "authority_unavailable" },
  },
  {
    name: "an audit sink that is down",
    kernel: { audit: refusingAudit(() => true) },
    answer: { status: "failed", code: "audit_unavailable" },
  },
]) {
  for (const accept of ["application/json", "text/event-stream"]) {
    test(`a turn with ${row.name} is ${row.answer.status} in its result as ${accept}, not an HTTP error`, async () => {
      const { run, given } = recordingRun();
      const { handler, told } = httpWorldOf({ kernel: row.kernel, runtime: pluginOf(run) });
      const response = await handler(requestFor(exchanges.executeTurn, { headers: { accept } }));
      expect(response.status).toBe(200);
      const text = await response.text();
      const last = accept === "application/json" ? text : (text.trimEnd().split("\ndata: ").at(-1) ?? "");
      expect(JSON.parse(last)).toMatchObject({ status: row.answer.status, error: { code: row.answer.code } });
      expect(text).not.toContain(portSecret);
      expect([told, given]).toStrictEqual([[], []]);
    });
  }
}

test("a tool provider that is down takes only its own tools from a turn", async () => {
  const { run, given } = recordingRun();
  const { handler } = httpWorldOf({
    kernel: { toolProviders: [providerOf("mcp", ["mail"], fails)] },
    runtime: pluginOf(run),
    context: () => Promise.resolve(contextOf({ enabledToolNamespaces: ["files", "mail"] })),
  });
  const answer = await answerOf(await handler(requestFor(exchanges.executeTurn)));
  expect(answer).toMatchObject({ status: 200, headers: jsonHeaders, body: { status: "succeeded" } });
  expect(given[0]?.turn.tools.map(({ name }) => name)).toStrictEqual(["files.read"]);
});

test("an error of the listing that is no outage is not mistaken for one", async () => {
  const turns = recordedTurns();
  const api = createServiceApi({ kernel: worldOf({ grants }).kernel, turns });
  const reason = new Error("gone");
  expect(await rejection(api.executeTurn(context, requestOf(), { signal: AbortSignal.abort(reason) }))).toBe(reason);
  expect(turns.recorded).toStrictEqual([]);
});
