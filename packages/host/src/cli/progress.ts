import { cutText } from "./text-width.ts";

/** Says how far the work has come, such as `12,000 rows`. */
export type Report = (howFar: string) => void;

/** Where progress is shown: standard error, as far as it matters here. */
type Terminal = Pick<NodeJS.WriteStream, "write"> & { isTTY?: boolean; columns?: number };

const everyMs = 1000;

/**
 * Does some work. When it takes longer than a second, a line on the terminal says what is done, how far it has come and for how
 * long; the line goes when the work ends. Nothing is said where no person reads it: standard error is no terminal, or `--json`.
 */
export async function withProgress<T>(
  what: string,
  work: (report: Report) => Promise<T>,
  { json = false }: { json?: boolean } = {},
  terminal: Terminal = process.stderr,
): Promise<T> {
  if (json || terminal.isTTY !== true) return work(() => {});
  const beganAt = performance.now();
  let far = "";
  let isShown = false;
  const timer = setInterval(() => {
    const seconds = Math.floor((performance.now() - beganAt) / 1000);
    const line = `${what} ... ${far}${far === "" ? "" : ", "}${seconds} s`;
    // In the last column some terminals begin another line.
    terminal.write(`${clearLine}${cutText(line, (terminal.columns ?? 80) - 1)}`);
    isShown = true;
  }, everyMs);
  try {
    return await work((howFar) => (far = howFar));
  } finally {
    clearInterval(timer);
    if (isShown) terminal.write(clearLine);
  }
}

/** Goes to the beginning of the line, and removes what is on it. */
const clearLine = "\r\u001b[K";
