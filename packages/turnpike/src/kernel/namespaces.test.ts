import { expect, test } from "vitest";
import {
  contextOf,
  descriptorOf,
  fails,
  grantOf,
  noteTool,
  portSecret,
  providerOf,
  refusingAudit,
  rejection,
  untyped,
  worldOf,
} from "../../test/deployment.ts";
import {
  NamespaceCatalogSchema,
  type AccessContext,
  type NamespaceCatalog,
  type NamespaceUpdate,
} from "../contracts/index.ts";
import { memoryNamespaceSettings } from "../testing/index.ts";
import { KernelError } from "./kernel-error.ts";
import type { ToolNamespaceSettingsStore } from "./ports.ts";

function tool(name: string, source = "host") {
  const namespace = name.slice(0, name.lastIndexOf("."));
  return noteTool({ name, descriptor: descriptorOf({ name, namespace, source }) });
}

const fixed = [tool("files.read"), tool("files.find"), tool("files.sync", "backup"), tool("calendar.next")];

/** A store that records what it was asked and always answers the same. */
function storeAnswering(answer: () => unknown): ToolNamespaceSettingsStore & { updates: NamespaceUpdate[] } {
  const updates: NamespaceUpdate[] = [];
  return {
    updates,
    applyUpdate(_context, update) {
      updates.push(update);
      return Promise.resolve(untyped<string[]>(answer()));
    },
  };
}

function flags({ namespaces }: NamespaceCatalog): Record<string, boolean> {
  return Object.fromEntries(namespaces.map(({ namespace, enabled }) => [namespace, enabled]));
}

test("the catalog has every namespace with its sources, its count of tools and whether it is enabled, sorted", async () => {
  const { kernel } = worldOf({ tools: fixed });
  const catalog = await kernel.listToolNamespaces(contextOf({ enabledToolNamespaces: ["files", "unknown"] }));
  expect(catalog).toStrictEqual({
    namespaces: [
      { namespace: "calendar", sources: ["host"], toolCount: 1, enabled: false },
      { namespace: "files", sources: ["backup", "host"], toolCount: 3, enabled: true },
    ],
    summary: { enabled: 1, disabled: 1, total: 2 },
  });
  expect(NamespaceCatalogSchema.safeParse(catalog).success).toBe(true);
});

test("without tools there is an empty catalog", async () => {
  expect(await worldOf().kernel.listToolNamespaces(contextOf())).toStrictEqual({
    namespaces: [],
    summary: { enabled: 0, disabled: 0, total: 0 },
  });
});

test("the catalog needs no grant and no authority, and a namespace in it grants nothing", async () => {
  const { kernel } = worldOf({ tools: fixed });
  const { authority: _open, ...open } = contextOf();
  expect(flags(await kernel.listToolNamespaces(open))).toStrictEqual({ calendar: false, files: true });
  expect(await kernel.listTools(open)).toStrictEqual([]);
});

for (const row of [
  { name: "that is enabled is counted", enabled: ["mail"], asked: 1, toolCount: 2 },
  { name: "that is disabled is listed without asking its provider", enabled: ["files"], asked: 0, toolCount: 0 },
]) {
  test(`a provider's namespace ${row.name}`, async () => {
    const provider = providerOf("post", ["mail"], () =>
      Promise.resolve([tool("mail.find", "post"), tool("mail.send", "post")]),
    );
    const { kernel } = worldOf({ toolProviders: [provider] });
    const catalog = await kernel.listToolNamespaces(contextOf({ enabledToolNamespaces: row.enabled }));
    expect(catalog.namespaces).toStrictEqual([
      { namespace: "mail", sources: ["post"], toolCount: row.toolCount, enabled: row.asked === 1 },
    ]);
    expect(provider.asked).toBe(row.asked);
  });
}

test("a namespace whose provider is down stays in the catalog, and the audit log names it", async () => {
  const { kernel, events, portErrors } = worldOf({
    tools: fixed,
    toolProviders: [providerOf("post", ["mail"], fails)],
  });
  const catalog = await kernel.listToolNamespaces(contextOf({ enabledToolNamespaces: ["files", "mail"] }));
  expect(flags(catalog)).toStrictEqual({ calendar: false, files: true, mail: true });
  expect(events).toMatchObject([
    { type: "tool.namespaces.listed", outcome: "succeeded", metadata: { unavailable: ["mail"] } },
  ]);
  expect(portErrors).toMatchObject([{ failure: { port: "tools", id: "post" } }]);
});

for (const row of [
  { name: "both lists", update: { enable: ["calendar"], disable: ["files"] }, flags: { calendar: true, files: false } },
  { name: "one list", update: { enable: ["calendar"] }, flags: { calendar: true, files: true } },
  { name: "no list", update: {}, flags: { calendar: false, files: true } },
  { name: "a name twice", update: { enable: ["calendar", "calendar"] }, flags: { calendar: true, files: true } },
  { name: "an unknown name", update: { enable: ["later"] }, flags: { calendar: false, files: true } },
]) {
  test(`a patch with ${row.name} is applied and the catalog afterwards is returned`, async () => {
    const { kernel } = worldOf({ tools: fixed, namespaceSettings: memoryNamespaceSettings(["files"]) });
    const catalog = await kernel.updateToolNamespaces(contextOf(), row.update);
    expect(flags(catalog)).toStrictEqual(row.flags);
    expect(NamespaceCatalogSchema.safeParse(catalog).success).toBe(true);
  });
}

test("an unknown name is stored for when it appears", async () => {
  const namespaceSettings = memoryNamespaceSettings();
  await worldOf({ namespaceSettings }).kernel.updateToolNamespaces(contextOf(), { enable: ["later"] });
  expect(namespaceSettings.enabled(contextOf())).toStrictEqual(["later"]);
});

for (const row of [
  { name: "narrowed what was asked", answer: [], flags: { calendar: false, files: false } },
  { name: "knows better than the context", answer: ["calendar", "files"], flags: { calendar: true, files: true } },
  { name: "names one twice", answer: ["calendar", "calendar"], flags: { calendar: true, files: false } },
]) {
  test(`a store that ${row.name} is what the answer shows, not the patch`, async () => {
    const namespaceSettings = storeAnswering(() => row.answer);
    const { kernel, events } = worldOf({ tools: fixed, namespaceSettings });
    const catalog = await kernel.updateToolNamespaces(contextOf(), { enable: ["calendar"] });
    expect(flags(catalog)).toStrictEqual(row.flags);
    expect(catalog.summary.total).toBe(2);
    expect(namespaceSettings.updates).toStrictEqual([{ enable: ["calendar"] }]);
    expect(events.at(-1)).toMatchObject({ outcome: "succeeded", metadata: { enabled: row.answer } });
  });
}

test("a provider's namespace that was just enabled is counted in the answer", async () => {
  const provider = providerOf("post", ["mail"], () => Promise.resolve([tool("mail.find", "post")]));
  const { kernel } = worldOf({ toolProviders: [provider], namespaceSettings: memoryNamespaceSettings() });
  const { namespaces } = await kernel.updateToolNamespaces(contextOf(), { enable: ["mail"] });
  expect(namespaces).toStrictEqual([{ namespace: "mail", sources: ["post"], toolCount: 1, enabled: true }]);
});

test("enabling a namespace grants nothing: the next context lists its tools only with a grant", async () => {
  const namespaceSettings = memoryNamespaceSettings();
  for (const row of [
    { grants: [], tools: 0 },
    { grants: [grantOf("grant-1")], tools: 3 },
  ]) {
    const { kernel } = worldOf({ tools: fixed, grants: row.grants, namespaceSettings });
    await kernel.updateToolNamespaces(contextOf({ enabledToolNamespaces: [] }), { enable: ["files"] });
    const next = contextOf({ enabledToolNamespaces: namespaceSettings.enabled(contextOf()) });
    expect(await kernel.listTools(next)).toHaveLength(row.tools);
  }
});

for (const row of [
  { name: "fails", store: { applyUpdate: fails } },
  {
    name: "throws",
    store: {
      applyUpdate: (): never => {
        throw new Error(portSecret);
      },
    },
  },
  {
    name: "throws an error of ours that says nothing of the patch",
    store: {
      applyUpdate: (): never => {
        throw new KernelError("authority_unavailable");
      },
    },
  },
  { name: "answers nothing", store: storeAnswering(() => undefined) },
  { name: "answers null", store: storeAnswering(() => null) },
  { name: "answers a number", store: storeAnswering(() => 1) },
  { name: "answers a text", store: storeAnswering(() => "files") },
  { name: "answers an object", store: storeAnswering(() => ({ enabled: ["files"] })) },
  { name: "answers names that are none", store: storeAnswering(() => [""]) },
  { name: "answers with a hole", store: storeAnswering(() => ["files", null]) },
  {
    name: "answers more than 256 names",
    store: storeAnswering(() => Array.from({ length: 257 }, (_, place) => `space-${place}`)),
  },
] satisfies { name: string; store: ToolNamespaceSettingsStore }[]) {
  test(`a store that ${row.name} is namespace_settings_unavailable, and the operator has the reason`, async () => {
    const { kernel, events, portErrors } = worldOf({ tools: fixed, namespaceSettings: row.store });
    const error = await rejection(kernel.updateToolNamespaces(contextOf(), { enable: ["calendar"] }));
    expect(error).toBeInstanceOf(KernelError);
    expect(error).toMatchObject({ code: "namespace_settings_unavailable" });
    expect(String(error)).not.toContain(portSecret);
    expect(portErrors).toMatchObject([{ error: expect.any(Error), failure: { port: "namespaceSettings" } }]);
    expect(events.map(({ outcome, reason }) => [outcome, reason])).toStrictEqual([
      ["allowed", undefined],
      ["failed", "namespace_settings_unavailable"],
    ]);
  });
}

test("without a store a patch is namespace_settings_not_configured, and the catalog is still listed", async () => {
  const { kernel } = worldOf({ tools: fixed });
  const error = await rejection(kernel.updateToolNamespaces(contextOf(), { enable: ["calendar"] }));
  expect(error).toBeInstanceOf(KernelError);
  expect(error).toMatchObject({ code: "namespace_settings_not_configured" });
  expect(flags(await kernel.listToolNamespaces(contextOf()))).toStrictEqual({ calendar: false, files: true });
});

const tooMany = Array.from({ length: 257 }, (_, place) => `space-${place}`);

for (const row of [
  { name: "a name in both lists", update: { enable: ["a", "b"], disable: ["b"] } },
  { name: "an empty name", update: { enable: [""] } },
  { name: "more than 256 names", update: { disable: tooMany } },
  { name: "a key too many", update: { enable: [], grants: [] } },
  { name: "a list that is none", update: { enable: "files" } },
]) {
  test(`a patch with ${row.name} is invalid_request and the store is not asked`, async () => {
    const namespaceSettings = storeAnswering(() => []);
    const { kernel } = worldOf({ tools: fixed, namespaceSettings });
    const error = await rejection(kernel.updateToolNamespaces(contextOf(), untyped<NamespaceUpdate>(row.update)));
    expect(error).toMatchObject({ code: "invalid_request" });
    expect(namespaceSettings.updates).toStrictEqual([]);
  });
}

test("256 names are not too many", async () => {
  const { kernel } = worldOf({ namespaceSettings: memoryNamespaceSettings() });
  const catalog = await kernel.updateToolNamespaces(contextOf(), { enable: tooMany.slice(1) });
  expect(catalog.summary.total).toBe(0);
});

test("a context without authority may list and may not change", async () => {
  const namespaceSettings = storeAnswering(() => []);
  const { kernel } = worldOf({ tools: fixed, namespaceSettings });
  const { authority: _open, ...open } = contextOf();
  const error = await rejection(kernel.updateToolNamespaces(untyped<AccessContext>(open), {}));
  expect(error).toMatchObject({ code: "invalid_context" });
  expect(namespaceSettings.updates).toStrictEqual([]);
});

test("a sink that refuses means that nothing is changed and nothing is listed", async () => {
  const namespaceSettings = memoryNamespaceSettings(["files"]);
  const { kernel } = worldOf({ tools: fixed, namespaceSettings, audit: refusingAudit(() => true) });
  expect(await rejection(kernel.updateToolNamespaces(contextOf(), { disable: ["files"] }))).toMatchObject({
    code: "audit_unavailable",
  });
  expect(namespaceSettings.enabled(contextOf())).toStrictEqual(["files"]);
  expect(await rejection(kernel.listToolNamespaces(contextOf()))).toMatchObject({ code: "audit_unavailable" });
});

test("a sink that refuses only the outcome changes nothing about the answer", async () => {
  const namespaceSettings = memoryNamespaceSettings(["files"]);
  const audit = refusingAudit(({ outcome }) => outcome === "succeeded");
  const { kernel, auditErrors } = worldOf({ tools: fixed, namespaceSettings, audit });
  expect(flags(await kernel.updateToolNamespaces(contextOf(), { disable: ["files"] }))).toMatchObject({ files: false });
  expect(auditErrors).toMatchObject([{ event: { type: "tool.namespaces.updated", outcome: "succeeded" } }]);
});

test("an abort before the patch rejects with its reason and changes nothing", async () => {
  const namespaceSettings = memoryNamespaceSettings(["files"]);
  const { kernel, events } = worldOf({ tools: fixed, namespaceSettings });
  const reason = new Error("the caller went away");
  const signal = AbortSignal.abort(reason);
  expect(await rejection(kernel.updateToolNamespaces(contextOf(), { disable: ["files"] }, { signal }))).toBe(reason);
  expect(await rejection(kernel.listToolNamespaces(contextOf(), { signal }))).toBe(reason);
  expect(namespaceSettings.enabled(contextOf())).toStrictEqual(["files"]);
  expect(events).toStrictEqual([]);
});

for (const row of [
  { name: "with fixed tools only", providers: [] },
  { name: "with a provider to ask", providers: [providerOf("post", ["mail"])] },
]) {
  test(`an abort after the patch took effect, ${row.name}, no longer rejects`, async () => {
    const controller = new AbortController();
    const namespaceSettings: ToolNamespaceSettingsStore = {
      applyUpdate() {
        controller.abort(new Error("the caller went away"));
        return Promise.resolve(["mail"]);
      },
    };
    const { kernel } = worldOf({ tools: fixed, toolProviders: row.providers, namespaceSettings });
    const catalog = await kernel.updateToolNamespaces(contextOf(), { enable: ["mail"] }, { signal: controller.signal });
    expect(flags(catalog)).toMatchObject({ files: false });
  });
}

test("a catalog of more than 256 namespaces is never shown", async () => {
  expect((await catalogOf(256)).summary.total).toBe(256);
  expect(await rejection(catalogOf(257))).toBeInstanceOf(Error);
});

async function catalogOf(count: number): Promise<NamespaceCatalog> {
  const tools = Array.from({ length: count }, (_, place) => tool(`space-${place}.read`));
  return worldOf({ tools }).kernel.listToolNamespaces(contextOf());
}
