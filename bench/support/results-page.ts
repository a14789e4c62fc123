import { goalHead, goalRow, measuredText, type Goal, type Section } from "./results.ts";
import { markdownTable } from "./tables.ts";

/** Where and when everything was measured. */
export interface Circumstances {
  readonly date: string;
  readonly machine: string;
  readonly versions: Readonly<Record<string, string>>;
  /** Whether the rounds were few and short: such numbers say little. */
  readonly isQuick: boolean;
}

/** What one version of Node came to. */
export interface GoalsOfNode {
  readonly node: string;
  readonly date: string;
  /** Numbers of different processors say nothing about each other. */
  readonly processors: string;
  readonly goals: readonly Goal[];
}

/** Of everything that was measured: the other Nodes that can stand beside this one, which replaces its own older versions. */
export function comparableTo({ node, processors }: GoalsOfNode, measured: readonly GoalsOfNode[]): GoalsOfNode[] {
  return measured.filter((other) => majorOf(other.node) !== majorOf(node) && other.processors === processors);
}

function majorOf(version: string): string {
  return version.split(".")[0] ?? "";
}

/** The page of all results, in Markdown, with what other versions of Node came to beside the goals. */
export function resultsPage(
  circumstances: Circumstances,
  sections: readonly Section[],
  others: readonly GoalsOfNode[] = [],
): string {
  const { date, machine, versions, isQuick } = circumstances;
  const goals = sections.flatMap((section) => section.goals ?? []);
  const parts = [
    "# What it costs",
    "`npm run bench` measures everything here and writes this page and its picture anew. Absolute numbers move with the " +
      "machine; ratios were taken within one run.",
    ...(isQuick ? ["**This was a quick run: few and short rounds.**"] : []),
    [
      `- ${date}`,
      `- ${machine}`,
      `- ${Object.entries(versions)
        .map(([name, version]) => `${name} ${version}`)
        .join(", ")}`,
    ].join("\n"),
    "![Measured numbers against their goals](results.svg)",
    "## Goals",
    ...(others.length > 0
      ? ["A column that names a Node is of that one, on the same processors; all else here is of the one above."]
      : []),
    goalTable(goals, others),
    ...sections.flatMap(({ title, text, head, rows }) => [
      `## ${title}`,
      ...(text === undefined ? [] : [text]),
      markdownTable(head, rows),
    ]),
  ];
  return `${parts.join("\n\n")}\n`;
}

function goalTable(goals: readonly Goal[], others: readonly GoalsOfNode[]): string {
  const named = others.map(({ node, date }) => `node ${node}, ${date}`);
  const withOthers = (goal: Goal): string[] => [...goalRow(goal), ...others.map((other) => sameGoal(goal, other))];
  return markdownTable([...goalHead, ...named], goals.map(withOthers));
}

function sameGoal({ name, unit }: Goal, { goals }: GoalsOfNode): string {
  const found = goals.find((goal) => goal.name === name && goal.unit === unit);
  return found === undefined ? "-" : measuredText(found);
}
