/** Control characters but tab and line feed, and what is there to be read by machines alone: tags, direction overrides. */
const unseen = /[\p{Cc}\u{202A}-\u{202E}\u{2066}-\u{2069}\u{E0000}-\u{E007F}]/gu;

/** Text of a server as it may be shown: nothing invisible in it, and no longer than the limit. */
export function plainText(text: string, maxLength: number): string {
  return cutText(
    text.replaceAll(unseen, (character) => (character === "\n" || character === "\t" ? character : "")),
    maxLength,
  );
}

/** The beginning of a text, with no character cut in half. */
export function cutText(text: string, maxLength: number): string {
  if (text.length <= maxLength) return text;
  return text.slice(0, maxLength).replace(/[\uD800-\uDBFF]$/, "");
}
