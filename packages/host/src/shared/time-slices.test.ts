import { expect, onTestFinished, test, vi } from "vitest";
import { mapInSlices, runInSlices } from "./time-slices.ts";

/** Occupies the processor for so many milliseconds. */
function work(ms: number): void {
  const end = performance.now() + ms;
  while (performance.now() < end);
}

test("long work lets other work of the process run in between, and keeps the order", async () => {
  const seen: (number | "other work")[] = [];
  setImmediate(() => void seen.push("other work"));
  const doubled = await mapInSlices([1, 2, 3, 4], (item) => {
    seen.push(item);
    work(6);
    return Promise.resolve(item * 2);
  });
  expect(doubled).toEqual([2, 4, 6, 8]);
  expect(seen[0]).toBe(1);
  expect(seen).toContain("other work");
  expect(seen.at(-1)).toBe(4);
});

test("short work is done at once", async () => {
  // However long others have the processor meanwhile.
  const clock = vi.spyOn(performance, "now").mockReturnValue(0);
  onTestFinished(() => clock.mockRestore());
  let isYielded = false;
  setImmediate(() => (isYielded = true));
  expect(await mapInSlices([1, 2, 3], (item) => item + 1)).toEqual([2, 3, 4]);
  expect(isYielded).toBe(false);
});

test("steps that take long let other work of the process run in between", async () => {
  const seen: string[] = [];
  setImmediate(() => void seen.push("other work"));
  function* steps(): Generator<undefined, string> {
    for (let done = 0; done < 40; done += 1) {
      seen.push("step");
      work(1);
      yield;
    }
    return "done";
  }
  expect(await runInSlices(steps())).toBe("done");
  expect(seen.filter((one) => one === "step")).toHaveLength(40);
  expect(seen.at(-1)).toBe("step");
  expect(seen).toContain("other work");
});
