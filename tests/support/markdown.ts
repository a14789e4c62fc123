import { readFileSync } from "node:fs";
import { join } from "node:path";
import { repository } from "./repository.ts";

/** A fenced block of a document; `info` is what follows the opening fence, `line` the number of that fence's line. */
export interface Block {
  readonly document: string;
  readonly line: number;
  readonly info: string;
  readonly text: string;
}

/** The fenced blocks of a document, named by its path in the repository. */
export function readBlocks(document: string): Block[] {
  const blocks: Block[] = [];
  let open: { line: number; indent: string; fence: string; info: string; lines: string[] } | undefined;
  for (const [index, text] of readFileSync(join(repository, document), "utf8").split("\n").entries()) {
    const [, indent = "", fence, info = ""] = /^( *)(`{3,}|~{3,})(.*)$/.exec(text) ?? [];
    if (!open) {
      if (fence) open = { line: index + 1, indent, fence, info: info.trim(), lines: [] };
    } else if (fence?.startsWith(open.fence) && info.trim() === "") {
      blocks.push({ document, line: open.line, info: open.info, text: open.lines.join("\n") });
      open = undefined;
    } else {
      open.lines.push(text.startsWith(open.indent) ? text.slice(open.indent.length) : text);
    }
  }
  if (open) throw new SyntaxError(`${document}:${open.line}: the fence is never closed`);
  return blocks;
}

/** A table as the formatter writes it: every column as wide as its widest cell. */
export function markdownTable(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = head.map((_title, column) => Math.max(...[head, ...rows].map((row) => row[column]?.length ?? 0)));
  const line = (cells: readonly string[]) =>
    `| ${cells.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join(" | ")} |`;
  return [line(head), line(widths.map((width) => "-".repeat(width))), ...rows.map(line)].join("\n");
}

/** A document with the part of a name, which is between two comments, made anew. */
export function withPart(document: string, name: string, text: string): string {
  const [begin, end] = [`<!-- ${name} -->`, `<!-- end of ${name} -->`];
  const [from, to] = [document.indexOf(begin), document.indexOf(end)];
  if (from < 0 || to < from) throw new Error(`The document has no ${begin} and ${end}.`);
  return `${document.slice(0, from + begin.length)}\n\n${text}\n\n${document.slice(to)}`;
}
