import { truncateText } from "../base/index.ts";
import { isAskedFor, placesOfWords, type WordQuery } from "./tokenize.ts";

const before = 60;
const shown = 200;

/** The place in a content where the first of the words stands, on one line; the beginning when none does. */
export function excerptOf(content: string, query: WordQuery): string {
  const start = Math.max(0, firstPlace(content, query) - before);
  const text = content.slice(start).replace(/^[\uDC00-\uDFFF]/, "");
  const cut = truncateText(text, shown);
  return `${start > 0 ? "…" : ""}${cut}${cut.length < text.length ? "…" : ""}`.replaceAll(/\s+/gu, " ").trim();
}

function firstPlace(content: string, query: WordQuery): number {
  for (const { word, start } of placesOfWords(content)) if (isAskedFor(word, query)) return start;
  return 0;
}
