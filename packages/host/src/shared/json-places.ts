import { findChangedNumber } from "turnpike/contracts";

/** A position in a text. Line and column count from 1. */
export interface TextPlace {
  line: number;
  column: number;
}

/** The JSON in a text, and the positions of its parts. */
export interface PlacedJson {
  value: unknown;
  /** Where the value at a path begins; where the nearest value around it begins when there is none. */
  placeOf(path: readonly PropertyKey[]): TextPlace;
  /** Where the last name of a path begins. */
  keyPlaceOf(path: readonly PropertyKey[]): TextPlace;
}

/** A text that cannot be read. Its message says what was found and expected; values are never repeated, they may be secret. */
export class JsonTextError extends Error {
  override readonly name = "JsonTextError";
  readonly place: TextPlace;

  constructor(message: string, place: TextPlace) {
    super(message);
    this.place = place;
  }
}

/** No file of ours is nested deeper, and a deeper one would overflow the stack. */
const maxDepth = 100;

const token = {
  space: /[ \t\r\n]*/y,
  // oxlint-disable-next-line no-control-regex -- JSON has none of them in a text
  string: /"(?:[^"\\\u0000-\u001F]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"/y,
  number: /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?(?![\w.])/y,
  word: /(?:true|false|null)(?!\w)/y,
};

/** Parses JSON and remembers the position of every part. Throws a `JsonTextError`. */
export function parseJsonWithPlaces(text: string): PlacedJson {
  const values = new Map<string, number>();
  const keys = new Map<string, number>();
  let at = 0;

  const placeAt = (offset: number): TextPlace => {
    const before = text.slice(0, offset);
    return { line: before.split("\n").length, column: offset - before.lastIndexOf("\n") };
  };
  const take = (expression: RegExp): string | undefined => {
    expression.lastIndex = at;
    const [found] = expression.exec(text) ?? [];
    at += found?.length ?? 0;
    return found;
  };
  const fail = (expected: string): never => {
    throw new JsonTextError(`this is not JSON: found ${foundAt(text, at)}, expected ${expected}`, placeAt(at));
  };
  /** Takes one of these characters, after white space. */
  const takeOne = (characters: string, expected: string): string => {
    take(token.space);
    const character = text.charAt(at);
    if (character === "" || !characters.includes(character)) return fail(expected);
    at += 1;
    return character;
  };

  const readValue = (path: string, depth: number): void => {
    take(token.space);
    if (depth > maxDepth) fail(`at most ${maxDepth} levels`);
    values.set(path, at);
    if (text.charAt(at) === "{") return readObject(path, depth);
    if (text.charAt(at) === "[") return readArray(path, depth);
    const number = take(token.number);
    if (number !== undefined) return checkNumber(number);
    if ((take(token.string) ?? take(token.word)) === undefined)
      fail("a value: an object, a list, a text in double quotes, a number, true, false or null");
  };
  const checkNumber = (number: string): void => {
    const changed = findChangedNumber(number);
    if (changed) throw new JsonTextError(`found a number, ${changed.expected}`, placeAt(at - number.length));
  };
  const readObject = (path: string, depth: number): void => {
    at += 1;
    take(token.space);
    if (text.charAt(at) === "}") return void (at += 1);
    do {
      take(token.space);
      const start = at;
      const name = take(token.string) ?? fail("a key in double quotes");
      const member = below(path, JSON.parse(name) as string);
      // A reader could see one of the values while programs use the other.
      if (keys.has(member)) throw new JsonTextError(`the key ${name} appears twice in one object`, placeAt(start));
      keys.set(member, start);
      takeOne(":", "a colon behind the key");
      readValue(member, depth + 1);
    } while (takeOne(",}", "a comma, or } at the end of the object") === ",");
  };
  const readArray = (path: string, depth: number): void => {
    at += 1;
    take(token.space);
    if (text.charAt(at) === "]") return void (at += 1);
    let element = 0;
    do {
      readValue(below(path, element), depth + 1);
      element += 1;
    } while (takeOne(",]", "a comma, or ] at the end of the list") === ",");
  };

  readValue("", 0);
  take(token.space);
  if (at < text.length) fail("nothing behind the end");
  return {
    value: JSON.parse(text),
    placeOf(path) {
      const there = path.map((_, missing) => values.get(pathKey(path.slice(0, path.length - missing))));
      return placeAt(there.find((offset) => offset !== undefined) ?? values.get(pathKey([])) ?? 0);
    },
    keyPlaceOf: (path) => placeAt(keys.get(pathKey(path)) ?? 0),
  };
}

function pathKey(path: readonly PropertyKey[]): string {
  return path.reduce<string>(below, "");
}

/** The place of a member or an element. With the length of each step, no two paths are written alike. */
function below(path: string, step: PropertyKey): string {
  const name = String(step);
  return `${path}${name.length}:${name}`;
}

/** The kind of what is at an offset, without its content. */
function foundAt(text: string, offset: number): string {
  const character = text.charAt(offset);
  if (character === "") return "the end of the file";
  if (text.startsWith("//", offset) || text.startsWith("/*", offset)) return "a comment, which JSON does not have";
  if (character === "'") return "a single quote";
  if (character === '"')
    return isWholeText(text, offset)
      ? "a text"
      : "a text that does not end, or with a character that has to be escaped";
  if (/[\w$]/.test(character)) return "a word without quotes";
  return /[\x21-\x7e]/.test(character) ? character : "a character that JSON does not have";
}

function isWholeText(text: string, offset: number): boolean {
  token.string.lastIndex = offset;
  return token.string.test(text);
}
