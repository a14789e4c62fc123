import { undecided, type Undecided } from "./need.ts";

/** A word of a command, with its quotes removed. */
export interface Word {
  text: string;
  isQuoted: boolean;
  /** Whether a shell may make something else of it: a file name, a home folder, an earlier command. */
  isPattern: boolean;
}

/** Simple commands, of which a shell runs some or all in their order. */
export interface SimpleCommands {
  kind: "commands";
  commands: readonly (readonly Word[])[];
}

/** Characters that are read by people otherwise than by a shell. A tab is a space. */
const unreadable = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]|(?! )\p{Zs}/u;

/** Why a character outside of quotes cannot be decided. */
const refused: Readonly<Record<string, string>> = {
  $: "it has a substitution or a variable",
  "`": "it has a substitution",
  "\\": "it has a backslash outside of single quotes",
  "(": "it has a subshell or a function",
  ")": "it has a subshell or a function",
  "{": "it has braces outside of quotes",
  "}": "it has braces outside of quotes",
  "<": "it has a redirection",
  ">": "it has a redirection",
};

/** What a shell may replace: names of files, a home folder, an earlier command. */
const patterns = "*?[]~^!";

/**
 * Reads a command line of which every shell makes the same simple commands: plain or quoted words, joined by `&&`, `||`, `;` or
 * `|`. INVARIANT: a character that is not known to be plain is refused; there is no other way to be decided.
 */
export function readCommands(line: string): SimpleCommands | Undecided {
  if (/[\r\n]/.test(line)) return undecided("it has more than one line");
  if (unreadable.test(line.replaceAll("\t", " "))) return undecided("it has a character that is not shown");
  const commands: Word[][] = [];
  let words: Word[] = [];
  let at = 0;
  while (at < line.length) {
    const joined = /[ \t]+|&&|\|\|(?!&)|\|(?!&)|;/y;
    joined.lastIndex = at;
    const [joint] = joined.exec(line) ?? [];
    if (joint === undefined) {
      const read = readWord(line, at);
      if (read.kind === "undecided") return read;
      words.push(read.word);
      at = read.end;
      continue;
    }
    at += joint.length;
    if (joint.trim() === "") continue;
    if (words.length === 0) return undecided("it has an empty command");
    commands.push(words);
    words = [];
  }
  if (words.length === 0) return undecided("it has an empty command");
  return { kind: "commands", commands: [...commands, words] };
}

function readWord(line: string, start: number): { kind: "word"; word: Word; end: number } | Undecided {
  const word: Word = { text: "", isQuoted: false, isPattern: false };
  let at = start;
  for (; at < line.length && !" \t;|".includes(line.charAt(at)); at += 1) {
    const character = line.charAt(at);
    const why = refused[character];
    if (why !== undefined) return undecided(why);
    if (character === "&") {
      if (line.charAt(at + 1) !== "&") return undecided("it has a command that goes on in the background");
      break;
    }
    if (character === "#" && at === start) return undecided("it has a comment");
    if (character === "'" || character === '"') {
      const end = line.indexOf(character, at + 1);
      if (end === -1) return undecided("it has a quote that does not end");
      const quoted = line.slice(at + 1, end);
      if (character === '"' && /[$`\\]/.test(quoted))
        return undecided("it has a substitution, a variable or a backslash in double quotes");
      word.text += quoted;
      word.isQuoted = true;
      at = end;
      continue;
    }
    // A shell may look for the program of this name.
    if (patterns.includes(character) || (character === "=" && at === start)) word.isPattern = true;
    word.text += character;
  }
  // The joint of two commands that a shell reads otherwise.
  if (at === start) return undecided("it has a joint of commands that is not &&, ||, ; or |");
  return { kind: "word", word, end: at };
}
