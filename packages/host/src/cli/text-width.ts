/** How many columns of a terminal a text takes: marks take none, and characters of East Asia and most emoji take two. */
export function textWidth(text: string): number {
  if (plain.test(text)) return text.length;
  let width = 0;
  for (const character of text) width += characterWidth(character);
  return width;
}

/** The beginning of a text that fits into so many columns, with dots when something is missing. */
export function cutText(text: string, columns: number): string {
  if (textWidth(text) <= columns) return text;
  const dots = "...".slice(0, columns);
  const [start = ""] = splitText(text, columns - dots.length);
  return `${columns > dots.length ? start : ""}${dots}`;
}

/** A text in parts that fit into so many columns each. What is shown as one character stays whole. */
export function splitText(text: string, columns: number): string[] {
  const parts: string[] = [];
  let part = "";
  let width = 0;
  for (const { segment } of segmenter.segment(text)) {
    const wide = textWidth(segment);
    if (part !== "" && width + wide > columns) {
      parts.push(part);
      [part, width] = ["", 0];
    }
    part += segment;
    width += wide;
  }
  return [...parts, part];
}

/** Fills a text up with spaces to so many columns. */
export function padText(text: string, columns: number): string {
  return text + " ".repeat(Math.max(0, columns - textWidth(text)));
}

const segmenter = new Intl.Segmenter();

const plain = /^[\x20-\x7e]*$/;
/** Marks, signs without a width, the vowels and finals of a Korean syllable, and the shade of an emoji. */
const narrow = /^[\p{Mn}\p{Me}\p{Cf}\p{Emoji_Modifier}\u{1160}-\u{11ff}\u{d7b0}-\u{d7ff}]$/u;
/** Each half of a flag takes one column. */
const half = /^\p{Regional_Indicator}$/u;
const wide =
  /^[\p{Emoji_Presentation}\u{1100}-\u{115f}\u{2e80}-\u{303e}\u{3041}-\u{4dbf}\u{4e00}-\u{a4cf}\u{a960}-\u{a97c}\u{ac00}-\u{d7a3}\u{f900}-\u{faff}\u{fe10}-\u{fe19}\u{fe30}-\u{fe6f}\u{ff01}-\u{ff60}\u{ffe0}-\u{ffe6}\u{16fe0}-\u{18d08}\u{1b000}-\u{1b2fb}\u{1f200}-\u{1f265}\u{20000}-\u{3fffd}]$/u;

function characterWidth(character: string): number {
  if (narrow.test(character)) return 0;
  return wide.test(character) && !half.test(character) ? 2 : 1;
}
