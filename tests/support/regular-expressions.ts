import { parseSync, Visitor } from "oxc-parser";
import { backtracking } from "./backtracking.ts";
import type { Source } from "./code-literals.ts";

/** One sentence per regular expression that takes more than linear time on some text, or that cannot be judged. */
export function slowExpressions(sources: readonly Source[]): string[] {
  return sources.flatMap(({ file, text }) => {
    const found: string[] = [];
    const judge = (pattern: string, flags: string): void => {
      const verdict = backtracking(pattern, flags);
      if (verdict !== undefined) found.push(`${file}: /${pattern}/ is ${verdict}`);
    };
    const refuse = (callee: { type: string; name?: string }): void => {
      if (callee.name === "RegExp") found.push(`${file}: an expression that is put together cannot be judged`);
    };
    new Visitor({
      Literal: (node) => "regex" in node && node.regex && judge(node.regex.pattern, node.regex.flags),
      NewExpression: ({ callee }) => refuse(callee as { type: string; name?: string }),
      CallExpression: ({ callee }) => refuse(callee as { type: string; name?: string }),
    }).visit(parseSync(file, text).program);
    return found;
  });
}
