import type { Readable } from "node:stream";
import { truncateText, withoutHiddenText } from "../base/index.ts";

/** What a server said, as the log has it. */
export interface Said {
  line?: string;
  /** How many lines before this one were too many. */
  leftOut?: number;
}

/** What follows a server's standard error. */
export interface StandardErrorOptions {
  say(said: Said): void;
  /** Texts that are not for the log, such as the values of the server's variables. */
  secrets: readonly string[];
  clock?(): number;
}

const maxLinesPerSecond = 10;
const maxBytesPerSecond = 1_048_576;
const maxLineBytes = 4096;
const maxLineLength = 1000;
const newline = 0x0a;
/** Texts that are shorter stand in many lines by chance. */
const minSecretLength = 6;
/** Stands for a character of a secret; it is hidden text, so that no line has it. */
const mark = "\0";
const masked = /\0+/g;
const token = /tp_[0-9a-f]{16}_[0-9a-f]{64}/g;

/** Takes what a server says on its standard error to the log: some lines a second, the beginning of each, nothing hidden. */
export function followStandardError(stream: Readable, options: StandardErrorOptions): void {
  const { say, clock = () => performance.now() } = options;
  const secrets = linesOf(options.secrets);
  // A secret that begins where a line is still shown is kept to its end, so that it is found.
  const keptBytes = maxLineBytes + Math.max(0, ...secrets.map((secret) => Buffer.byteLength(secret)));
  let parts: Buffer[] = [];
  let size = 0;
  let leftOut = 0;
  let window = { since: clock(), lines: 0, bytes: 0 };

  const add = (part: Buffer): void => {
    if (size < keptBytes) parts.push(part.subarray(0, keptBytes - size));
    size += part.length;
  };
  const end = (): void => {
    // Hidden characters go first: a secret with one inside would not be found.
    const text = withoutHiddenText(Buffer.concat(parts).toString("utf8"));
    [parts, size] = [[], 0];
    const line = truncateText(maskSecrets(text, secrets), maxLineLength).replaceAll(masked, "***").trim();
    if (line === "") return;
    window.lines += 1;
    if (window.lines > maxLinesPerSecond) leftOut += 1;
    else {
      say({ line, ...(leftOut > 0 && { leftOut }) });
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
    // A flood waits in the pipe, where it costs the server and not the host.
    stream.pause();
    setTimeout(() => stream.resume(), 1000).unref();
  });
  stream.on("end", () => {
    end();
    if (leftOut > 0) say({ leftOut });
  });
  stream.on("error", () => {});
}

/** The lines of the secrets as they can stand in a line of the log, the longest first: a shorter one may be a part of it. */
function linesOf(secrets: readonly string[]): string[] {
  const lines = secrets.flatMap((secret) => secret.split(/[\r\n]+/)).map((line) => withoutHiddenText(line).trim());
  const long = lines.filter((line) => line.length >= minSecretLength);
  return [...new Set(long)].toSorted((one, other) => other.length - one.length);
}

/** Puts as many marks in the place of a secret: what follows it stays where it was, and is cut off where it would have been. */
function maskSecrets(text: string, secrets: readonly string[]): string {
  return secrets
    .reduce((shown, secret) => shown.replaceAll(secret, mark.repeat(secret.length)), text)
    .replaceAll(token, (found) => `tp_${mark.repeat(found.length - 3)}`);
}
