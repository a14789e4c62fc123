import { constants, fstatSync, openSync, writeSync } from "node:fs";

/** Writes lines, and never waits for their reader. */
export interface LineWriter {
  /** Lines of one tick of the event loop are written together, when the tick is over. */
  write(line: string): void;
  /** Writes what waits, as far as it is taken now. */
  flush(): void;
  /** How many lines were not written, because the reader did not take them or the disk was full. */
  readonly dropped: number;
}

/** About a thousand lines wait for a reader that pauses. */
const mostWaiting = 262_144;
const retryMs = 100;

/**
 * Writes to a descriptor that is opened with the first line. Lines that the reader does not take now wait, and further ones are
 * dropped while too many wait. Lines that cannot be written at all are dropped: the disk is full, or the reader has gone.
 * `onRecovered` is told how many when a write succeeds again.
 */
export function createLineWriter(open: () => number, onRecovered: (lines: number) => void = () => {}): LineWriter {
  let fd: number | undefined;
  let waiting: string[] = [];
  let waitingLength = 0;
  /** What was begun to be written and not taken whole. */
  let rest = Buffer.alloc(0);
  let isDue = false;
  /** Whether the output ends in the middle of a line whose rest was dropped. */
  let isTorn = false;
  let dropped = 0;
  let reported = 0;

  const take = (): void => {
    if (rest.length > 0 || waiting.length === 0) return;
    rest = Buffer.from(`${isTorn ? "\n" : ""}${waiting.join("")}`);
    waiting = [];
    waitingLength = 0;
  };
  const flush = (): void => {
    isDue = false;
    for (take(); rest.length > 0; take()) {
      let written = 0;
      try {
        written = writeSync((fd ??= open()), rest);
        isTorn = rest[written - 1] !== newline;
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code === "EAGAIN") return later();
        dropped += linesIn(rest);
        rest = Buffer.alloc(0);
        return;
      }
      rest = rest.subarray(written);
    }
    isTorn = false;
    if (dropped === reported) return;
    const lines = dropped - reported;
    reported = dropped;
    onRecovered(lines);
  };
  const later = (): void => {
    if (isDue) return;
    isDue = true;
    setTimeout(flush, retryMs).unref();
  };
  return {
    flush,
    get dropped() {
      return dropped;
    },
    write(line) {
      if (waitingLength + line.length > mostWaiting) return void (dropped += 1);
      waiting.push(line);
      waitingLength += line.length;
      if (isDue) return;
      isDue = true;
      setImmediate(flush);
    },
  };
}

const newline = 10;

function linesIn(text: Buffer): number {
  let lines = 0;
  for (let at = text.indexOf(newline); at >= 0; at = text.indexOf(newline, at + 1)) lines += 1;
  return lines;
}

/**
 * Standard error, as a descriptor whose writes fail instead of waiting. A pipe or a terminal is opened once more, so that it is as
 * before for others who have it. Where that is not possible, as with a socket, Node's own stream makes the descriptor so.
 */
export function openStandardError(): number {
  const own = 2;
  try {
    if (fstatSync(own).isFile()) return own;
    const { O_WRONLY, O_NONBLOCK, O_NOCTTY } = constants;
    return openSync(`/proc/self/fd/${own}`, O_WRONLY | O_NONBLOCK | O_NOCTTY);
  } catch {
    void process.stderr;
    return own;
  }
}
