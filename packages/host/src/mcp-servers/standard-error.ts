import type { Readable } from "node:stream";
import { truncateText, withoutHiddenText } from "../shared/index.ts";

/** A line of a server's standard error, as it is logged. */
export interface StandardErrorLine {
  line?: string;
  /** How many lines before this one were dropped. */
  leftOut?: number;
}

/** How a server's standard error is logged. */
export interface StandardErrorOptions {
  write(line: StandardErrorLine): void;
  /** Texts that are masked, such as the values of the server's environment variables. */
  secrets: readonly string[];
  clock?(): number;
}

const maxLinesPerSecond = 10;
const maxBytesPerSecond = 1_048_576;
const maxLineBytes = 4096;
const maxLineLength = 1000;
const newline = 0x0a;
/** A shorter text occurs in many lines by chance, so it is not masked. */
const minSecretLength = 6;
/** Replaces each character of a secret. No line contains it, because hidden characters are removed first. */
const mark = "\0";
const masked = /\0+/g;
const token = /tp_[0-9a-f]{16}_[0-9a-f]{64}/g;

/** Logs a server's standard error: a few lines a second, the beginning of each, without hidden text and secrets. */
export function logStandardError(stream: Readable, options: StandardErrorOptions): void {
  const { write, clock = () => performance.now() } = options;
  const secrets = linesOf(options.secrets);
  // Enough bytes are stored to find the whole of a secret that begins in the shown part.
  const storedBytes = maxLineBytes + Math.max(0, ...secrets.map((secret) => Buffer.byteLength(secret)));
  let parts: Buffer[] = [];
  let size = 0;
  let leftOut = 0;
  let window = { since: clock(), lines: 0, bytes: 0 };

  const add = (part: Buffer): void => {
    if (size < storedBytes) parts.push(part.subarray(0, storedBytes - size));
    size += part.length;
  };
  const end = (): void => {
    // Hidden characters are removed first: a secret with one inside would not be found.
    const text = withoutHiddenText(Buffer.concat(parts).toString("utf8"));
    [parts, size] = [[], 0];
    const line = truncateText(maskSecrets(text, secrets), maxLineLength).replaceAll(masked, "***").trim();
    if (line === "") return;
    window.lines += 1;
    if (window.lines > maxLinesPerSecond) leftOut += 1;
    else {
      write({ line, ...(leftOut > 0 && { leftOut }) });
      leftOut = 0;
    }
  };
  stream.on("data", (chunk: Buffer) => {
    const past = clock() - window.since;
    if (past >= 1000) window = { since: clock(), lines: 0, bytes: 0 };
    let start = 0;
    for (let at = chunk.indexOf(newline); at !== -1; at = chunk.indexOf(newline, start)) {
      add(chunk.subarray(start, at));
      start = at + 1;
      end();
    }
    add(chunk.subarray(start));
    window.bytes += chunk.length;
    if (window.bytes < maxBytesPerSecond) return;
    // A flood waits in the pipe, where it slows down the server and not the host.
    stream.pause();
    setTimeout(() => stream.resume(), 1000).unref();
  });
  stream.on("end", () => {
    end();
    if (leftOut > 0) write({ leftOut });
  });
  stream.on("error", () => {});
}

/** The lines of the secrets as the log could show them, the longest first, because a shorter one may be part of it. */
function linesOf(secrets: readonly string[]): string[] {
  const lines = secrets.flatMap((secret) => secret.split(/[\r\n]+/)).map((line) => withoutHiddenText(line).trim());
  const long = lines.filter((line) => line.length >= minSecretLength);
  return [...new Set(long)].toSorted((one, other) => other.length - one.length);
}

/** Masks each character of a secret with one mark, so that masking does not change where the line is truncated. */
function maskSecrets(text: string, secrets: readonly string[]): string {
  return secrets
    .reduce((shown, secret) => shown.replaceAll(secret, mark.repeat(secret.length)), text)
    .replaceAll(token, (found) => `tp_${mark.repeat(found.length - 3)}`);
}
