import { afterEach, expect, test, vi } from "vitest";
import {
  callOf,
  contextOf,
  descriptorOf,
  fails,
  grantOf,
  noteTool,
  portSecret,
  providerOf,
  rejection,
  untyped,
  worldOf,
  type TestProvider,
} from "../../test/deployment.ts";
import type { ToolHandler, ToolProvider } from "./ports.ts";
import { createToolRegistry, isNamedIn } from "./tool-catalog.ts";

const grants = [grantOf("grant-1")];
const both = contextOf({ enabledToolNamespaces: ["files", "mail"] });

/** Answers like a provider that serves these tools. */
function serving(...names: string[]): ToolProvider["tools"] {
  return () => Promise.resolve(names.map((name) => noteTool({ name })));
}

function answering(value: unknown): ToolProvider["tools"] {
  return () => Promise.resolve(untyped<ToolHandler[]>(value));
}

async function listed(options: Parameters<typeof worldOf>[0], context = both): Promise<string[]> {
  const tools = await worldOf({ grants, ...options }).kernel.listTools(context);
  return tools.map((tool) => tool.name);
}

afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

for (const row of [
  { name: "no tools at all", tools: [], fits: true },
  { name: "two tools with two names", tools: [noteTool(), noteTool({ name: "files.find" })], fits: true },
  { name: "two tools with one name", tools: [noteTool(), noteTool()], fits: false },
  {
    name: "a fixed tool that is not named after its namespace",
    tools: [noteTool({ descriptor: descriptorOf({ name: "read" }) })],
    fits: true,
  },
  {
    name: "a tool whose descriptor does not fit",
    tools: [noteTool({ descriptor: descriptorOf({ description: "" }) })],
    fits: false,
  },
  { name: "a tool without a descriptor", tools: [untyped<ToolHandler>({ parse() {}, invoke() {} })], fits: false },
  {
    name: "a tool that cannot parse",
    tools: [untyped<ToolHandler>({ descriptor: descriptorOf(), invoke() {} })],
    fits: false,
  },
  {
    name: "a tool that cannot be invoked",
    tools: [untyped<ToolHandler>({ descriptor: descriptorOf(), parse() {} })],
    fits: false,
  },
  { name: "512 tools", tools: numbered(512), fits: true },
  { name: "513 tools", tools: numbered(513), fits: false },
]) {
  test(`${row.name} ${row.fits ? "can" : "cannot"} be registered`, () => {
    expect(canRegister(row.tools)).toBe(row.fits);
  });
}

const sound = { id: "post", namespaces: ["mail"], tools: serving("mail.find") };

for (const row of [
  { name: "without an id", provider: { ...sound, id: undefined } },
  { name: "with an empty id", provider: { ...sound, id: "" } },
  { name: "without namespaces", provider: { ...sound, namespaces: undefined } },
  { name: "with an empty list of namespaces", provider: { ...sound, namespaces: [] } },
  { name: "with a namespace without a name", provider: { ...sound, namespaces: ["mail", ""] } },
  { name: "without tools", provider: { ...sound, tools: undefined } },
  { name: "with tools that are no function", provider: { ...sound, tools: [] } },
]) {
  test(`a provider ${row.name} cannot be registered; its sound twin can`, () => {
    expect(() => worldOf({ toolProviders: [untyped<ToolProvider>(row.provider)] })).toThrow(TypeError);
    expect(() => worldOf({ toolProviders: [sound] })).not.toThrow();
  });
}

function canRegister(tools: readonly ToolHandler[]): boolean {
  try {
    worldOf({ tools });
    return true;
  } catch {
    return false;
  }
}

function numbered(count: number, namespace = "files"): ToolHandler[] {
  return Array.from({ length: count }, (_, place) => noteTool({ name: `${namespace}.tool-${place}` }));
}

test("a registered descriptor is a frozen copy: changing the original changes no catalog", async () => {
  const descriptor = descriptorOf();
  const registry = createToolRegistry([noteTool({ descriptor })]);
  descriptor.namespace = "elsewhere";
  const registered = registry.fixed.tools.get("files.read")?.descriptor;
  expect(registered?.namespace).toBe("files");
  expect(Object.isFrozen(registered) && Object.isFrozen(registered?.requiredCapability.resource.path)).toBe(true);
});

for (const row of [
  { name: "mail.find", namespace: "mail", named: true },
  { name: "mail.find.all", namespace: "mail", named: true },
  { name: "mail.archive.find", namespace: "mail.archive", named: true },
  { name: "mail.", namespace: "mail", named: false },
  { name: "mail", namespace: "mail", named: false },
  { name: "mailbox.find", namespace: "mail", named: false },
  { name: "find", namespace: "mail", named: false },
  { name: "files.mail.find", namespace: "mail", named: false },
]) {
  test(`the name ${row.name} is ${row.named ? "" : "not "}of the form <namespace>.<name> in ${row.namespace}`, () => {
    expect(isNamedIn(row.name, row.namespace)).toBe(row.named);
  });
}

test("tools of a provider are listed beside the fixed ones", async () => {
  const toolProviders = [providerOf("post", ["mail"], serving("mail.find", "mail.send"))];
  expect(await listed({ tools: [noteTool()], toolProviders })).toStrictEqual(["files.read", "mail.find", "mail.send"]);
});

test("a provider's tool is called on its own object", async () => {
  const tool = noteTool({ name: "mail.find" });
  const { kernel } = worldOf({ grants, toolProviders: [providerOf("post", ["mail"], () => Promise.resolve([tool]))] });
  const result = await kernel.invokeTool(both, callOf({ tool: "mail.find" }));
  expect(result).toMatchObject({ status: "succeeded", tool: "mail.find", output: "text of today" });
  expect(tool.calls).toHaveLength(1);
});

for (const row of [
  { name: "a frozen descriptor is read once, however often its provider is asked", isFrozen: true, readsAgain: 0 },
  { name: "a descriptor that may still change is read each time", isFrozen: false, readsAgain: 1 },
]) {
  test(row.name, async () => {
    const descriptor = descriptorOf({ name: "mail.find", namespace: "mail" });
    const read = vi.fn<() => string>(() => "Finds mail.");
    Object.defineProperty(descriptor, "description", { enumerable: true, get: read });
    const tool = noteTool({ descriptor: row.isFrozen ? Object.freeze(descriptor) : descriptor });
    const { kernel } = worldOf({
      grants,
      toolProviders: [providerOf("post", ["mail"], () => Promise.resolve([tool]))],
    });
    const first = await kernel.listTools(both);
    read.mockClear();
    const second = await kernel.listTools(both);
    expect(read).toHaveBeenCalledTimes(row.readsAgain);
    expect([first, second]).toEqual([[descriptor], [descriptor]]);
    expect(Object.isFrozen(descriptor.inputSchema)).toBe(row.isFrozen);
  });
}

test("a fixed tool wins over a provider's of the same name, and the operator is told of the clash", async () => {
  const [fixed, provided] = [noteTool({ name: "mail.find" }), noteTool({ name: "mail.find" })];
  const toolProviders = [
    providerOf("post", ["mail"], () => Promise.resolve([provided, noteTool({ name: "mail.send" })])),
  ];
  const { kernel, portErrors } = worldOf({ grants, tools: [fixed], toolProviders });
  expect((await kernel.listTools(both)).map(({ name }) => name)).toStrictEqual(["mail.find", "mail.send"]);
  expect(portErrors).toMatchObject([{ error: expect.any(Error), failure: { port: "tools", id: "post" } }]);
  await kernel.invokeTool(both, callOf({ tool: "mail.find" }));
  expect([fixed.calls.length, provided.calls.length]).toStrictEqual([1, 0]);
});

test("of two providers with one name the first wins, and the operator is told of the clash", async () => {
  const [first, second] = [noteTool({ name: "mail.find" }), noteTool({ name: "mail.find" })];
  const toolProviders = [
    providerOf("one", ["mail"], () => Promise.resolve([first])),
    providerOf("two", ["mail"], () => Promise.resolve([second])),
  ];
  const { kernel, portErrors } = worldOf({ grants, toolProviders });
  expect(await kernel.invokeTool(both, callOf({ tool: "mail.find" }))).toMatchObject({ status: "succeeded" });
  expect([first.calls.length, second.calls.length]).toStrictEqual([1, 0]);
  expect(portErrors).toMatchObject([{ failure: { port: "tools", id: "two" } }]);
});

/** Every way in which a provider gives no usable answer. */
const broken: { name: string; tools: ToolProvider["tools"] }[] = [
  { name: "rejects", tools: fails },
  {
    name: "throws before it returns a promise",
    tools: () => {
      throw new Error(portSecret);
    },
  },
  { name: "answers nothing", tools: answering(undefined) },
  { name: "answers null", tools: answering(null) },
  { name: "answers an object", tools: answering({}) },
  { name: "answers a text", tools: answering("mail.find") },
  { name: "answers without a promise", tools: untyped<ToolProvider["tools"]>(() => [noteTool({ name: "mail.find" })]) },
  { name: "answers with a hole", tools: answering([noteTool({ name: "mail.find" }), null]) },
  {
    name: "answers with a descriptor alone",
    tools: answering([descriptorOf({ name: "mail.find", namespace: "mail" })]),
  },
  {
    name: "answers with a tool that cannot be called",
    tools: answering([{ descriptor: descriptorOf({ name: "mail.find", namespace: "mail" }) }]),
  },
  {
    name: "answers with a descriptor that does not fit",
    tools: answering([
      { ...noteTool(), descriptor: { ...descriptorOf(), name: "mail.find", namespace: "mail", grants: [] } },
    ]),
  },
  { name: "answers with a tool of a namespace it does not serve", tools: serving("mail.find", "files.write") },
  {
    name: "answers with a tool named after another namespace than its own",
    tools: answering([noteTool({ descriptor: descriptorOf({ name: "post.find", namespace: "mail" }) })]),
  },
  {
    name: "answers with a tool that is not named after its namespace",
    tools: answering([noteTool({ descriptor: descriptorOf({ name: "find", namespace: "mail" }) })]),
  },
  {
    name: "answers with a tool that has nothing behind its namespace",
    tools: answering([noteTool({ descriptor: descriptorOf({ name: "mail.", namespace: "mail" }) })]),
  },
  { name: "answers with more than 512 tools", tools: () => Promise.resolve(numbered(513, "mail")) },
];

for (const row of broken) {
  test(`a provider that ${row.name} takes its own namespaces down and nothing else`, async () => {
    const fixed = noteTool();
    const { kernel, events, portErrors } = worldOf({
      grants,
      tools: [fixed, noteTool({ name: "mail.fixed" })],
      toolProviders: [
        providerOf("post", ["mail", "post"], row.tools),
        providerOf("days", ["calendar"], serving("calendar.next")),
      ],
    });
    const context = contextOf({ enabledToolNamespaces: ["files", "mail", "calendar"] });

    const names = (await kernel.listTools(context)).map((tool) => tool.name);
    expect(names).toStrictEqual(["calendar.next", "files.read", "mail.fixed"]);
    expect(events.at(-1)).toMatchObject({
      type: "tool.catalog.listed",
      outcome: "succeeded",
      metadata: { toolCount: 3, unavailable: ["mail", "post"] },
    });
    expect(portErrors).toMatchObject([{ failure: { port: "tools", id: "post" } }]);

    for (const call of [
      { tool: "mail.find", expected: { status: "failed", error: { code: "tool_catalog_unavailable" } } },
      { tool: "mail.anything", expected: { status: "failed", error: { code: "tool_catalog_unavailable" } } },
      { tool: "mailbox.find", expected: { status: "denied", error: { code: "tool_unavailable" } } },
      { tool: "files.read", expected: { status: "succeeded" } },
      { tool: "mail.fixed", expected: { status: "succeeded" } },
      { tool: "calendar.next", expected: { status: "succeeded" } },
    ]) {
      const result = await kernel.invokeTool(context, callOf({ tool: call.tool }));
      expect(result).toMatchObject(call.expected);
      expect(JSON.stringify(result)).not.toContain(portSecret);
    }
  });
}

test("a healthy provider is the twin of all these", async () => {
  const toolProviders = [providerOf("post", ["mail", "post"], serving("mail.find"))];
  const { kernel, events, portErrors } = worldOf({ grants, toolProviders });
  expect(await kernel.listTools(both)).toHaveLength(1);
  expect(events.at(-1)?.metadata).toStrictEqual({ toolCount: 1 });
  expect(await kernel.invokeTool(both, callOf({ tool: "mail.find" }))).toMatchObject({ status: "succeeded" });
  expect(portErrors).toStrictEqual([]);
});

test("a provider's tools that would make a catalog of more than 512 take its namespaces down; 512 are accepted", async () => {
  for (const row of [
    { provided: 2, listed: 512, down: undefined },
    { provided: 3, listed: 510, down: ["mail"] },
  ]) {
    const toolProviders = [providerOf("post", ["mail"], () => Promise.resolve(numbered(row.provided, "mail")))];
    const { kernel, events, portErrors } = worldOf({ grants, tools: numbered(510), toolProviders });
    expect(await kernel.listTools(both)).toHaveLength(row.listed);
    expect(events.at(-1)?.metadata?.["unavailable"]).toStrictEqual(row.down);
    expect(portErrors).toHaveLength(row.down === undefined ? 0 : 1);
  }
});

function hanging(): TestProvider & { signals: AbortSignal[] } {
  const signals: AbortSignal[] = [];
  const provider = providerOf("post", ["mail"], (_context, signal) => {
    signals.push(signal);
    return new Promise(() => {});
  });
  return Object.assign(provider, { signals });
}

test("a provider that hangs is given up after 5 seconds, not before, and its signal fires", async () => {
  vi.useFakeTimers();
  const provider = hanging();
  const { kernel, portErrors } = worldOf({ grants, tools: [noteTool()], toolProviders: [provider] });
  let answer: readonly string[] | undefined;
  const listing = kernel.listTools(both).then((tools) => (answer = tools.map((tool) => tool.name)));

  await vi.advanceTimersByTimeAsync(4_999);
  expect(answer).toBeUndefined();
  expect(provider.signals[0]?.aborted).toBe(false);
  await vi.advanceTimersByTimeAsync(1);
  await listing;
  expect(answer).toStrictEqual(["files.read"]);
  expect(provider.signals[0]?.aborted).toBe(true);
  expect(portErrors).toMatchObject([{ failure: { port: "tools", id: "post" } }]);
});

test("a provider may take as long as it says, and no longer", async () => {
  vi.useFakeTimers();
  const provider = Object.assign(hanging(), { timeoutMs: 30_000 });
  const { kernel } = worldOf({ grants, tools: [noteTool()], toolProviders: [provider] });
  const listing = kernel.listTools(both);
  await vi.advanceTimersByTimeAsync(29_999);
  expect(provider.signals[0]?.aborted).toBe(false);
  await vi.advanceTimersByTimeAsync(1);
  expect((await listing).map(({ name }) => name)).toStrictEqual(["files.read"]);
  for (const timeoutMs of [0, -1, 1.5, 2 ** 31])
    expect(() => createToolRegistry([], [Object.assign(hanging(), { timeoutMs })])).toThrow(RangeError);
});

test("a call into a namespace whose provider hangs fails after 5 seconds; a call elsewhere does not wait", async () => {
  vi.useFakeTimers();
  const provider = hanging();
  const { kernel } = worldOf({ grants, tools: [noteTool()], toolProviders: [provider] });
  expect(await kernel.invokeTool(both, callOf())).toMatchObject({ status: "succeeded" });
  expect(provider.asked).toBe(0);
  const calling = kernel.invokeTool(both, callOf({ tool: "mail.find" }));
  await vi.advanceTimersByTimeAsync(5_000);
  expect(await calling).toMatchObject({ status: "failed", error: { code: "tool_catalog_unavailable" } });
});

test("a provider that answers in time leaves no timer behind", async () => {
  vi.useFakeTimers();
  await listed({ toolProviders: [providerOf("post", ["mail"], serving("mail.find"))] });
  expect(vi.getTimerCount()).toBe(0);
});

for (const row of [
  { name: "enables one of its namespaces", enabled: ["files", "post"], asked: 1 },
  { name: "enables all of its namespaces", enabled: ["mail", "post"], asked: 1 },
  { name: "enables others only", enabled: ["files"], asked: 0 },
  { name: "enables nothing", enabled: [], asked: 0 },
  { name: "enables a name that only begins like its namespace", enabled: ["mailbox"], asked: 0 },
]) {
  test(`a provider is asked ${row.asked === 0 ? "not at all" : "once"} when the context ${row.name}`, async () => {
    const provider = providerOf("post", ["mail", "post"], serving("mail.find"));
    await listed({ toolProviders: [provider] }, contextOf({ enabledToolNamespaces: row.enabled }));
    expect(provider.asked).toBe(row.asked);
  });
}

for (const row of [
  { name: "a name in its namespace", tool: "mail.find", asked: 1 },
  { name: "a name in another provider's namespace", tool: "calendar.next", asked: 0 },
  { name: "a fixed tool's name", tool: "files.read", asked: 0 },
  { name: "a name that only begins alike", tool: "mailbox.find", asked: 0 },
]) {
  test(`for a call of ${row.name} a provider is asked ${row.asked} times`, async () => {
    const provider = providerOf("post", ["mail"], serving("mail.find"));
    const toolProviders = [provider, providerOf("days", ["calendar"], serving("calendar.next"))];
    const { kernel } = worldOf({ grants, tools: [noteTool()], toolProviders });
    await kernel.invokeTool(
      contextOf({ enabledToolNamespaces: ["files", "mail", "calendar"] }),
      callOf({ tool: row.tool }),
    );
    expect(provider.asked).toBe(row.asked);
  });
}

test("tools of a namespace that the context does not enable stay hidden though their provider was asked", async () => {
  const provider = providerOf("post", ["mail", "post"], serving("mail.find", "post.find"));
  expect(await listed({ toolProviders: [provider] })).toStrictEqual(["mail.find"]);
});

test("a provider gets the context that asks", async () => {
  const seen: unknown[] = [];
  const provider = providerOf("post", ["mail"], (context) => {
    seen.push(context);
    return Promise.resolve([]);
  });
  await listed({ toolProviders: [provider] });
  expect(seen).toStrictEqual([both]);
});

for (const row of [
  {
    name: "listTools",
    operate: (world: ReturnType<typeof worldOf>, signal: AbortSignal) => world.kernel.listTools(both, { signal }),
  },
  {
    name: "listToolNamespaces",
    operate: (world: ReturnType<typeof worldOf>, signal: AbortSignal) =>
      world.kernel.listToolNamespaces(both, { signal }),
  },
  {
    name: "invokeTool",
    operate: (world: ReturnType<typeof worldOf>, signal: AbortSignal) =>
      world.kernel.invokeTool(both, callOf({ tool: "mail.find" }), { signal }),
  },
]) {
  test(`${row.name} aborted while a provider is asked rejects with the signal's reason and tells the provider`, async () => {
    const provider = hanging();
    const world = worldOf({ grants, toolProviders: [provider] });
    const controller = new AbortController();
    const reason = new Error("the caller went away");
    const operating = rejection(row.operate(world, controller.signal));
    expect(provider.asked).toBe(1);
    controller.abort(reason);
    expect(await operating).toBe(reason);
    expect(provider.signals[0]?.aborted).toBe(true);
    expect(world.portErrors).toStrictEqual([]);
    expect(world.events).toStrictEqual([]);
  });
}
