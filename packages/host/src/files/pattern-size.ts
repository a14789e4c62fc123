/** Counted repetitions (as `least` and `most`), quoted texts, escapes, classes, and single characters. */
const tokens =
  /\{(?<least>\d+)(?:,(?<most>\d*))?\}|\\Q[^]*?(?:\\E|$)|\\[^]|\[\^?\]?(?:\[:[^\]]*:\]|\\[^]|[^\]])*\]|[^]/gu;

/** About how many steps a regular expression has once its counted repetitions are written out. */
export function patternSize(pattern: string): number {
  const groups = [0];
  /** The size of what a repetition right here would repeat. */
  let last = 0;
  for (const { 0: token, groups: counts } of pattern.matchAll(tokens)) {
    if (token === "(") {
      groups.push(0);
      continue;
    }
    if (counts?.["least"] !== undefined) last *= Math.max(Number(counts["least"]), Number(counts["most"] ?? 0), 1) - 1;
    else if (token === ")" && groups.length > 1) last = (groups.pop() ?? 0) + 2;
    else last = token.startsWith(String.raw`\Q`) ? token.length : 1;
    groups.push((groups.pop() ?? 0) + last);
  }
  return groups.reduce((sum, size) => sum + size, 0);
}
