import { Transform } from "node:stream";

/** The code of the error that takes the place of an answer that is too large. */
export const tooLargeCode = -32_099;

/** What a server may say. */
export interface LineLimits {
  maxBytes: number;
  /** So many lines within a second are a server that does its work; more are a flood. */
  maxLinesPerSecond: number;
}

const newline = 0x0a;
const endBytes = 512;

/**
 * Lets the lines of a server through, within limits: a line that is too long becomes the error that its caller waits for,
 * and a flood ends the stream, which loses the connection and with it the server.
 */
export function createLineGate(limits: LineLimits, clock: () => number = () => performance.now()): Transform {
  let parts: Buffer[] = [];
  let size = 0;
  let window = { since: clock(), lines: 0 };
  let isOver = false;

  const add = (part: Buffer): void => {
    parts.push(part);
    size += part.length;
    // Of a line that is too long only its two ends are kept, one of which names the call.
    if (size > limits.maxBytes) parts = endsOf(Buffer.concat(parts));
  };
  const take = (): Buffer | undefined => {
    const line = Buffer.concat(parts);
    const isTooLong = size > limits.maxBytes;
    [parts, size] = [[], 0];
    return isTooLong ? errorFor(line.toString("utf8")) : Buffer.concat([line, Buffer.from([newline])]);
  };
  const isFlood = (): boolean => {
    const now = clock();
    if (now - window.since >= 1000) window = { since: now, lines: 0 };
    window.lines += 1;
    return window.lines > limits.maxLinesPerSecond;
  };

  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      let start = 0;
      for (let end = chunk.indexOf(newline); end !== -1 && !isOver; end = chunk.indexOf(newline, start)) {
        add(chunk.subarray(start, end));
        start = end + 1;
        const line = take();
        if (line !== undefined) this.push(line);
        if (isFlood()) {
          isOver = true;
          this.push(null);
        }
      }
      if (!isOver) add(chunk.subarray(start));
      done();
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

/** The answer to the call that a line was for; undefined when neither of its ends says. */
function errorFor(ends: string): Buffer | undefined {
  const [, id] = atStart.exec(ends) ?? atEnd.exec(ends) ?? [];
  if (id === undefined) return undefined;
  const error = `{"code":${tooLargeCode},"message":"The answer is too large."}`;
  return Buffer.from(`{"jsonrpc":"2.0","id":${id},"error":${error}}\n`);
}
