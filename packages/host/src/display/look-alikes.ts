/** Alphabets that are not mixed in a word. Scripts that are written together, such as Han and Hiragana, are not among them. */
const alphabets: readonly (readonly [name: string, letter: RegExp])[] = [
  ["Latin", /\p{Script=Latin}/u],
  ["Cyrillic", /\p{Script=Cyrillic}/u],
  ["Greek", /\p{Script=Greek}/u],
  ["Armenian", /\p{Script=Armenian}/u],
  ["Georgian", /\p{Script=Georgian}/u],
  ["Coptic", /\p{Script=Coptic}/u],
  ["Cherokee", /\p{Script=Cherokee}/u],
  ["Lisu", /\p{Script=Lisu}/u],
  ["Hebrew", /\p{Script=Hebrew}/u],
  ["Arabic", /\p{Script=Arabic}/u],
];

/** Letters of other alphabets that are drawn like Latin ones. */
const likeLatin = new Set("асԁеѕһіјӏорԛѵԝхуүьАВСЕНІЈКМОРЅТХУԚԜҮѴӀԌЬαγηικνορυχϲϳΑΒΕΖΗΙΚΜΝΟΡΤΥΧϹͿհոսօցզյՕՏԼՍ");

interface Word {
  /** The places of its letters in the text, with the alphabet of each; letters of no alphabet are left out. */
  letters: readonly { at: number; character: string; alphabet: string }[];
  /** The alphabet that most of its letters have; those that are drawn like Latin ones count little. In doubt it is Latin. */
  main: string | undefined;
}

/**
 * The places in a text of letters that pass for others: those of a word that are not of its main alphabet, and all of a word
 * that is drawn like a Latin one. Such a word is what it seems beside others of its alphabet that have letters of their own.
 */
export function lookAlikePlaces(text: string): number[] {
  if (!/[^\p{ASCII}]/u.test(text)) return [];
  const words = [...text.matchAll(/[\p{L}\p{M}]+/gu)].map(wordOf).filter(({ main }) => main !== undefined);
  const strays = words.flatMap(({ letters, main }) => letters.filter(({ alphabet }) => alphabet !== main));
  const disguised = runsOf(words)
    .filter((run) => run.every(({ letters }) => letters.every(({ character }) => likeLatin.has(character))))
    .flatMap((run) => run.flatMap(({ letters }) => letters));
  return [...strays, ...disguised].map(({ at }) => at);
}

function wordOf({ 0: word, index }: RegExpExecArray): Word {
  const counts = new Map<string, number>();
  const letters: Word["letters"][number][] = [];
  let at = index;
  for (const character of word) {
    const alphabet = character < "\x7F" ? "Latin" : alphabets.find(([, letter]) => letter.test(character))?.[0];
    if (alphabet !== undefined) {
      letters.push({ at, character, alphabet });
      counts.set(alphabet, (counts.get(alphabet) ?? 0) + (likeLatin.has(character) ? 0.001 : 1));
    }
    at += character.length;
  }
  const most = Math.max(...counts.values());
  const main = counts.get("Latin") === most ? "Latin" : [...counts].find(([, count]) => count === most)?.[0];
  return { letters, main };
}

/** Words that follow each other and have the same alphabet. */
function runsOf(words: readonly Word[]): Word[][] {
  const runs: Word[][] = [];
  let before: Word | undefined;
  for (const word of words) {
    if (before?.main === word.main) runs.at(-1)?.push(word);
    else runs.push([word]);
    before = word;
  }
  return runs;
}
