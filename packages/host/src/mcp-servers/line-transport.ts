import type { Readable, Writable } from "node:stream";
import type { JSONRPCMessage, Transport } from "@modelcontextprotocol/client";
import { createLineReader, type LineLimits } from "./line-reader.ts";
import { createRateLimiter, type RateLimiterOptions } from "./rate-limiter.ts";

/** The streams of a program: what it writes, and what it reads. */
export interface LineStreams {
  output: Readable;
  input: Writable;
}

/** The limits of what a program writes. */
export interface OutputLimits extends LineLimits {
  /** More lines within one second wait for the next second, besides answers that it was asked for. */
  maxLinesPerSecond: number;
}

/**
 * Messages as lines, from a program and to it. A flood of lines is slowed down, and a line that is no JSON is left out. Which
 * messages it may send is checked by the client.
 */
export function createLineTransport(
  { output, input }: LineStreams,
  limits: OutputLimits,
  options: RateLimiterOptions = {},
): Transport {
  const readLines = createLineReader(limits);
  const rate = createRateLimiter(limits.maxLinesPerSecond, options);
  let isClosed = false;

  const pass = (line: Buffer): void => {
    try {
      transport.onmessage?.(JSON.parse(line.toString("utf8")) as JSONRPCMessage);
    } catch (error) {
      transport.onerror?.(error as Error);
    }
  };
  const read = async (chunk: Buffer): Promise<void> => {
    output.pause();
    for (const line of readLines(chunk)) {
      await rate.turn();
      if (!isClosed) pass(line);
    }
    output.resume();
  };
  /** The lines of a chunk are passed on one after the other. The output may end while they are. */
  let reading = Promise.resolve();
  const onData = (chunk: Buffer): void => {
    reading = read(chunk);
  };
  const onError = (error: Error): void => transport.onerror?.(error);
  const onEnd = (): void => void reading.then(() => transport.close());
  const onBroken = (error: Error): void => {
    onError(error);
    onEnd();
  };

  const transport: Transport = {
    async start() {
      // The program may have ended already.
      if (output.readableEnded || output.destroyed) setImmediate(onEnd);
      output.on("data", onData).on("error", onError).on("end", onEnd).on("close", onEnd);
      input.on("error", onBroken);
    },
    send(message) {
      if (isClosed) return Promise.reject(new Error("The connection is closed."));
      if ("method" in message && "id" in message) rate.expect();
      return new Promise((resolve, reject) => {
        // Calls that go on together are written together.
        if (input.writableCorked === 0) {
          input.cork();
          process.nextTick(() => input.uncork());
        }
        input.write(`${JSON.stringify(message)}\n`, (error) => (error ? reject(error) : resolve()));
      });
    },
    async close() {
      if (isClosed) return;
      isClosed = true;
      // What it still writes is read, so that it can end, and left out.
      output.off("data", onData).resume();
      transport.onclose?.();
    },
  };
  return transport;
}
