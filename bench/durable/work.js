// What the processes of both sides do alike.
import { appendFileSync } from "node:fs";

/** Answers each order that comes from the benchmark, by its name, and says first that it can. */
export function answerOrders(orders) {
  process.on("message", async ({ number, order, ...input }) => {
    try {
      process.send({ number, answer: await orders[order](input) });
    } catch (error) {
      process.send({ number, failure: String(error?.stack ?? error) });
    }
    if (order === "close") process.exit(0);
  });
  process.send({ isReady: true });
}

/** Processor time of this process and time by the clock that some work takes, in microseconds. */
export async function measureCpu(work) {
  const before = process.cpuUsage();
  const start = performance.now();
  await work();
  const { user, system } = process.cpuUsage(before);
  return { cpuMicros: user + system, micros: (performance.now() - start) * 1000 };
}

/** Appends a line to a file. Told to hang before or after it, it says that it is there and never ends. */
export async function appendLine(file, line, hangs) {
  if (hangs === "before") await hang(line);
  appendFileSync(file, `${line}\n`);
  if (hangs === "after") await hang(line);
  return line;
}

function hang(line) {
  process.send({ hangs: line });
  return new Promise(() => {});
}

/** What this process has in memory once nothing is left to collect, in bytes. */
export function memoryNow() {
  globalThis.gc();
  globalThis.gc();
  const { rss, heapUsed } = process.memoryUsage();
  return { rss, heapUsed };
}
