import { withExactNumbers } from "./exact-numbers.ts";
import { isWithinJsonLimits, type JsonLimits } from "./json-limits.ts";

/** The code of the error that replaces an answer that is too large. */
export const tooLargeCode = -32_099;

/** The limits of a line. */
export interface LineLimits extends JsonLimits {
  maxBytes: number;
}

const newline = 0x0a;
const endBytes = 512;

/**
 * Makes a function that takes the bytes of a server's output and returns the lines that they complete. A line that is too large,
 * or has numbers that parsing would change, is replaced by an error for its caller. It does not end the output: other callers
 * wait for answers, and one caller may have caused it.
 */
export function createLineReader(limits: LineLimits): (chunk: Buffer) => Buffer[] {
  let parts: Buffer[] = [];
  let size = 0;

  const add = (part: Buffer): void => {
    parts.push(part);
    size += part.length;
    // Of a line that is too long only the two ends are stored, because one of them has the id of the call.
    if (size > limits.maxBytes) parts = endsOf(Buffer.concat(parts));
  };
  const take = (): Buffer | undefined => {
    const [first] = parts;
    const line = first !== undefined && parts.length === 1 ? first : Buffer.concat(parts);
    const isTooLarge = size > limits.maxBytes || !isWithinJsonLimits(line, limits);
    [parts, size] = [[], 0];
    return isTooLarge ? errorFor(Buffer.concat(endsOf(line)).toString("utf8")) : withExactNumbers(line);
  };

  return (chunk) => {
    const lines: Buffer[] = [];
    let start = 0;
    for (let end = chunk.indexOf(newline); end !== -1; end = chunk.indexOf(newline, start)) {
      add(chunk.subarray(start, end));
      start = end + 1;
      const line = take();
      if (line !== undefined) lines.push(line);
    }
    add(chunk.subarray(start));
    return lines;
  };
}

function endsOf(line: Buffer): Buffer[] {
  return line.length <= 2 * endBytes ? [line] : [line.subarray(0, endBytes), line.subarray(-endBytes)];
}

const idText = String.raw`"id"\s*:\s*("(?:[^"\\]|\\.){0,128}"|\d{1,15})`;
const version = String.raw`"jsonrpc"\s*:\s*"2\.0"`;
const atStart = new RegExp(String.raw`^\s*\{\s*(?:${version}\s*,\s*)?${idText}`);
const atEnd = new RegExp(String.raw`${idText}\s*(?:,\s*${version}\s*)?\}\s*$`);

/** The error for the call that a line answers; undefined when neither end of the line has its id. */
function errorFor(ends: string): Buffer | undefined {
  const [, id] = atStart.exec(ends) ?? atEnd.exec(ends) ?? [];
  if (id === undefined) return undefined;
  const error = `{"code":${tooLargeCode},"message":"The answer is too large."}`;
  return Buffer.from(`{"jsonrpc":"2.0","id":${id},"error":${error}}`);
}
