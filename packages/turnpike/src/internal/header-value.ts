/**
 * A text as an HTTP header value: anything but plain ASCII, and the percent sign itself, is percent-encoded, and so are
 * blanks at either end, which HTTP would drop.
 *
 * @example
 * import { toHeaderValue } from "turnpike/http";
 *
 * console.log(toHeaderValue("Zürich")); // Z%C3%BCrich
 */
export function toHeaderValue(text: string): string {
  if (/^[\x21-\x24\x26-\x7e]+$/.test(text)) return text;
  const visible = text.replaceAll(/\p{Cs}/gu, "\ufffd").replaceAll(/[^\x20-\x7e]|%/gu, encodeURIComponent);
  const inner = visible.trim();
  if (inner === "") return "%20".repeat(visible.length);
  const start = visible.length - visible.trimStart().length;
  return "%20".repeat(start) + inner + "%20".repeat(visible.length - inner.length - start);
}

/**
 * The text behind a header value; a value that is not properly encoded is taken as it is.
 *
 * @example
 * import { fromHeaderValue } from "turnpike/http";
 *
 * console.log(fromHeaderValue("Z%C3%BCrich")); // Zürich
 */
export function fromHeaderValue(value: string): string {
  if (!value.includes("%")) return value;
  try {
    return decodeURIComponent(value);
  } catch {
    return value;
  }
}
