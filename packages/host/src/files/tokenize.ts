/** How much of a content is searched; the same of what is made of it, so that no character can unfold beyond it. */
const indexedCharacters = 100_000;

/** Letters and digits of any script. What is longer than a word can be is several. */
const word = /[\p{L}\p{N}\p{M}]{1,100}/gu;

/** The words of a text as they are compared, in their order. */
export function wordsOf(text: string): string[] {
  const plain = text.slice(0, indexedCharacters).normalize("NFKC").toLowerCase();
  return plain.slice(0, indexedCharacters).match(word) ?? [];
}

/** A word as it stands in a text. */
export interface WordPlace {
  word: string;
  start: number;
}

/** The words of a text as they are written, with their places. */
export function* placesOfWords(text: string): Generator<WordPlace> {
  for (const match of text.slice(0, indexedCharacters).matchAll(word)) yield { word: match[0], start: match.index };
}

/** What a search asks for: every word, and what begins with the last one. Undefined when it has no word. */
export interface WordQuery {
  words: readonly string[];
  prefix: string;
}

export function wordQuery(text: string): WordQuery | undefined {
  const words = wordsOf(text);
  const prefix = words.pop();
  return prefix === undefined ? undefined : { words: [...new Set(words)], prefix };
}

/** Whether a word of a text is one that is asked for. */
export function isAskedFor(written: string, { words, prefix }: WordQuery): boolean {
  return wordsOf(written).some((each) => each.startsWith(prefix) || words.includes(each));
}
