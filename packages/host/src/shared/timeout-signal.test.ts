import { setTimeout as delay } from "node:timers/promises";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect, test } from "vitest";
import { timeoutSignal } from "./timeout-signal.ts";

test("a time that is one of several reasons to abort ends also after garbage was collected", async () => {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as () => void;
  const leaving = new AbortController();
  const aborted = new Promise<unknown>((resolve) => {
    const signal = AbortSignal.any([leaving.signal, timeoutSignal(200)]);
    signal.addEventListener("abort", () => resolve(signal.reason));
  });
  for (let times = 0; times < 5; times += 1) {
    await delay(5);
    collect();
  }
  expect(await aborted).toMatchObject({ name: "TimeoutError" });
});
