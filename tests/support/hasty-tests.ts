import { parseSync, Visitor } from "oxc-parser";
import type { Source } from "./code-literals.ts";

/** What is run in the page once it has settled, and has nothing that could come later. */
const onceIsEnough = new Set(["seriousFindings", "picture"]);

/**
 * One sentence for each place of a test that a busy machine can make fail: what is waited for a second at most, because nothing
 * else was said, and what is read of a browser once, where it may still be on its way.
 */
export function hastyPlaces(sources: readonly Source[]): string[] {
  return sources.flatMap(({ file, text }) => {
    const readsPages = file.startsWith("checks/browser/");
    if (!readsPages && !text.includes("vi.wait")) return [];
    const { program, errors } = parseSync(file, text);
    if (errors[0]) throw new SyntaxError(`${file}: ${errors[0].message}`);
    const found: string[] = [];
    new Visitor({
      CallExpression({ callee, arguments: given }) {
        const name = text.slice(callee.start, callee.end);
        if (/^vi\.wait(For|Until)$/.test(name) && given.length < 2)
          found.push(`${file}: ${name} does not say how long it waits: give it the patience of the tests`);
        if (!readsPages || name !== "expect") return;
        for (const argument of given)
          for (const [, what = ""] of text.slice(argument.start, argument.end).matchAll(/\bawait (\w+)/g))
            if (!onceIsEnough.has(what)) found.push(`${file}: expect(await ${what}…) reads once: use expect.poll`);
      },
    }).visit(program);
    return found;
  });
}
