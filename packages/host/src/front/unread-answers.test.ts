import type { Socket } from "node:net";
import { afterEach, beforeEach, expect, onTestFinished, test, vi } from "vitest";
import { cutOffIdleReaders } from "./unread-answers.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** A socket with so many bytes unread, and the limits that were set on it. */
function watch({ unread = 0, isAnswering = true } = {}) {
  const limits: number[] = [];
  const socket = { writableLength: unread, setTimeout: (ms: number) => void limits.push(ms) };
  onTestFinished(
    cutOffIdleReaders({
      sockets: new Set([socket as unknown as Socket]),
      isAnswering: () => isAnswering,
      silentMs: 1000,
      unreadMs: 100,
    }),
  );
  return { socket, limits };
}

test("a socket on which nothing is unread retains its limit", () => {
  const { limits } = watch();
  vi.advanceTimersByTime(500);
  expect(limits).toEqual([]);
});

test("a socket on which something is unread gets the short limit once, which runs on however often it is checked", () => {
  const { limits } = watch({ unread: 1 });
  vi.advanceTimersByTime(500);
  expect(limits).toEqual([100]);
});

test("a reader who has caught up may be silent while an answer is still sent", () => {
  const { socket, limits } = watch({ unread: 1 });
  vi.advanceTimersByTime(25);
  socket.writableLength = 0;
  vi.advanceTimersByTime(50);
  expect(limits).toEqual([100, 1000]);
  socket.writableLength = 1;
  vi.advanceTimersByTime(25);
  expect(limits).toEqual([100, 1000, 100]);
});

test("the limit of a connection that waits for its next request is left alone", () => {
  const { socket, limits } = watch({ unread: 1, isAnswering: false });
  vi.advanceTimersByTime(25);
  socket.writableLength = 0;
  vi.advanceTimersByTime(50);
  expect(limits).toEqual([100]);
});
