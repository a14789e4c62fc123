import { showDifference, visibleText } from "../display/index.ts";
import type { Difference, McpReview } from "../admin-contract/index.ts";
import { fittingLines } from "./act-text.ts";
import { sameHost, type OperatorFlags } from "./connection.ts";
import { hintLine } from "./format.ts";
import { terminalColumns } from "./table.ts";

type OpenTool = McpReview["tools"][number];

const usualColumns = 100;
/** So much of a hash is shown. */
const hashLength = 16;

/** What differs in the tools of a server, and the command that accepts exactly this. */
export function reviewText(
  review: McpReview,
  flags: OperatorFlags,
  purpose: "to be accepted" | "accepted" = "to be accepted",
  columns = terminalColumns() ?? usualColumns,
): string {
  const { server, tools, isAvailable } = review;
  const parts = tools.map((tool) => toolText(tool, columns));
  if (purpose === "accepted") return parts.join("\n\n");
  const silent = `${server} has not said what its tools are now. The log of the host says why.`;
  const words = [`mcp review ${server}`.split(" "), sameHost(flags), "--accept", tools.map(shortName)].flat();
  return [
    ...(isAvailable ? [] : [silent]),
    headline(server, tools),
    ...parts,
    ...(tools.length === 0 ? [] : [`To accept what is shown here:\n  ${hintLine(words)}`]),
  ].join("\n\n");
}

function headline(server: string, tools: readonly OpenTool[]): string {
  if (tools.length === 0) return `No tool of ${server} is withdrawn.`;
  const count = tools.length === 1 ? "1 tool" : `${tools.length} tools`;
  return `${count} of ${server} withdrawn until an operator accepts:`;
}

function shortName({ tool, hash }: OpenTool): string {
  return `${tool}@${hash.slice(0, hashLength)}`;
}

function toolText(tool: OpenTool, columns: number): string {
  const { state, acceptedAt = "", acceptedBy = "", differences } = tool;
  const since = state === "new" ? "is new" : `is not what ${acceptedBy} accepted ${acceptedAt}`;
  const lines = differences.flatMap((difference) => differenceLines(difference, columns));
  return [visibleText(`${tool.tool} ${since}`), ...lines].join("\n");
}

function differenceLines(difference: Difference, columns: number): string[] {
  const room = Math.max(columns - indent.length - 2, leastRoom);
  const { place, before = [], after = [], sameAbove, sameBelow } = showDifference(difference);
  const marked = (lines: readonly string[], mark: string): string[] =>
    lines.flatMap((line) => fittingLines(line, room)).map((line) => `${indent}${mark} ${line}`);
  return [
    `  ${visibleText(place)}`,
    ...sameLines(sameAbove),
    ...marked(before, "-"),
    ...marked(after, "+"),
    ...sameLines(sameBelow),
  ];
}

const indent = "    ";
const leastRoom = 20;

function sameLines(count: number): string[] {
  return count === 0 ? [] : [`${indent}  (${count === 1 ? "1 line" : `${count} lines`} as before)`];
}
