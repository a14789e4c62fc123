import { goalHead, goalRow, type Section } from "./results.ts";
import { markdownTable } from "./tables.ts";

/** Where and when everything was measured. */
export interface Circumstances {
  readonly date: string;
  readonly machine: string;
  readonly versions: Readonly<Record<string, string>>;
  /** Whether the rounds were few and short: such numbers say little. */
  readonly isQuick: boolean;
}

/** The page of all results, in Markdown. */
export function resultsPage(circumstances: Circumstances, sections: readonly Section[]): string {
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
    markdownTable(goalHead, goals.map(goalRow)),
    ...sections.flatMap(({ title, text, head, rows }) => [
      `## ${title}`,
      ...(text === undefined ? [] : [text]),
      markdownTable(head, rows),
    ]),
  ];
  return `${parts.join("\n\n")}\n`;
}
