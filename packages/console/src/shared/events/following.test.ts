import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { follow, listen, live } from "./following.ts";
import type { TabPorts } from "./tab.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const settle = (ms = 0): Promise<unknown> => vi.advanceTimersByTimeAsync(ms);

/** A page with a stream of its own, which says what the test says. */
function openPage({ isShared = false } = {}) {
  const page = { window: new EventTarget(), document: new EventTarget(), isShown: true };
  const opened: (string | undefined)[] = [];
  let stream: ReadableStreamDefaultController<Uint8Array> | undefined;
  const ports: TabPorts = {
    open(_tenant, cursor, signal) {
      opened.push(cursor);
      const body = new ReadableStream<Uint8Array>({ start: (controller) => void (stream = controller) });
      const mine = stream;
      signal.addEventListener("abort", () => {
        if (stream === mine) stream = undefined;
        mine?.error(new Error("aborted"));
      });
      return Promise.resolve(body);
    },
    // One tab that leads at once, with no other tab to talk to.
    shared: isShared
      ? {
          openChannel: () => ({ post: () => {}, close: () => {} }),
          election: { wait: (lead) => (lead(), () => {}), take: () => () => {} },
        }
      : undefined,
    isShown: () => page.isShown,
    makeId: () => String(Math.random()),
    silenceMs: 45_000,
    retryMs: 2000,
    everyMs: 10_000,
    answerMs: 4000,
  };
  const stop = follow("acme", ports, { ...page, isShown: () => page.isShown });
  const say = (text: string): void => stream?.enqueue(new TextEncoder().encode(text));
  const show = (isShown: boolean): void => {
    page.isShown = isShown;
    page.document.dispatchEvent(new Event("visibilitychange"));
  };
  return { page, opened, say, show, stop, isConnected: () => stream !== undefined };
}

test("it is live while the host was heard of within 45 seconds, and not a second longer", async () => {
  const { say, stop } = openPage();
  expect(live.isOpen.value).toBe(false);
  await settle(10);
  expect(live.isOpen.value).toBe(true);
  await settle(30_000);
  say(":\n\n");
  await settle(44_500);
  expect(live.isOpen.value).toBe(true);
  await settle(1000);
  expect(live.isOpen.value).toBe(false);
  stop();
});

test("after a sleep the page does not claim to be live by what it heard before", async () => {
  const { stop } = openPage();
  await settle(10);
  vi.setSystemTime(Date.now() + 3_600_000);
  await settle(1000);
  expect(live.isOpen.value).toBe(false);
  stop();
});

for (const { name, away, back } of [
  { name: "left with Back in mind", away: ["window", "pagehide"], back: ["window", "pageshow"] },
  { name: "frozen", away: ["document", "freeze"], back: ["document", "resume"] },
] as const) {
  test(`a page that is ${name} has no stream, and continues behind the last event when it is back`, async () => {
    const { page, opened, say, stop, isConnected } = openPage({ isShared: true });
    await settle(10);
    say('id: 0.7\ndata: {"kind":"waiting","count":3}\n\n');
    await settle(10);
    expect(live.waiting.value).toBe(3);
    page[away[0]].dispatchEvent(new Event(away[1]));
    expect([isConnected(), live.isOpen.value]).toEqual([false, false]);
    const before = live.opened.value;
    page[back[0]].dispatchEvent(new Event(back[1]));
    await settle(10);
    expect([opened, live.isOpen.value, live.opened.value]).toEqual([[undefined, "0.7"], true, before + 1]);
    stop();
    expect([isConnected(), live.waiting.value, vi.getTimerCount()]).toEqual([false, undefined, 0]);
  });
}

test("a page that was away for long begins now", async () => {
  const { page, opened, say, stop } = openPage();
  await settle(10);
  say('id: 0.7\ndata: {"kind":"waiting","count":3}\n\n');
  await settle(10);
  page.window.dispatchEvent(new Event("pagehide"));
  await settle(600_000);
  page.window.dispatchEvent(new Event("pageshow"));
  await settle(10);
  expect(opened).toEqual([undefined, undefined]);
  stop();
});

test("a hidden page gives up a stream that no other tab uses, and holds one that others use", async () => {
  const alone = openPage();
  await settle(10);
  alone.show(false);
  expect(alone.isConnected()).toBe(false);
  alone.show(true);
  await settle(10);
  expect(alone.isConnected()).toBe(true);
  alone.stop();
  const shared = openPage({ isShared: true });
  await settle(10);
  shared.show(false);
  await settle(10);
  expect([shared.isConnected(), shared.opened.length]).toEqual([true, 1]);
  shared.stop();
});

test("listeners hear events until they stop listening", async () => {
  const { say, stop } = openPage();
  await settle(10);
  const heard: string[] = [];
  const leave = listen(({ kind }) => void heard.push(kind));
  say('data: {"kind":"waiting","count":3}\n\n');
  await settle(10);
  leave();
  say('data: {"kind":"waiting","count":4}\n\n');
  await settle(10);
  expect([heard, live.waiting.value]).toEqual([["waiting"], 4]);
  stop();
});
