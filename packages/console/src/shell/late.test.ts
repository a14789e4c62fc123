import { expect, test } from "vitest";
import { openPage, renderHook, settle } from "../../test/page.ts";

async function openLate(isOpen: boolean) {
  openPage();
  const { useLate } = await import("./late.ts");
  return renderHook(useLate, isOpen);
}

test("a page whose stream is opened within four seconds says nothing", async () => {
  const { outputs, show } = await openLate(false);
  await settle(3000);
  await show(true);
  await settle(60_000);
  expect(outputs).not.toContain(true);
});

test("a page whose stream stays closed says so after four seconds, and no longer when it is open", async () => {
  const { now, outputs, show } = await openLate(false);
  await settle(3500);
  expect(now()).toBe(false);
  await settle(500);
  expect(now()).toBe(true);
  const before = outputs.length;
  await show(true);
  expect(outputs.slice(before)).not.toContain(true);
});

test("a stream that closes briefly each minute is not told of, however often", async () => {
  const { outputs, show } = await openLate(true);
  for (let round = 0; round < 5; round += 1) {
    await show(false);
    await settle(2000);
    await show(true);
    await settle(60_000);
  }
  expect(outputs).not.toContain(true);
});

test("a page that was late once has four seconds again the next time", async () => {
  const { now, show } = await openLate(false);
  await settle(5000);
  expect(now()).toBe(true);
  await show(true);
  await show(false);
  expect(now()).toBe(false);
  await settle(4000);
  expect(now()).toBe(true);
});
