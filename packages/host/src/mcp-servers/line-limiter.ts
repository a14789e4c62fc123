import { Transform } from "node:stream";
import { setTimeout as delay } from "node:timers/promises";
import { isWithinJsonLimits, type JsonLimits } from "./json-limits.ts";

/** The code of the error that takes the place of an answer that is too large. */
export const tooLargeCode = -32_099;

/** What a server may say. */
export interface LineLimits extends JsonLimits {
  maxBytes: number;
  /** So many lines within a second are a server that does its work; the rest of a flood waits for the next second. */
  maxLinesPerSecond: number;
}

/** Time, and what is told about it. */
export interface LineGateOptions {
  clock?(): number;
  wait?(ms: number): Promise<unknown>;
  /** Told once, when a server first says more than is read. */
  onFlood?(): void;
}

const newline = 0x0a;
const endBytes = 512;

/**
 * Lets the lines of a server through, within limits: a line that is too large becomes the error that its caller waits for,
 * and a flood is slowed down. It does not end the stream: others wait for answers in it, and one caller may have caused it.
 */
export function createLineGate(limits: LineLimits, options: LineGateOptions = {}): Transform {
  const { clock = () => performance.now(), wait = (ms) => delay(ms, undefined, { ref: false }) } = options;
  let parts: Buffer[] = [];
  let size = 0;
  let window = { since: clock(), lines: 0 };
  let isFlooding = false;

  const add = (part: Buffer): void => {
    parts.push(part);
    size += part.length;
    // Of a line that is too long only its two ends are kept, one of which names the call.
    if (size > limits.maxBytes) parts = endsOf(Buffer.concat(parts));
  };
  const take = (): Buffer | undefined => {
    const line = Buffer.concat(parts);
    const isTooLarge = size > limits.maxBytes || !isWithinJsonLimits(line, limits);
    [parts, size] = [[], 0];
    return isTooLarge
      ? errorFor(Buffer.concat(endsOf(line)).toString("utf8"))
      : Buffer.concat([line, Buffer.from([newline])]);
  };
  /** Waits for the next second when this one has had its lines. */
  const turn = async (): Promise<void> => {
    const past = clock() - window.since;
    if (past < 1000 && window.lines === limits.maxLinesPerSecond) {
      if (!isFlooding) options.onFlood?.();
      isFlooding = true;
      await wait(1000 - past);
    }
    if (past >= 1000 || window.lines === limits.maxLinesPerSecond) window = { since: clock(), lines: 0 };
    window.lines += 1;
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

/** The answer to the call that a line was for; undefined when neither of its ends says. */
function errorFor(ends: string): Buffer | undefined {
  const [, id] = atStart.exec(ends) ?? atEnd.exec(ends) ?? [];
  if (id === undefined) return undefined;
  const error = `{"code":${tooLargeCode},"message":"The answer is too large."}`;
  return Buffer.from(`{"jsonrpc":"2.0","id":${id},"error":${error}}\n`);
}
