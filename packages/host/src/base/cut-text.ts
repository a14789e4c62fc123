/** The beginning of a text, without half a character at its end. */
export function cutText(text: string, length: number): string {
  const start = text.slice(0, length);
  return start.length < text.length ? start.replace(/[\uD800-\uDBFF]$/, "") : start;
}
