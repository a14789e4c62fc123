import { markdownTable, withPart } from "../../support/markdown.ts";
import type { Attack, Group } from "./attack.ts";

/** A document with the tables of all attacks in their place. */
export function withAttacks(document: string, groups: readonly Group[]): string {
  const tables = groups.map(({ name, attacks }) => `### ${title(name)}\n\n${tableOf(attacks)}`);
  return withPart(document, "attacks", tables.join("\n\n"));
}

function title(name: string): string {
  return name.slice(0, 1).toUpperCase() + name.slice(1);
}

function tableOf(attacks: readonly Attack[]): string {
  const rows = attacks.map(({ name, surface, held, succeeds }) => [name, surface, `\`${held}\``, `\`${succeeds}\``]);
  return markdownTable(["Attack", "Through", "Answer", "Done rightly"], rows);
}
