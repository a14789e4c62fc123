import { expect, onTestFinished, test, vi } from "vitest";
import { createReadiness } from "./readiness.ts";

/** A check whose clock is stopped, and its writes, which wait to be ended. */
function world() {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
  onTestFinished(() => void vi.useRealTimers());
  const writes: { resolve(): void; reject(error: Error): void }[] = [];
  const check = createReadiness(() => new Promise((resolve, reject) => void writes.push({ resolve, reject })));
  return { check, writes, pass: (ms: number) => vi.advanceTimersByTimeAsync(ms) };
}

/** How a check ended in the time that passed: why it failed, or that it did not end. */
async function during(check: Promise<void>, time: Promise<unknown>): Promise<string> {
  let ended = "not answered";
  void check.then(
    () => (ended = "ready"),
    (error: Error) => (ended = error.message),
  );
  await time;
  return ended;
}

const late = "The database did not take a write in time.";

test("a write that is taken is ready, and one that fails is not", async () => {
  const { check, writes, pass } = world();
  const good = check();
  writes[0]?.resolve();
  await good;
  await pass(500);
  const bad = check();
  writes[1]?.reject(new Error("full"));
  await expect(bad).rejects.toThrow("full");
});

test("a write that hangs is answered within two seconds, then at once, and is not followed by another one", async () => {
  const { check, writes, pass } = world();
  expect(await during(check(), pass(2000))).toBe(late);
  expect(await during(check(), pass(0))).toBe(late);
  await pass(600_000);
  expect(await during(check(), pass(0))).toBe(late);
  expect(writes).toHaveLength(1);
});

test("once the write that hung is through, the host is ready again", async () => {
  const { check, writes, pass } = world();
  expect(await during(check(), pass(2000))).toBe(late);
  writes[0]?.resolve();
  await pass(0);
  await check();
  expect(writes).toHaveLength(1);
});

for (const outcome of ["taken", "refused"] as const) {
  test(`requests at the same time, or just after, share one write that was ${outcome}`, async () => {
    const { check, writes, pass } = world();
    const asked = Promise.allSettled([check(), check(), check()]);
    if (outcome === "taken") writes[0]?.resolve();
    else writes[0]?.reject(new Error("full"));
    await asked;
    await pass(499);
    const status = outcome === "taken" ? "fulfilled" : "rejected";
    expect((await Promise.allSettled([asked, check()]))[1]).toMatchObject({ status });
    expect(writes).toHaveLength(1);
    await pass(1);
    void check().catch(() => {});
    expect(writes).toHaveLength(2);
  });
}
