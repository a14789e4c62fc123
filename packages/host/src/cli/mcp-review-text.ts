import { placeText, visibleText } from "../display/index.ts";
import type { Difference, McpReview } from "../management/index.ts";
import { linesOfValue } from "./act-text.ts";
import { sameHost, type OperatorFlags } from "./connection.ts";
import { commandLine } from "./format.ts";
import { terminalColumns } from "./table.ts";

type OpenTool = McpReview["tools"][number];

const usualColumns = 100;
/** So much of a hash stands for all of it. */
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
  const words = [`turnpike mcp review ${server}`.split(" "), sameHost(flags), "--accept", tools.map(shortName)].flat();
  return [
    ...(isAvailable ? [] : [silent]),
    headline(server, tools),
    ...parts,
    ...(tools.length === 0 ? [] : [`To accept what is shown here:\n  ${commandLine(words)}`]),
  ].join("\n\n");
}

function headline(server: string, tools: readonly OpenTool[]): string {
  if (tools.length === 0) return `No tool of ${server} is withdrawn.`;
  const count = tools.length === 1 ? "1 tool" : `${tools.length} tools`;
  return `${count} of ${server} withdrawn until somebody accepts:`;
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

function differenceLines({ path, before, after }: Difference, columns: number): string[] {
  const room = Math.max(columns - indent.length - 2, leastRoom);
  const old = before === undefined ? [] : linesOfValue(before, room);
  const current = after === undefined ? [] : linesOfValue(after, room);
  // Of a long text only what differs is shown: the same lines at both ends are counted.
  const start = commonLength(old, current);
  const end = commonLength(old.slice(start).toReversed(), current.slice(start).toReversed());
  const middle = (lines: readonly string[], mark: string): string[] =>
    lines.slice(start, lines.length - end).map((line) => `${indent}${mark} ${line}`);
  return [
    `  ${visibleText(placeText(path))}`,
    ...sameLines(start),
    ...middle(old, "-"),
    ...middle(current, "+"),
    ...sameLines(end),
  ];
}

const indent = "    ";
const leastRoom = 20;

function sameLines(count: number): string[] {
  return count === 0 ? [] : [`${indent}  (${count === 1 ? "1 line" : `${count} lines`} as before)`];
}

/** How many lines at their beginning two texts have in common. */
function commonLength(one: readonly string[], other: readonly string[]): number {
  const different = one.findIndex((line, place) => line !== other[place]);
  return different === -1 ? Math.min(one.length, other.length) : different;
}
