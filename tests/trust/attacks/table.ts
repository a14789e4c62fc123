import type { Attack, Group } from "./attack.ts";

const [begin, end] = ["<!-- attacks -->", "<!-- end of attacks -->"];

/** A document with the tables of all attacks in their place. */
export function withAttacks(document: string, groups: readonly Group[]): string {
  const [from, to] = [document.indexOf(begin), document.indexOf(end)];
  if (from < 0 || to < from) throw new Error(`The document has no ${begin} and ${end}.`);
  const tables = groups.map(({ name, attacks }) => `### ${title(name)}\n\n${tableOf(attacks)}`);
  return `${document.slice(0, from + begin.length)}\n\n${tables.join("\n\n")}\n\n${document.slice(to)}`;
}

function title(name: string): string {
  return name.slice(0, 1).toUpperCase() + name.slice(1);
}

/** As the formatter writes tables: every column as wide as its widest cell. */
function tableOf(attacks: readonly Attack[]): string {
  const rows = attacks.map(({ name, surface, held, succeeds }) => [name, surface, `\`${held}\``, `\`${succeeds}\``]);
  const all = [["Attack", "Through", "Answer", "Done rightly"], ...rows];
  const widths = [0, 1, 2, 3].map((column) => Math.max(...all.map((row) => row[column]?.length ?? 0)));
  const line = (cells: readonly string[]) =>
    `| ${cells.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join(" | ")} |`;
  const [head = [], ...body] = all;
  return [line(head), line(widths.map((width) => "-".repeat(width))), ...body.map(line)].join("\n");
}
