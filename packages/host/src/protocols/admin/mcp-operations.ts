import { principalKey } from "turnpike/contracts";
import type { McpReview, McpServer } from "../../admin-contract/index.ts";
import { operatorsTenant } from "../../admin-contract/index.ts";
import { differencesOf, type ReviewedTool, type ServerReview } from "../../mcp-servers/index.ts";
import { conflict, notFound, type AdminOperations, type AdminServices } from "./admin-services.ts";

/** Reviewing and accepting the tools of MCP servers. */
export function mcpOperations({
  mcp,
}: AdminServices): AdminOperations<"listMcpServers" | "reviewMcpServer" | "acceptMcpTools"> {
  const find = async (server: string): Promise<ServerReview> => {
    const found = await mcp.find(server);
    if (found === undefined) throw notFound("MCP server of this name in the configuration");
    return found;
  };
  return {
    listMcpServers: async () => ({ servers: (await mcp.list()).map(serverOf) }),
    reviewMcpServer: async ({ server }) => reviewOf(await find(server)),
    async acceptMcpTools({ server, tools }, operator) {
      await find(server);
      const change = { namespaceId: operatorsTenant, action: "mcp.accept", metadata: { server, tools: [...tools] } };
      return operator.change(change, async () => {
        if (!(await mcp.accept(server, tools, principalKey(operator.actor)))) throw conflict(changedMeanwhile);
        return { server, accepted: tools.map(({ tool }) => tool) };
      });
    },
  };
}

const changedMeanwhile =
  "Nothing was accepted: a tool is not what was shown any more, or was accepted before. Review the server again.";

function serverOf({ tools, ...server }: ServerReview): McpServer {
  return {
    ...server,
    tools: tools.map((tool) => {
      const withdrawnAt = tool.state === "changed" ? tool.pin?.withdrawnAt : undefined;
      return {
        tool: tool.tool,
        state: tool.state,
        ...partsOf(tool),
        ...(withdrawnAt !== undefined && { withdrawnAt }),
      };
    }),
  };
}

function reviewOf({ tools, ...server }: ServerReview): McpReview {
  const open = tools.flatMap((tool) => {
    const { state, pin, now } = tool;
    if (now === undefined || (state !== "changed" && state !== "new")) return [];
    const differences = differencesOf(pin?.definition, now.definition);
    return [{ tool: tool.tool, state, ...partsOf(tool), differences }];
  });
  return { ...server, tools: open };
}

function partsOf({ pin, now }: ReviewedTool): Pick<McpServer["tools"][number], "hash" | "acceptedAt" | "acceptedBy"> {
  return {
    hash: (now ?? pin)?.hash ?? "",
    ...(pin !== undefined && { acceptedAt: pin.pinnedAt, acceptedBy: pin.by }),
  };
}
