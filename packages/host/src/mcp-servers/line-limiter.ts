import { Transform } from "node:stream";
import { withExactNumbers } from "./exact-numbers.ts";
import { isWithinJsonLimits, type JsonLimits } from "./json-limits.ts";
import { createRateLimiter, type RateLimiterOptions } from "./rate-limiter.ts";

/** The code of the error that replaces an answer that is too large. */
export const tooLargeCode = -32_099;

/** The limits of a server's output. */
export interface LineLimits extends JsonLimits {
  maxBytes: number;
  /** More lines within one second wait for the next second. */
  maxLinesPerSecond: number;
}

const newline = 0x0a;
const endBytes = 512;

/**
 * Passes the lines of a server on, within limits. A line that is too large, or has numbers that parsing would change, is
 * replaced by an error for its caller, and a flood is slowed down. The stream stays open: other callers wait for answers, and
 * one caller may have caused the flood.
 */
export function createLineLimiter(limits: LineLimits, options: RateLimiterOptions = {}): Transform {
  const turn = createRateLimiter(limits.maxLinesPerSecond, options);
  let parts: Buffer[] = [];
  let size = 0;

  const add = (part: Buffer): void => {
    parts.push(part);
    size += part.length;
    // Of a line that is too long only the two ends are stored, because one of them has the id of the call.
    if (size > limits.maxBytes) parts = endsOf(Buffer.concat(parts));
  };
  const take = (): Buffer | undefined => {
    const line = Buffer.concat(parts);
    const isTooLarge = size > limits.maxBytes || !isWithinJsonLimits(line, limits);
    [parts, size] = [[], 0];
    return isTooLarge
      ? errorFor(Buffer.concat(endsOf(line)).toString("utf8"))
      : Buffer.concat([withExactNumbers(line), Buffer.from([newline])]);
  };
  const pass = async (gate: Transform, chunk: Buffer, done: () => void): Promise<void> => {
    let start = 0;
    for (let end = chunk.indexOf(newline); end !== -1; end = chunk.indexOf(newline, start)) {
      add(chunk.subarray(start, end));
      start = end + 1;
      const line = take();
      await turn();
      if (line !== undefined) gate.push(line);
    }
    add(chunk.subarray(start));
    done();
  };

  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      void pass(this, chunk, done);
    },
  });
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
  return Buffer.from(`{"jsonrpc":"2.0","id":${id},"error":${error}}\n`);
}
