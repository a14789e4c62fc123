const [plus, minus, point, zero, nine, upperE, lowerE] = [43, 45, 46, 48, 57, 69, 101];

const tooLong = `expected a whole number from -${Number.MAX_SAFE_INTEGER} to ${Number.MAX_SAFE_INTEGER}; send any other as a string`;
const notFinite = "expected a finite number";
const roundedToZero = "expected a number that is not rounded to 0; send it as a string";

/** The place after the number that begins at a place of a UTF-8 text. */
export function endOfNumber(text: Uint8Array, start: number): number {
  let at = start + 1;
  while (at < text.length && isOfNumber(text[at] as number)) at += 1;
  return at;
}

function isOfNumber(byte: number): boolean {
  if (isDigit(byte)) return true;
  return byte === point || byte === lowerE || byte === upperE || byte === minus || byte === plus;
}

function isDigit(byte: number): boolean {
  return byte >= zero && byte <= nine;
}

/**
 * Says for the sender why parsing would change the number between two places; undefined when it would not. Whole numbers beyond
 * 2^53-1 lose digits. A number with a fraction or an exponent may be rounded, but not to infinity or 0.
 */
export function numberProblem(text: Uint8Array, start: number, end: number): string | undefined {
  if (!isExtreme(text, start, end)) return undefined;
  const written = textBetween(text, start, end);
  const value = Number(written);
  if (Number.isNaN(value)) return undefined;
  if (/^-?\d+$/.test(written)) return Number.isSafeInteger(value) ? undefined : tooLong;
  if (!Number.isFinite(value)) return notFinite;
  return value === 0 && /^-?[0.]*[1-9]/.test(written) ? roundedToZero : undefined;
}

/** Shorter whole numbers are within 2^53-1, and shorter other numbers without an exponent are not rounded to infinity or 0. */
const [longWhole, longFraction] = [16, 200];

/** Whether parsing might change a number. Its bytes show for almost all numbers that they need no second parsing. */
function isExtreme(text: Uint8Array, start: number, end: number): boolean {
  const length = end - start;
  // 1e999 has five bytes.
  if (length < 5) return false;
  let isWhole = true;
  for (let at = start + 1; at < end; at += 1) {
    const byte = text[at] as number;
    if (isDigit(byte)) continue;
    if (byte !== point) return end - at > 3 || length >= longFraction;
    isWhole = false;
  }
  return length >= (isWhole ? longWhole : longFraction);
}

const decoder = new TextDecoder();

/** Decodes a few ASCII bytes, for which a `TextDecoder` would take too long. */
function textBetween(text: Uint8Array, start: number, end: number): string {
  if (end - start > 32) return decoder.decode(text.subarray(start, end));
  let written = "";
  for (let at = start; at < end; at += 1) written += String.fromCharCode(text[at] as number);
  return written;
}
