const repetition = /\{(\d+)(?:,(\d*))?\}/y;
const namedClass = /\[:\^?\w+:\]/y;

/**
 * About how many steps a regular expression has once its counted repetitions are written out. It reads the pattern once,
 * from left to right: this runs before anything has found the pattern harmless.
 */
export function patternSize(pattern: string): number {
  const groups = [0];
  /** The size of what a repetition right here would repeat. */
  let last = 0;
  for (let start = 0, end = 0; start < pattern.length; start = end) {
    const counts = matchAt(repetition, pattern, start);
    end = counts ? start + counts[0].length : endOfToken(pattern, start);
    if (pattern[start] === "(") {
      groups.push(0);
      continue;
    }
    if (counts) last *= Math.max(Number(counts[1]), Number(counts[2] ?? 0), 1) - 1;
    else if (pattern[start] === ")" && groups.length > 1) last = (groups.pop() ?? 0) + 2;
    else last = pattern.startsWith(String.raw`\Q`, start) ? end - start : 1;
    groups.push((groups.pop() ?? 0) + last);
  }
  return groups.reduce((sum, size) => sum + size, 0);
}

/** Where a quoted text, an escape, a class or a character ends. One that is never closed takes all the rest. */
function endOfToken(pattern: string, start: number): number {
  if (pattern[start] === "[") return endOfClass(pattern, start + 1);
  if (pattern[start] !== "\\") return start + 1;
  const kind = pattern[start + 1] ?? "";
  if (kind === "Q") return endBehind(String.raw`\E`, pattern, start + 2);
  if ("pPx".includes(kind) && pattern[start + 2] === "{") return endBehind("}", pattern, start + 3);
  return start + 2;
}

function endOfClass(pattern: string, start: number): number {
  let at = pattern[start] === "^" ? start + 1 : start;
  // A bracket that comes first does not close the class.
  if (pattern[at] === "]") at += 1;
  while (at < pattern.length && pattern[at] !== "]") {
    const named = matchAt(namedClass, pattern, at);
    at += named?.[0].length ?? (pattern[at] === "\\" ? 2 : 1);
  }
  return at + 1;
}

function endBehind(text: string, pattern: string, from: number): number {
  const found = pattern.indexOf(text, from);
  return found === -1 ? pattern.length : found + text.length;
}

function matchAt(sticky: RegExp, text: string, at: number): RegExpExecArray | null {
  sticky.lastIndex = at;
  return sticky.exec(text);
}
