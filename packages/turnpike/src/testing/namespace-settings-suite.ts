import type { AccessContext, NamespaceUpdate, PrincipalRef } from "../contracts/index.ts";
import type { ToolNamespaceSettingsStore } from "../kernel/index.ts";
import { expectSame, type PortCase } from "./port-case.ts";

const assistant: PrincipalRef = { kind: "agent", agentId: "assistant" };

function context(changes: Partial<AccessContext> = {}): AccessContext {
  return {
    actor: assistant,
    authority: { kind: "human", userId: "alice" },
    enabledToolNamespaces: [],
    namespaceId: "tenant-1",
    now: "2026-01-01T12:00:00Z",
    owner: { kind: "human", userId: "alice" },
    purpose: "settings",
    traceId: "trace-1",
    ...changes,
  };
}

/**
 * Whether a settings store applies patches atomically on fresh state. `open` returns a store with nothing switched on.
 *
 * @example
 * import { memoryNamespaceSettings, namespaceSettingsSuite } from "turnpike/testing";
 *
 * const cases = namespaceSettingsSuite(async () => memoryNamespaceSettings());
 * for (const { run } of cases) await run();
 * console.log(cases.length > 0); // true
 */
export function namespaceSettingsSuite(open: () => Promise<ToolNamespaceSettingsStore>): PortCase[] {
  const { signal } = new AbortController();
  const apply = async (store: ToolNamespaceSettingsStore, update: NamespaceUpdate, to = context()): Promise<string[]> =>
    [...(await store.applyUpdate(to, update, signal))].toSorted();
  return [
    {
      name: "starts with nothing and answers an empty patch with what is in force",
      async run() {
        const store = await open();
        expectSame(await apply(store, {}), [], "a new store");
        await apply(store, { enable: ["files"] });
        expectSame(await apply(store, {}), ["files"], "an empty patch later");
      },
    },
    {
      name: "switches on and off, each name once",
      async run() {
        const store = await open();
        expectSame(await apply(store, { enable: ["files", "mail", "files"] }), ["files", "mail"], "two switched on");
        expectSame(await apply(store, { enable: ["web"], disable: ["mail"] }), ["files", "web"], "one on, one off");
        expectSame(await apply(store, { disable: ["never-there"] }), ["files", "web"], "an unknown name switched off");
      },
    },
    {
      name: "applies a patch to what is stored, not to what the context says",
      async run() {
        const store = await open();
        await apply(store, { enable: ["files"] });
        const stale = context({ enabledToolNamespaces: ["stale"] });
        expectSame(await apply(store, { enable: ["mail"] }, stale), ["files", "mail"], "a patch with a stale context");
      },
    },
    {
      name: "separates actors and tenants",
      async run() {
        const store = await open();
        await apply(store, { enable: ["files"] });
        expectSame(await apply(store, {}, context({ namespaceId: "tenant-2" })), [], "another tenant");
        expectSame(
          await apply(store, {}, context({ actor: { kind: "service", serviceId: "assistant" } })),
          [],
          "a namesake",
        );
      },
    },
    {
      name: "stores 256 namespaces, and refuses a patch that would make them more without changing anything",
      async run() {
        const store = await open();
        const names = Array.from({ length: 256 }, (_, place) => `n${String(place).padStart(3, "0")}`);
        await apply(store, { enable: names });
        const code = await apply(store, { enable: ["one-more"] }).catch((error: { code?: string }) => error.code);
        expectSame(code, "invalid_request", "the 257th namespace");
        expectSame(await apply(store, {}), names, "what is still on");
        expectSame((await apply(store, { enable: ["one-more"], disable: ["n000"] })).length, 256, "one for another");
      },
    },
    {
      name: "fifty patches at once lose nothing",
      async run() {
        const store = await open();
        const names = Array.from({ length: 50 }, (_, place) => `n${String(place).padStart(2, "0")}`);
        await Promise.all(names.map((name) => apply(store, { enable: [name] })));
        expectSame(await apply(store, {}), names, "all fifty");
      },
    },
  ];
}
