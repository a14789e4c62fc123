import { isPath, maxNeeds, type Needs, undecided } from "./need.ts";
import { whyLaunching, whyRefused } from "./refused-programs.ts";
import { readCommands, type Word } from "./simple-commands.ts";

/**
 * What a command line needs: `run` on `shell/<program>/<word>` for each of its simple commands. The word is the first that is no
 * option. Which one that is cannot always be known: in `git -C status push` it is `push`. Then every word that it may be is needed.
 */
export function shellNeeds(line: string): Needs {
  const read = readCommands(line);
  if (read.kind === "undecided") return read;
  const places = new Map<string, string[]>();
  for (const [program, ...words] of read.commands) {
    const why = program && (whyNotNamed(program) ?? whyLaunching(program.text, textsOf(words)));
    if (program === undefined || why !== undefined) return undecided(why ?? "it has an empty command");
    const candidates = firstWords(words);
    if (candidates.some(({ isPattern }) => isPattern))
      return undecided(`a shell may replace the first word of ${program.text} with something else`);
    const paths = candidates.map(({ text }) => [program.text, stepOf(text)]);
    for (const path of paths.length === 0 ? [[program.text]] : paths) places.set(path.join("/"), path);
  }
  const paths = [...places.values()];
  if (!paths.every(isPath)) return undecided("the first word of a command is empty or too long");
  if (paths.length > maxNeeds) return undecided("it has too many commands");
  return { kind: "needs", needs: paths.map((path) => ({ action: "run", resource: { namespace: "shell", path } })) };
}

function whyNotNamed({ text, isQuoted }: Word): string | undefined {
  if (isQuoted) return "the name of a program is in quotes";
  if (/^[A-Za-z_]\w*\+?=/.test(text)) return "it has an assignment";
  if (text.includes("/")) return "a program is given by its path";
  if (text === "." || !/^\w[\w.+-]*$/.test(text)) return "the name of a program is not plain";
  return whyRefused(text);
}

/** The words that may be the first that is no option: an option may take the word behind it, and what is left of `--` is unknown. */
function firstWords(words: readonly Word[]): Word[] {
  const found: Word[] = [];
  let mayTake = false;
  let isBehindDashes = false;
  for (const word of words) {
    const isOption = /^-./.test(word.text);
    if (!isOption || (isBehindDashes && word.text !== "--") || word.isPattern) found.push(word);
    if (!isOption && !mayTake) return found;
    isBehindDashes ||= word.text === "--";
    mayTake = isOption && !/^--[^=]+=/.test(word.text);
  }
  return found;
}

/** A word as one step of a path. No two words become the same step. */
function stepOf(word: string): string {
  const step = word.replaceAll("%", "%25").replaceAll("/", "%2F").replaceAll("\\", "%5C");
  return /^\.\.?$/.test(step) ? step.replaceAll(".", "%2E") : step;
}

function textsOf(words: readonly Word[]): string[] {
  return words.map(({ text }) => text);
}
