import { truncateText } from "../shared/index.ts";

/** How many characters of a text are indexed. The limit also holds after normalizing, which can make a text longer. */
const indexedCharacters = 100_000;

/** A word: letters and digits of any script. A longer run counts as several words. */
const wordPattern = /[\p{L}\p{N}\p{M}]{1,100}/gu;

/** The words of a text in their order, normalized for comparison. */
export function tokenize(text: string): string[] {
  const plain = text.slice(0, indexedCharacters).normalize("NFKC").toLowerCase();
  return plain.slice(0, indexedCharacters).match(wordPattern) ?? [];
}

/** A word as it is written in a text, and where. */
interface TokenPosition {
  word: string;
  start: number;
}

function* tokenPositions(text: string): Generator<TokenPosition> {
  for (const match of text.slice(0, indexedCharacters).matchAll(wordPattern))
    yield { word: match[0], start: match.index };
}

/** A search: every one of the words, and a word that begins with the prefix. */
export interface WordQuery {
  words: readonly string[];
  prefix: string;
}

/** The query in a text: its last word is the prefix. Undefined when the text has no word. */
export function parseQuery(text: string): WordQuery | undefined {
  const words = tokenize(text);
  const prefix = words.pop();
  return prefix === undefined ? undefined : { words: [...new Set(words)], prefix };
}

/** Whether a word of a text is one of the query. */
export function matchesQuery(written: string, { words, prefix }: WordQuery): boolean {
  return tokenize(written).some((each) => each.startsWith(prefix) || words.includes(each));
}

const charactersBefore = 60;
const excerptLength = 200;

/** The part of a content around the first word of the query, on one line. Without such a word, it is the beginning. */
export function excerptOf(content: string, query: WordQuery): string {
  const start = Math.max(0, firstMatch(content, query) - charactersBefore);
  const text = content.slice(start).replace(/^[\uDC00-\uDFFF]/, "");
  const excerpt = truncateText(text, excerptLength);
  return `${start > 0 ? "…" : ""}${excerpt}${excerpt.length < text.length ? "…" : ""}`.replaceAll(/\s+/gu, " ").trim();
}

function firstMatch(content: string, query: WordQuery): number {
  for (const { word, start } of tokenPositions(content)) if (matchesQuery(word, query)) return start;
  return 0;
}
