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
