import type { Command } from "commander";
import { ConfigError, programName } from "../shared/index.ts";
import { visibleText } from "../display/index.ts";
import type { McpReview, McpServer } from "../admin-contract/index.ts";
import { requestAdmin } from "./admin-request.ts";
import { asOperator, type OperatorFlags, type Show } from "./connection.ts";
import { reviewText } from "./mcp-review-text.ts";
import { type Column, renderTable } from "./table.ts";

interface ReviewFlags extends OperatorFlags {
  /** True without names: everything that is shown. */
  accept?: true | string[];
}

type OpenTool = McpReview["tools"][number];

/** `mcp review`: what MCP servers changed in their tools, and accepting it. */
export function addMcpReview(mcp: Command, show: Show): void {
  asOperator(
    mcp.command("review"),
    "Show which tools of MCP servers are not what was accepted, and accept them.",
    "turnpike mcp review notes",
  )
    .argument("[server]", "the server's name in the configuration; without it, all servers are listed")
    .option("--accept [tools...]", "accept these tools as they are shown; without names, all that are shown")
    .action(async (server: string | undefined, flags: ReviewFlags) => {
      if (server === undefined) return listServers(flags, show);
      const review = await requestAdmin(flags, "reviewMcpServer", { server });
      if (flags.accept === undefined) return show(flags, review, reviewText(review, flags));
      const tools = chosenOf(review, flags.accept);
      const hashes = tools.map(({ tool, hash }) => ({ tool, hash }));
      const accepted = await requestAdmin(flags, "acceptMcpTools", { server, tools: hashes });
      const names = accepted.accepted.join(", ");
      show(flags, accepted, `${reviewText({ ...review, tools }, flags, "accepted")}\n\nAccepted: ${names}.`);
    });
}

async function listServers(flags: ReviewFlags, show: Show): Promise<void> {
  if (flags.accept !== undefined)
    throw new ConfigError(`Name the server before --accept: ${programName()} mcp review notes --accept`);
  const answer = await requestAdmin(flags, "listMcpServers", {});
  show(flags, answer, serversTable(answer.servers));
}

const toolColumns: readonly Column<{ server: string } & McpServer["tools"][number]>[] = [
  { heading: "SERVER", value: ({ server }) => server },
  { heading: "TOOL", value: ({ tool }) => tool },
  { heading: "STATE", value: ({ state }) => state },
  { heading: "ACCEPTED", value: ({ acceptedAt = "-" }) => acceptedAt },
  { heading: "BY", value: ({ acceptedBy = "-" }) => acceptedBy, shrinks: 1 },
];

function serversTable(servers: readonly McpServer[]): string {
  if (servers.length === 0) return "No MCP servers are configured: mcp.servers of the configuration file names them.";
  const rows = servers.flatMap(({ server, tools }) => tools.map((tool) => ({ server, ...tool })));
  const remarks = servers
    .filter(({ isAvailable }) => !isAvailable)
    .map(({ server }) => `${server} has not said what its tools are. The log of the host says why.`);
  const withdrawn = rows.flatMap(({ server, tool, withdrawnAt }) =>
    withdrawnAt === undefined
      ? []
      : `${visibleText(tool)} of ${server} changed, and is withdrawn since ${withdrawnAt}: ${programName()} mcp review ${server}`,
  );
  return [renderTable(toolColumns, rows), ...remarks, ...withdrawn].join("\n");
}

/** The tools that are to be accepted. A name with the beginning of a hash behind `@` is that definition alone. */
function chosenOf({ server, tools }: McpReview, accept: true | readonly string[]): OpenTool[] {
  const chosen = accept === true ? tools : accept.map((text) => findTool(server, tools, text));
  if (chosen.length === 0) throw new Error(`There is nothing to accept: the tools of ${server} are what was accepted.`);
  const twice = chosen.find((one) => chosen.some((other) => other !== one && other.tool === one.tool));
  if (twice === undefined) return [...chosen];
  throw new Error(`${twice.tool} has several definitions: name the one to accept, as the review shows it.`);
}

function findTool(server: string, tools: readonly OpenTool[], text: string): OpenTool {
  const [name = "", start = ""] = text.split("@");
  if (!/^[0-9a-f]*$/.test(start) || (text.includes("@") && start.length < 16))
    throw new ConfigError(`--accept ${text}: expected a tool, or a tool@hash as the review shows it.`);
  const named = tools.filter(({ tool }) => tool === name);
  const found = named.filter(({ hash }) => hash.startsWith(start));
  const [first] = found;
  if (first !== undefined && found.length === 1) return first;
  if (found.length > 1)
    throw new Error(`${name} has several definitions: name the one to accept, as the review shows it.`);
  const why = named.length > 0 ? "is not what was shown any more" : "has nothing to accept";
  throw new Error(`Nothing was accepted: ${name} ${why}. Check again with: ${programName()} mcp review ${server}`);
}
