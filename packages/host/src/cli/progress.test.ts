import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { withProgress } from "./progress.ts";

beforeEach(() => void vi.useFakeTimers({ toFake: ["setInterval", "clearInterval", "setTimeout", "performance"] }));
afterEach(() => void vi.useRealTimers());

const clear = "\r\u001b[K";

function terminalOf(isTTY: boolean, columns = 80) {
  const written: string[] = [];
  return { written, isTTY, columns, write: (text: unknown) => written.push(String(text)) > 0 };
}

/** Work that takes so many seconds, and says after each how far it is. */
async function work(seconds: number, report: (far: string) => void): Promise<string> {
  for (let second = 1; second <= seconds; second += 1) {
    await new Promise((resolve) => void setTimeout(resolve, 1000));
    report(`${second} rows`);
  }
  return "done";
}

async function shown(seconds: number, flags: { json?: boolean }, terminal: ReturnType<typeof terminalOf>) {
  const result = withProgress("Verifying acme", (report) => work(seconds, report), flags, terminal);
  await vi.advanceTimersByTimeAsync(seconds * 1000 + 500);
  return { result: await result, written: terminal.written };
}

test("work of less than a second says nothing", async () => {
  const terminal = terminalOf(true);
  expect(await withProgress("Verifying acme", () => Promise.resolve(1), {}, terminal)).toBe(1);
  await vi.advanceTimersByTimeAsync(5000);
  expect(terminal.written).toEqual([]);
});

test("after a second a line says what is done, how far and for how long, and goes when the work ends", async () => {
  expect(await shown(3, {}, terminalOf(true))).toEqual({
    result: "done",
    written: [
      `${clear}Verifying acme ... 1 s`,
      `${clear}Verifying acme ... 1 rows, 2 s`,
      `${clear}Verifying acme ... 2 rows, 3 s`,
      clear,
    ],
  });
});

test("the line fits the terminal", async () => {
  const { written } = await shown(2, {}, terminalOf(true, 12));
  expect(written[0]).toBe(`${clear}Verifyin...`);
});

test("nothing is said when standard error is no terminal, or scripts read the answer", async () => {
  expect((await shown(3, {}, terminalOf(false))).written).toEqual([]);
  expect((await shown(3, { json: true }, terminalOf(true))).written).toEqual([]);
});

test("the line goes when the work fails, and the failure is told", async () => {
  const terminal = terminalOf(true);
  const failing = withProgress(
    "Verifying acme",
    async () => {
      await work(2, () => {});
      throw new Error("broken");
    },
    {},
    terminal,
  );
  const [[told]] = await Promise.all([Promise.allSettled([failing]), vi.advanceTimersByTimeAsync(9000)]);
  expect(told).toMatchObject({ status: "rejected", reason: { message: "broken" } });
  expect(terminal.written.at(-1)).toBe(clear);
  expect(terminal.written).toHaveLength(3);
});
