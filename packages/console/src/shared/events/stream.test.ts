import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { AdminClientError } from "turnpike-host/admin-contract/call";
import { holdStream } from "./stream.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

interface Opened {
  cursor: string | undefined;
  say(text: string): void;
  end(): void;
}

/** A host in memory: it notes who opens, and says what the test says. */
function openHost(refusals: (Error | undefined)[] = []) {
  const opened: Opened[] = [];
  const told: string[] = [];
  const encoder = new TextEncoder();
  const open = (_tenant: string, cursor: string | undefined, signal: AbortSignal) => {
    const refusal = refusals.shift();
    if (refusal !== undefined) return Promise.reject(refusal);
    let controller!: ReadableStreamDefaultController<Uint8Array>;
    const body = new ReadableStream<Uint8Array>({ start: (one) => void (controller = one) });
    const end = (): void => {
      try {
        controller.close();
      } catch {
        // It is closed already.
      }
    };
    signal.addEventListener("abort", () => {
      told.push("aborted");
      try {
        controller.error(new Error("aborted"));
      } catch {
        // It is closed already.
      }
    });
    opened.push({ cursor, say: (text) => controller.enqueue(encoder.encode(text)), end });
    return Promise.resolve(body);
  };
  const stream = holdStream(
    "acme",
    undefined,
    { open, silenceMs: 45_000, retryMs: 2000 },
    {
      onOpen: () => void told.push("open"),
      onHeard: () => void told.push("heard"),
      onEvent: (event) => void told.push(event.kind),
      onClosed: () => void told.push("closed"),
      onAhead: () => void told.push("ahead"),
    },
  );
  return { opened, told, stream };
}

const settle = (): Promise<unknown> => vi.advanceTimersByTimeAsync(0);

test("a stream that ends is opened again behind the last event that had an id", async () => {
  const { opened, told, stream } = openHost();
  await settle();
  opened[0]?.say('id: 0.7\ndata: {"kind":"waiting","count":1}\n\n');
  await settle();
  expect([told, stream.cursor]).toEqual([["open", "heard", "waiting"], "0.7"]);
  opened[0]?.end();
  await settle();
  expect([told.at(-1), opened.length, stream.heardAt]).toEqual(["closed", 1, undefined]);
  await vi.advanceTimersByTimeAsync(2000);
  expect(opened.map(({ cursor }) => cursor)).toEqual([undefined, "0.7"]);
});

test("a host that says nothing for 45 seconds is not there; a comment is enough to say", async () => {
  const { opened, told } = openHost();
  await settle();
  await vi.advanceTimersByTimeAsync(44_000);
  opened[0]?.say(":\n\n");
  await vi.advanceTimersByTimeAsync(44_000);
  expect(told).toEqual(["open", "heard"]);
  await vi.advanceTimersByTimeAsync(1000);
  expect(told).toEqual(["open", "heard", "aborted", "closed"]);
  await vi.advanceTimersByTimeAsync(2000);
  expect(opened).toHaveLength(2);
});

test("a stream that is refused is tried again", async () => {
  const { opened, told } = openHost([new AdminClientError("rate_limited", "later", { status: 429 })]);
  await settle();
  expect(told).toEqual(["closed"]);
  await vi.advanceTimersByTimeAsync(2000);
  expect([opened.length, told.at(-1)]).toEqual([1, "open"]);
});

test("a cursor that the audit log does not reach any more is given up, not asked for again", async () => {
  const { opened, told } = openHost([undefined, new AdminClientError("invalid_request", "ahead", { status: 400 })]);
  await settle();
  opened[0]?.say('id: 0.7\ndata: {"kind":"waiting","count":1}\n\n');
  await settle();
  opened[0]?.end();
  await vi.advanceTimersByTimeAsync(20_000);
  expect([told.at(-1), opened.length]).toEqual(["ahead", 1]);
});

test("a stream that is closed lets go of its connection, and says nothing more", async () => {
  const { opened, told, stream } = openHost();
  await settle();
  stream.close();
  await vi.advanceTimersByTimeAsync(100_000);
  expect([told, opened.length, vi.getTimerCount()]).toEqual([["open", "aborted"], 1, 0]);
});
