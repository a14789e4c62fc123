import type { ReadableSpan, SpanExporter, SpanProcessor } from "@opentelemetry/sdk-trace-base";

/** Where spans wait for the collector. */
export interface SpanQueueOptions {
  exporter: SpanExporter;
  /** How many wait at most. Those that find no room are dropped. */
  maxWaiting: number;
  maxBatch: number;
  delayMs: number;
  /** How long to wait for the collector to accept a batch. */
  sendMs: number;
  onDropped(count: number): void;
  /** Called once when the collector stops accepting spans, and again only after it has accepted some. */
  onUnreachable(error: unknown): void;
}

/** How long sending the remaining spans may take when the host stops. */
export const lastFlushMs = 5_000;

const sampled = 1;

/** Sends spans in batches, one at a time. No call waits for it: spans are dropped when the queue is full or no collector answers. */
export function createSpanQueue(options: SpanQueueOptions): SpanProcessor {
  const { exporter, maxWaiting, maxBatch, delayMs, sendMs } = options;
  const waiting: ReadableSpan[] = [];
  let timer: NodeJS.Timeout | undefined;
  let sending: Promise<void> | undefined;
  let isReachable = true;
  let isClosed = false;

  const send = async (batch: ReadableSpan[]): Promise<void> => {
    let late: NodeJS.Timeout | undefined;
    const { code, error } = await new Promise<{ code: number; error?: Error }>((resolve) => {
      late = setTimeout(() => resolve({ code: 1, error: new Error("The collector takes too long.") }), sendMs).unref();
      try {
        exporter.export(batch, resolve);
      } catch (cause) {
        resolve({ code: 1, error: cause as Error });
      }
    });
    clearTimeout(late);
    if (code === 0) {
      isReachable = true;
      return;
    }
    options.onDropped(batch.length);
    if (isReachable) options.onUnreachable(error);
    isReachable = false;
  };
  const sendAll = async (): Promise<void> => {
    while (waiting.length > 0) await send(waiting.splice(0, maxBatch));
    sending = undefined;
  };
  const wake = (): void => {
    clearTimeout(timer);
    timer = undefined;
    sending ??= sendAll();
  };
  const flush = async (): Promise<void> => {
    wake();
    await sending;
  };

  return {
    onStart() {},
    onEnd(span) {
      if ((span.spanContext().traceFlags & sampled) === 0) return;
      if (isClosed || waiting.length >= maxWaiting) return options.onDropped(1);
      waiting.push(span);
      if (waiting.length >= maxBatch) wake();
      else timer ??= setTimeout(wake, delayMs).unref();
    },
    forceFlush: flush,
    async shutdown() {
      isClosed = true;
      let late: NodeJS.Timeout | undefined;
      const deadline = new Promise<void>((resolve) => (late = setTimeout(resolve, lastFlushMs)));
      await Promise.race([flush(), deadline]);
      clearTimeout(late);
      const left = waiting.splice(0).length;
      if (left > 0) options.onDropped(left);
      // A request that is under way would only end with its own time limit.
      void exporter.shutdown().catch(() => {});
    },
  };
}
