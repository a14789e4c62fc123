import { createServiceApi } from "turnpike/http";
import { createKernel } from "turnpike/kernel";
import { createTurnExecutor } from "turnpike/runtime";
import { memoryAudit, memoryGrants, memoryNamespaceSettings } from "turnpike/testing";
import { expect, test } from "vitest";
import { contextOf } from "../../test/mcp/servers.ts";
import { openRuntimes } from "../turns/runtimes/open-runtime.ts";
import { hideNamespaces } from "./hide-namespaces.ts";

const kernel = createKernel({
  grants: memoryGrants(),
  audit: memoryAudit(),
  namespaceSettings: memoryNamespaceSettings(),
  toolProviders: ["mcp.ours", "mcp.theirs"].map((id) => ({ id, namespaces: [id], tools: () => Promise.resolve([]) })),
});
const turns = createTurnExecutor({ kernel, ...(await openRuntimes({ kind: "none" }, {})) });
const api = hideNamespaces(
  createServiceApi({ kernel, turns }),
  (namespace, { namespaceId }) => namespace === "mcp.theirs" && namespaceId !== "them",
);

const entry = (namespace: string, enabled: boolean) => ({ namespace, sources: [namespace], toolCount: 0, enabled });

test("a hidden namespace is neither listed nor counted, and is for those it is for", async () => {
  const enabledToolNamespaces = ["mcp.theirs"];
  expect(await api.listToolNamespaces(contextOf({ enabledToolNamespaces }))).toEqual({
    namespaces: [entry("mcp.ours", false)],
    summary: { enabled: 0, disabled: 1, total: 1 },
  });
  expect(await api.listToolNamespaces(contextOf({ enabledToolNamespaces, namespaceId: "them" }))).toEqual({
    namespaces: [entry("mcp.ours", false), entry("mcp.theirs", true)],
    summary: { enabled: 1, disabled: 1, total: 2 },
  });
});

test("nor does switching it on show it", async () => {
  expect(await api.updateToolNamespaces(contextOf(), { enable: ["mcp.ours", "mcp.theirs"] })).toEqual({
    namespaces: [entry("mcp.ours", true)],
    summary: { enabled: 1, disabled: 0, total: 1 },
  });
});
