/** A table for a terminal: the first column to the left, the others to the right. */
export function textTable(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const lines = [head, ...rows];
  const widths = head.map((_, column) => Math.max(...lines.map((line) => line[column]?.length ?? 0)));
  return lines
    .map((line) =>
      widths
        .map((width, column) => {
          const cell = line[column] ?? "";
          return column === 0 ? cell.padEnd(width) : cell.padStart(width);
        })
        .join("  ")
        .trimEnd(),
    )
    .join("\n");
}

/** The same table in Markdown, aligned as the formatter of this repository would. */
export function markdownTable(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const lines = [head, ...rows].map((line) => head.map((_, column) => escapeCell(line[column] ?? "")));
  const widths = head.map((_, column) => Math.max(3, ...lines.map((line) => line[column]?.length ?? 0)));
  const cells = (line: readonly string[]): string =>
    `| ${widths.map((width, column) => (column === 0 ? (line[column] ?? "").padEnd(width) : (line[column] ?? "").padStart(width))).join(" | ")} |`;
  const rule = `| ${widths.map((width, column) => (column === 0 ? "-".repeat(width) : `${"-".repeat(width - 1)}:`)).join(" | ")} |`;
  const [first = [], ...others] = lines;
  return [cells(first), rule, ...others.map(cells)].join("\n");
}

function escapeCell(text: string): string {
  return text.replaceAll("|", String.raw`\|`);
}
