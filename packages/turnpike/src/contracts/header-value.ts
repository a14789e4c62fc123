/**
 * A text as an HTTP header value: anything but plain ASCII, and the percent sign itself, is percent-encoded, and so are
 * blanks at either end, which HTTP would drop.
 */
export function toHeaderValue(text: string): string {
  return text
    .replaceAll(/\p{Cs}/gu, "\ufffd")
    .replaceAll(/[^\x20-\x7e]|%/gu, encodeURIComponent)
    .replaceAll(/^ +| +$/g, (blanks) => "%20".repeat(blanks.length));
}

/** The text behind a header value; a value that is not properly encoded is taken as it is. */
export function fromHeaderValue(value: string): string {
  try {
    return decodeURIComponent(value);
  } catch {
    return value;
  }
}
