import { open, stat } from "node:fs/promises";
import { CheckpointError, parseLine, placeBehind, type Checkpoint, type Place } from "./checkpoint.ts";
import { createTrust } from "./handover.ts";
import type { VerifyingKey } from "./signing-key.ts";

const chunkBytes = 65_536;
/** Longer than any line that is ever written. */
const maxLineBytes = 4_194_304;
/** How every line begins: its names are in order. */
const lineBegins = Buffer.from('{"at":"');

/** How far a file was read. */
export interface Reading {
  /** Behind the last complete line. */
  place: Place;
  /** Whether something follows that is no complete line: what a process leaves that dies while it writes. */
  isTorn: boolean;
}

type Take = (checkpoints: readonly Checkpoint[]) => void | Promise<void>;

/**
 * Reads the checkpoints behind a place, some at a time. Each line holds the hash of the one before, so the signature of
 * the last line proves all of them: it is the one that is checked, and until this returns none of them counts.
 */
export async function readCheckpoints(file: string, from: Place, key: VerifyingKey, take: Take): Promise<Reading> {
  const trust = createTrust(key);
  const reading = await readUnproved(file, from, async (checkpoints) => {
    trust.take(checkpoints);
    await take(checkpoints);
  });
  try {
    trust.requireSigned();
    return reading;
  } catch (error) {
    throw inFile(file, error);
  }
}

/** The same without checking a signature: the lines continue each other, and prove nothing yet. */
export async function readUnproved(file: string, from: Place, take: Take): Promise<Reading> {
  let place = from;
  let rest = Buffer.alloc(0);
  try {
    for await (const page of readPages(file, from.offset)) {
      const checkpoints = page.lines.map((line) => {
        const checkpoint = parseLine(line.toString("utf8"), place);
        place = placeBehind(line, place);
        return checkpoint;
      });
      ({ rest } = page);
      await take(checkpoints);
    }
    if (place.sequence === 0) requireBeginning(rest);
    return { place, isTorn: rest.length > 0 };
  } catch (error) {
    throw inFile(file, error);
  }
}

/** Complete lines behind a place as they are, about so many bytes of them and at least one. */
export async function copyLines(
  file: string,
  from: number,
  bytes: number,
): Promise<{ lines: string[]; isEnd: boolean }> {
  const lines: string[] = [];
  let size = 0;
  try {
    for await (const page of readPages(file, from)) {
      lines.push(...page.lines.map((line) => line.toString("utf8")));
      size += page.lines.reduce((sum, line) => sum + line.length, 0);
      if (size >= bytes) return { lines, isEnd: false };
    }
    return { lines, isEnd: true };
  } catch (error) {
    throw inFile(file, error);
  }
}

/** Cuts the file at the end of what was read, and appends lines there. Returns when they are on the disk. */
export async function appendLines(file: string, { offset }: Place, lines: readonly string[]): Promise<void> {
  const handle = await open(file, "a", 0o600);
  try {
    if ((await handle.stat()).size > offset) await handle.truncate(offset);
    await handle.appendFile(lines.map((line) => `${line}\n`).join(""));
    await handle.datasync();
  } finally {
    await handle.close();
  }
}

/** Whether something is there under this name. */
export async function isThere(file: string): Promise<boolean> {
  return stat(file).then(
    () => true,
    (error: unknown) => {
      if (isMissing(error)) return false;
      throw error;
    },
  );
}

/** INVARIANT: an incomplete line gets cut, so a file with nothing else has to begin like a line: else it is another file. */
function requireBeginning(rest: Buffer): void {
  const length = Math.min(rest.length, lineBegins.length);
  if (rest.subarray(0, length).equals(lineBegins.subarray(0, length))) return;
  throw new CheckpointError("this is no file of checkpoints, and was left as it is. Name another, or move it away.");
}

/** The complete lines behind a place, and what follows those read so far that is no complete line. */
async function* readPages(file: string, from: number): AsyncGenerator<{ lines: Buffer[]; rest: Buffer<ArrayBuffer> }> {
  if (from === 0 && !(await isThere(file))) return;
  const handle = await open(file, "r");
  try {
    if ((await handle.stat()).size < from) throw new CheckpointError("lines at its end were removed.");
    let rest = Buffer.alloc(0);
    for (let position = from; ;) {
      const { bytesRead, buffer } = await handle.read(Buffer.alloc(chunkBytes), 0, chunkBytes, position);
      if (bytesRead === 0) return;
      position += bytesRead;
      rest = Buffer.concat([rest, buffer.subarray(0, bytesRead)]);
      const lines: Buffer[] = [];
      for (let end = rest.indexOf(10); end >= 0; end = rest.indexOf(10)) {
        lines.push(rest.subarray(0, end));
        rest = rest.subarray(end + 1);
      }
      if (rest.length > maxLineBytes) throw new CheckpointError("a line is longer than any checkpoint.");
      yield { lines, rest };
    }
  } finally {
    await handle.close();
  }
}

function inFile(file: string, error: unknown): unknown {
  if (error instanceof CheckpointError) return new CheckpointError(`${file}: ${error.message}`);
  return isMissing(error) ? new CheckpointError(`${file} is gone.`) : error;
}

function isMissing(error: unknown): boolean {
  return error instanceof Error && "code" in error && error.code === "ENOENT";
}
