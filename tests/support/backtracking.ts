/**
 * Finds regular expressions that take more than linear time on some text. An expression becomes the graph of its atoms
 * (one atom takes one character); time explodes when a text can be read along the same loop in two ways, and grows with
 * the square when it can be read in two loops, one of which leads into the other, before something that may fail.
 */

/** An expression as a graph: which atoms come first, which may be last, whether it fits nothing, what follows what. */
interface Graph {
  first: number[];
  last: number[];
  isEmpty: boolean;
}

interface Atoms {
  /** Whether the atom takes a character. */
  takes: ((character: string) => boolean)[];
  /** What may follow each atom. An atom that follows in two ways is there twice. */
  follows: number[][];
}

const nothing: Graph = { first: [], last: [], isEmpty: true };
/** A repetition that is counted higher than this is as bad as one without an end. */
const manyTimes = 4;

const someCharacters = [
  ...Array.from({ length: 0x7f }, (_, code) => String.fromCodePoint(code)),
  ..."\u0080\u00a0éß\u202a\u202e\u2028\u2029\u2066日\ud800\udc00\u{e0041}😀",
];

/** What is wrong with an expression; undefined when it takes linear time. Throws when it cannot be read. */
export function backtracking(pattern: string, flags: string): "exponential" | "quadratic" | undefined {
  const { atoms, whole } = readGraph(pattern, flags);
  const letters = distinctLetters(atoms);
  const reaches = closure(atoms.follows);
  const isLoop = (at: number): boolean => reaches[at]?.has(at) === true;
  // Where the end is in reach of every turn of a loop, nothing behind the loop can fail.
  const mayFail = (at: number): boolean =>
    !whole.last.some((end) => end === at || (reaches[at]?.has(end) === true && reaches[end]?.has(at) === true));
  const loops = atoms.takes.map((_, at) => at).filter((at) => isLoop(at));
  const step = (at: number, letter: string): number[] =>
    (atoms.follows[at] ?? []).filter((next) => atoms.takes[next]?.(letter) === true);

  const isTwofold = (at: number): boolean =>
    search(letters, [[at, at, 0]], ([one = 0, other = 0, parted], letter) =>
      step(one, letter).flatMap((next, way) =>
        step(other, letter).map((beside, otherWay) => [
          next,
          beside,
          parted === 1 || one !== other || way !== otherWay ? 1 : 0,
        ]),
      ),
    ).has(String([at, at, 1]));
  const leadsInto = (from: number, into: number): boolean =>
    from !== into &&
    reaches[from]?.has(into) === true &&
    search(letters, [[from, from, into]], ([one = 0, between = 0, other = 0], letter) =>
      step(one, letter).flatMap((first) =>
        step(between, letter).flatMap((second) => step(other, letter).map((third) => [first, second, third])),
      ),
    ).has(String([from, into, into]));

  const failing = loops.filter((at) => mayFail(at));
  if (failing.some((at) => isTwofold(at))) return "exponential";
  return failing.some((into) => loops.some((from) => leadsInto(from, into))) ? "quadratic" : undefined;
}

/** Every state that some text leads to, after one character at least. */
function search(
  letters: readonly string[],
  starts: readonly number[][],
  next: (state: readonly number[], letter: string) => number[][],
): Set<string> {
  const seen = new Set<string>();
  for (let open = starts; open.length > 0;) {
    const found = open.flatMap((state) => letters.flatMap((letter) => next(state, letter)));
    open = found.filter((state) => !seen.has(String(state)) && seen.add(String(state)));
  }
  return seen;
}

function closure(follows: readonly number[][]): Set<number>[] {
  return follows.map((_, at) => {
    const seen = new Set<number>();
    for (const open = [at]; open.length > 0;) {
      for (const next of follows[open.pop() ?? 0] ?? []) if (!seen.has(next) && seen.add(next)) open.push(next);
    }
    return seen;
  });
}

/** One character for each way in which characters differ to the atoms. */
function distinctLetters({ takes }: Atoms): string[] {
  const byKind = new Map(someCharacters.map((letter) => [takes.map((take) => Number(take(letter))).join(""), letter]));
  return [...byKind.values()];
}

function readGraph(pattern: string, flags: string): { atoms: Atoms; whole: Graph } {
  const atoms: Atoms = { takes: [], follows: [] };
  const addAtom = (takes: (character: string) => boolean): Graph => {
    const at = atoms.takes.push(takes) - 1;
    atoms.follows.push([]);
    return { first: [at], last: [at], isEmpty: false };
  };
  const link = (before: Graph, behind: Graph): void => {
    for (const at of before.last) atoms.follows[at]?.push(...behind.first);
  };
  const inRow = (before: Graph, behind: Graph): Graph => {
    link(before, behind);
    return {
      first: before.isEmpty ? [...before.first, ...behind.first] : before.first,
      last: behind.isEmpty ? [...before.last, ...behind.last] : behind.last,
      isEmpty: before.isEmpty && behind.isEmpty,
    };
  };
  const either = (one: Graph, other: Graph): Graph => ({
    first: [...one.first, ...other.first],
    last: [...one.last, ...other.last],
    isEmpty: one.isEmpty || other.isEmpty,
  });

  const tokens = [...pattern.matchAll(token)].map(([text]) => text);
  let place = 0;
  const readChoice = (): Graph => {
    let graph = readRow();
    while (tokens[place] === "|") {
      place += 1;
      graph = either(graph, readRow());
    }
    return graph;
  };
  const readRow = (): Graph => {
    let graph = nothing;
    while (place < tokens.length && tokens[place] !== "|" && tokens[place] !== ")")
      graph = inRow(graph, readRepeated());
    return graph;
  };
  /** An atom or a group and the repetition behind it, which reads it anew as often as it is to be there. */
  const readRepeated = (): Graph => {
    const start = place;
    const again = (): Graph => {
      place = start;
      return readOne();
    };
    let graph = again();
    const [least, most] = countsOf(tokens[place]);
    if (least === undefined || most === undefined) return graph;
    const isEndless = most > manyTimes;
    for (let time = 1; time < Math.min(least, manyTimes); time += 1) graph = inRow(graph, again());
    if (isEndless) {
      const repeated = least > 1 ? again() : graph;
      link(repeated, repeated);
      if (least > 1) graph = inRow(graph, { ...repeated, isEmpty: true });
    } else {
      for (let time = Math.max(least, 1); time < most; time += 1) graph = inRow(graph, { ...again(), isEmpty: true });
    }
    place += 1;
    return least === 0 ? { ...graph, isEmpty: true } : graph;
  };
  const readOne = (): Graph => {
    const text = tokens[place] ?? "";
    place += 1;
    if (text.startsWith("(")) {
      const inside = readChoice();
      place += 1;
      // What lies ahead is matched and then not taken: a branch that leads nowhere.
      return /^\(\?<?[=!]/.test(text)
        ? {
            ...inRow(
              inside,
              addAtom(() => false),
            ),
            isEmpty: true,
          }
        : inside;
    }
    // The two ends of a text are no characters of it, so no loop passes them.
    if (text === "^" || text === "$") return addAtom(() => false);
    if (/^\\[bB]$/.test(text)) return nothing;
    if (/^\\(?:[1-9]|k<)/.test(text)) throw new SyntaxError(`A reference back cannot be judged: ${text}`);
    const one = new RegExp(`^(?:${text})$`, flags.replaceAll(/[gy]/g, ""));
    return addAtom((character) => one.test(character));
  };

  const body = readChoice();
  if (place < tokens.length) throw new SyntaxError(`The expression cannot be read: ${pattern}`);
  if (flags.includes("y")) return { atoms, whole: body };
  // A search tries every place: that is a loop of its own, in front.
  const skipped = addAtom(() => true);
  link(skipped, skipped);
  return { atoms, whole: inRow({ ...skipped, isEmpty: true }, body) };
}

/** Classes, groups' openings, escapes, repetitions and single characters. */
const token =
  /\[(?:[^\]\\]|\\.)*\]|\((?:\?(?:[:=!]|<[=!]|<\w+>))?|\\(?:u\{\w+\}|u\w{4}|x\w{2}|[pP]\{[^}]*\}|k<\w+>|.)|(?:[*+?]|\{\d+(?:,\d*)?\})\??|./gsu;

/** How often at least and at most a repetition is there; nothing when the token is none. */
function countsOf(text = ""): [number, number] | [] {
  if (text.startsWith("*")) return [0, Infinity];
  if (text.startsWith("+")) return [1, Infinity];
  if (text.startsWith("?")) return [0, 1];
  const [, least, comma, most] = /^\{(\d+)(,?)(\d*)\}/.exec(text) ?? [];
  if (least === undefined) return [];
  return [Number(least), comma === "" ? Number(least) : most === "" ? Infinity : Number(most)];
}
