import { may } from "../../shared/api.ts";
import { place } from "../../shared/place.ts";
import { Tabs } from "../../parts/tabs.tsx";
import { McpServers } from "./mcp-servers.tsx";
import { Namespaces } from "./namespaces.tsx";
import { TryTool } from "./try-tool.tsx";

/** What agents are offered: tool namespaces, the MCP servers behind them, and a tool tried as a credential. */
export function ToolsScreen() {
  const { tenant = "", rest } = place.value;
  const [view = "namespaces", server] = rest;
  const views = [
    { name: "namespaces", title: "Namespaces", isThere: may("readNamespaces") },
    { name: "servers", title: "MCP servers", isThere: may("listMcpServers") },
    { name: "try", title: "Try a tool", isThere: may("listOfferedTools") },
  ].filter(({ isThere }) => isThere);
  const isThere = views.some(({ name }) => name === view);
  return (
    <>
      <h1>Tools</h1>
      <Tabs
        label="Tools"
        tabs={views.map(({ name, title }) => ({ title, to: ["tools", name], isCurrent: name === view }))}
      />
      {isThere && view === "namespaces" && <Namespaces tenant={tenant} />}
      {isThere && view === "servers" && <McpServers selected={server} />}
      {isThere && view === "try" && <TryTool tenant={tenant} />}
    </>
  );
}
