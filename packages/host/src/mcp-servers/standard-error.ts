import type { Readable } from "node:stream";
import { plainText } from "./plain-text.ts";

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
const token = /tp_[0-9a-f]{16}_[0-9a-f]{64}/g;

/** Takes what a server says on its standard error to the log: some lines a second, the beginning of each, nothing hidden. */
export function followStandardError(stream: Readable, options: StandardErrorOptions): void {
  const { say, clock = () => performance.now() } = options;
  const secrets = options.secrets.filter((secret) => secret.length >= minSecretLength);
  let parts: Buffer[] = [];
  let size = 0;
  let leftOut = 0;
  let window = { since: clock(), lines: 0, bytes: 0 };

  const add = (part: Buffer): void => {
    if (size < maxLineBytes) parts.push(part.subarray(0, maxLineBytes - size));
    size += part.length;
  };
  const end = (): void => {
    const text = withoutSecrets(Buffer.concat(parts).toString("utf8"), secrets);
    [parts, size] = [[], 0];
    const line = plainText(text, maxLineLength).trim();
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

function withoutSecrets(text: string, secrets: readonly string[]): string {
  return secrets.reduce((shown, secret) => shown.replaceAll(secret, "***"), text).replaceAll(token, "tp_***");
}
