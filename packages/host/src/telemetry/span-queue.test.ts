import type { ReadableSpan, SpanExporter } from "@opentelemetry/sdk-trace-base";
import { expect, onTestFinished, test, vi } from "vitest";
import { createSpanQueue, type SpanQueueOptions } from "./span-queue.ts";

type Answer = Parameters<SpanExporter["export"]>[1];

function span(name: string, traceFlags = 1): ReadableSpan {
  return { name, spanContext: () => ({ traceId: "1", spanId: "1", traceFlags }) } as ReadableSpan;
}

/** A queue of four in batches of two, whose collector answers when the test says so. */
function openQueue(changes: Partial<SpanQueueOptions> = {}) {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const batches: string[][] = [];
  const answers: Answer[] = [];
  const unreachable: unknown[] = [];
  let dropped = 0;
  const exporter: SpanExporter = {
    export(spans, answer) {
      batches.push(spans.map(({ name }) => name));
      answers.push(answer);
    },
    shutdown: () => Promise.resolve(),
  };
  const queue = createSpanQueue({
    exporter,
    maxWaiting: 4,
    maxBatch: 2,
    delayMs: 1000,
    sendMs: 60_000,
    onDropped: (count) => void (dropped += count),
    onUnreachable: (error) => void unreachable.push(error),
    ...changes,
  });
  const answer = async (code: number): Promise<void> => {
    answers.shift()?.({ code, ...(code === 1 && { error: new Error("refused") }) });
    await vi.advanceTimersByTimeAsync(0);
  };
  return { queue, batches, answer, unreachable, dropped: () => dropped };
}

test("a batch goes when it is full, and a smaller one after a while", async () => {
  const { queue, batches, answer } = openQueue();
  queue.onEnd(span("a"));
  expect(batches).toEqual([]);
  queue.onEnd(span("b"));
  expect(batches).toEqual([["a", "b"]]);
  await answer(0);
  queue.onEnd(span("c"));
  await vi.advanceTimersByTimeAsync(999);
  expect(batches).toHaveLength(1);
  await vi.advanceTimersByTimeAsync(1);
  expect(batches).toEqual([["a", "b"], ["c"]]);
});

test("while the collector is slow four wait, the next ones are dropped and counted, and no call waits", async () => {
  const { queue, batches, answer, dropped, unreachable } = openQueue();
  for (const name of "abcdefgh") queue.onEnd(span(name));
  expect([batches, dropped()]).toEqual([[["a", "b"]], 2]);
  await answer(0);
  await answer(0);
  await answer(0);
  expect(batches).toEqual([
    ["a", "b"],
    ["c", "d"],
    ["e", "f"],
  ]);
  expect([dropped(), unreachable]).toEqual([2, []]);
});

test("spans that are not sampled are not sent", async () => {
  const { queue, batches, dropped } = openQueue();
  queue.onEnd(span("a", 0));
  queue.onEnd(span("b", 0));
  await vi.advanceTimersByTimeAsync(1000);
  expect([batches, dropped()]).toEqual([[], 0]);
});

test("a collector that does not take spans is told of once, and again after it took some", async () => {
  const { queue, answer, dropped, unreachable } = openQueue();
  for (const [code, lines] of [
    [1, 1],
    [1, 1],
    [0, 1],
    [1, 2],
  ] as const) {
    queue.onEnd(span("a"));
    queue.onEnd(span("b"));
    await answer(code);
    expect(unreachable).toHaveLength(lines);
  }
  expect(dropped()).toBe(6);
});

test("an exporter that throws costs its batch and nothing else", async () => {
  const exporter: SpanExporter = {
    export() {
      throw new Error("broken");
    },
    shutdown: () => Promise.reject(new Error("broken too")),
  };
  const { queue, dropped, unreachable } = openQueue({ exporter });
  queue.onEnd(span("a"));
  queue.onEnd(span("b"));
  await vi.advanceTimersByTimeAsync(0);
  expect([dropped(), unreachable]).toHaveLength(2);
  await queue.shutdown();
  expect(dropped()).toBe(2);
});

test("what is left is sent when the host stops, and what comes later is dropped", async () => {
  const { queue, batches, answer, dropped } = openQueue();
  queue.onEnd(span("a"));
  const stopping = queue.shutdown();
  expect(batches).toEqual([["a"]]);
  await answer(0);
  await stopping;
  queue.onEnd(span("b"));
  expect([batches.length, dropped()]).toEqual([1, 1]);
});

test("a collector that does not answer holds a host that stops for five seconds", async () => {
  const { queue, dropped } = openQueue();
  for (const name of "abcd") queue.onEnd(span(name));
  let isStopped = false;
  const stopping = queue.shutdown().then(() => (isStopped = true));
  await vi.advanceTimersByTimeAsync(4999);
  expect(isStopped).toBe(false);
  await vi.advanceTimersByTimeAsync(1);
  await stopping;
  // Two are under way, and what becomes of them is unknown.
  expect(dropped()).toBe(2);
});

test("a batch that is never answered is dropped after its time, and the next one goes", async () => {
  const { queue, batches, dropped, unreachable } = openQueue();
  for (const name of "abcd") queue.onEnd(span(name));
  await vi.advanceTimersByTimeAsync(59_999);
  expect([batches.length, dropped()]).toEqual([1, 0]);
  await vi.advanceTimersByTimeAsync(1);
  expect([batches.length, dropped(), unreachable.length]).toEqual([2, 2, 1]);
});
