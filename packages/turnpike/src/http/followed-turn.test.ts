import { afterEach, expect, test, vi } from "vitest";
import { requestFor } from "../../test/http.ts";
import {
  eventOf,
  eventsOf,
  journaledWorldOf,
  keyOf,
  resultOf,
  turnRequest,
  type JournaledWorld,
} from "../../test/journaled-turns.ts";
import { listenersOf } from "../../test/turns.ts";
import type { TurnEvent } from "../contracts/index.ts";
import type { TurnJournal } from "../runtime/index.ts";

afterEach(() => {
  vi.useRealTimers();
});

const accept = "text/event-stream";
const start = { method: "POST", path: "/v1/turns", body: turnRequest("turn-1") };
const events = { method: "GET", path: "/v1/turns/turn-1/events" };

function written(event: TurnEvent): string {
  return `event: turn.event\nid: ${event.sequence}\ndata: ${JSON.stringify(event)}\n\n`;
}

/** What a stream says from one event on to the end of the turn. */
function writtenToEnd(from: number, to: number): string {
  const told = eventsOf("turn-1", from, to).map(written);
  return `${told.join("")}event: turn.result\ndata: ${JSON.stringify(resultOf("turn-1", to))}\n\n`;
}

async function startedWorld(options: Parameters<typeof journaledWorldOf>[0] = {}): Promise<JournaledWorld> {
  const world = journaledWorldOf(options);
  await world.handler(requestFor(start, { headers: { prefer: "respond-async" } }));
  return world;
}

/** Follows a turn, chunk by chunk. */
async function followed(
  world: Pick<JournaledWorld, "handler">,
  request: Request = requestFor(events, { headers: { accept } }),
) {
  const response = await world.handler(request);
  if (response.body === null) throw new Error("The answer has no body.");
  const reader = response.body.getReader();
  const read = async (): Promise<string | undefined> => {
    const { done, value } = await reader.read();
    return done ? undefined : new TextDecoder().decode(value);
  };
  return { response, reader, read };
}

test("a turn that has ended is streamed as its events and its result, to the byte", async () => {
  const world = await startedWorld();
  await world.played("turn-1").emit(2);
  await world.played("turn-1").end();
  const response = await world.handler(requestFor(events, { headers: { accept } }));
  expect([response.status, Object.fromEntries(response.headers)]).toEqual([
    200,
    { "cache-control": "no-store", "content-type": "text/event-stream", "x-request-id": "request-1" },
  ]);
  expect(await response.text()).toBe(writtenToEnd(0, 2));
});

for (const after of [-1, 0, 2, 3, 9]) {
  test(`a stream from the cursor ${after} on has every later event once`, async () => {
    const world = await startedWorld();
    await world.played("turn-1").emit(2);
    const header = requestFor(events, { headers: { accept, "last-event-id": String(after) } });
    const query = requestFor({ ...events, path: `${events.path}?after=${after}` }, { headers: { accept } });
    const texts = [header, query].map(async (request) => (await world.handler(request)).text());
    await world.played("turn-1").emit(4);
    await world.played("turn-1").end();
    for (const text of await Promise.all(texts)) {
      // The result has all events, whatever the cursor.
      expect(text).toBe(writtenToEnd(Math.min(after + 1, 4), 4));
    }
  });
}

test("events come as they are stored, also after the turn has waited", async () => {
  const world = await startedWorld();
  const turn = world.played("turn-1");
  const { read } = await followed(world);
  const first = read();
  await turn.emit(1);
  expect(await first).toBe(written(eventOf("turn-1", 0)));
  await turn.wait();
  const second = read();
  await turn.emit(2);
  expect(await second).toBe(written(eventOf("turn-1", 1)));
  await turn.end();
  expect(await read()).toMatch(/^event: turn\.result\n/);
  expect(await read()).toBeUndefined();
});

test("a turn that waits stays open, with a comment every 15 seconds", async () => {
  const world = await startedWorld();
  await world.played("turn-1").wait();
  const { read } = await followed(world);
  vi.useFakeTimers();
  for (let time = 0; time < 3; time += 1) {
    let said: string | undefined;
    const reading = read().then((text) => (said = text));
    await vi.advanceTimersByTimeAsync(14_999);
    expect(said).toBeUndefined();
    await vi.advanceTimersByTimeAsync(1);
    await reading;
    expect(said).toBe(":\n\n");
  }
  const next = read();
  await world.played("turn-1").emit(1);
  expect(await next).toBe(written(eventOf("turn-1", 0)));
  expect(vi.getTimerCount()).toBe(0);
});

test("a caller who goes away after a silence, while the stream is not read, is no failure", async () => {
  const world = await startedWorld();
  const caller = new AbortController();
  const { read } = await followed(world, requestFor(events, { headers: { accept }, signal: caller.signal }));
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  const silence = read();
  await vi.advanceTimersByTimeAsync(15_000);
  expect(await silence).toBe(":\n\n");
  caller.abort(new Error("gone"));
  await settled();
  expect(world.told).toEqual([]);
});

test("closing the stream leaves the turn alone, and ends the reading", async () => {
  let leaves: unknown;
  const journal = spied((signal) => signal.addEventListener("abort", () => (leaves = signal.reason)));
  const world = await startedWorld({ journal: journal.of(() => world.journal) });
  const request = requestFor(events, { headers: { accept } });
  const { reader, read } = await followed(world, request);
  await world.played("turn-1").emit(1);
  await read();
  await reader.cancel("enough");
  expect([leaves, listenersOf(request.signal)]).toEqual(["enough", 0]);
  expect(world.played("turn-1").writer.stop.aborted).toBe(false);
  await world.played("turn-1").end();
  expect(await world.journal.find(keyOf("turn-1"))).toMatchObject({ status: "succeeded" });
  expect(world.told).toEqual([]);
});

test("closing the stream while nothing comes ends the reading", async () => {
  const world = await startedWorld();
  const { reader, read } = await followed(world);
  const reading = read();
  await settled();
  await reader.cancel();
  await settled();
  expect(await reading).toBeUndefined();
  expect(world.told).toEqual([]);
});

for (const isReading of [true, false]) {
  test(`a caller who goes away ends the reading, ${isReading ? "while they wait" : "between two events"}`, async () => {
    const world = await startedWorld();
    const caller = new AbortController();
    const request = requestFor(events, { headers: { accept }, signal: caller.signal });
    const { read } = await followed(world, request);
    await world.played("turn-1").emit(1);
    await read();
    const reading = isReading ? read() : undefined;
    await settled();
    caller.abort(new Error("gone"));
    const outcome = await (reading ?? read()).catch((error: Error) => error.message);
    expect(outcome).toBe(isReading ? "gone" : undefined);
    expect(world.told).toEqual([]);
    expect(world.played("turn-1").writer.stop.aborted).toBe(false);
    expect(listenersOf(request.signal)).toBe(0);
  });
}

test("a caller who went away before the stream began follows nothing", async () => {
  const world = await startedWorld();
  const request = requestFor(events, { headers: { accept }, signal: AbortSignal.abort(new Error("gone")) });
  const { read } = await followed(world, request);
  expect(await read()).toBeUndefined();
  expect(world.told).toEqual([]);
});

test("a reader who stops reading takes no more out of the journal", async () => {
  let taken = 0;
  const world = await startedWorld({
    journal: spied(
      () => {},
      () => (taken += 1),
    ).of(() => world.journal),
  });
  await world.played("turn-1").emit(1000);
  const { read } = await followed(world);
  await read();
  await read();
  // Time enough for a client that reads ahead.
  await settled();
  expect(taken).toBe(2);
});

test("a journal that breaks in the middle breaks the stream, and the host is told once", async () => {
  const broken = new Error("The disk is full.");
  const world = await startedWorld({
    journal: spied(
      () => {},
      () => {
        throw broken;
      },
    ).of(() => world.journal),
  });
  await world.played("turn-1").emit(1);
  const request = requestFor(events, { headers: { accept } });
  const { read } = await followed(world, request);
  await expect(read()).rejects.toBe(broken);
  expect(listenersOf(request.signal)).toBe(0);
  expect(world.told.map(({ error }) => error)).toEqual([broken]);
});

test("a stream whose events end before the turn ends without a result, so that its reader asks again", async () => {
  const world = await startedWorld({
    journal: {
      ...spied(() => {}).of(() => world.journal),
      async *follow() {},
    },
  });
  const { read } = await followed(world);
  expect(await read()).toBeUndefined();
});

test("a turn that is started without its caller and streamed survives its connection", async () => {
  const world = journaledWorldOf();
  const caller = new AbortController();
  const headers = { accept, prefer: "respond-async" };
  const { response, read, reader } = await followed(world, requestFor(start, { headers, signal: caller.signal }));
  expect([response.status, Object.fromEntries(response.headers)]).toEqual([
    200,
    {
      "cache-control": "no-store",
      "content-type": "text/event-stream",
      "x-request-id": "request-1",
      location: "/v1/turns/turn-1",
      "preference-applied": "respond-async",
    },
  ]);
  const turn = world.played("turn-1");
  await turn.emit(1);
  expect(await read()).toBe(written(eventOf("turn-1", 0)));
  await reader.cancel();
  caller.abort();
  expect([turn.options.signal, turn.writer.stop.aborted]).toEqual([undefined, false]);
  await turn.emit(2);
  await turn.end();
  const again = await world.handler(requestFor(events, { headers: { accept, "last-event-id": "0" } }));
  expect(await again.text()).toBe(writtenToEnd(1, 2));
});

/** Everything that can continue by itself has done so. */
async function settled(): Promise<void> {
  for (let turn = 0; turn < 20; turn += 1) await new Promise((resolve) => setImmediate(resolve));
}

/** A journal that shows who follows, and each event that is taken out of it. */
function spied(onFollow: (signal: AbortSignal) => void, onTake: () => void = () => {}) {
  return {
    of: (journal: () => TurnJournal): TurnJournal => ({
      begin: (turn, call) => journal().begin(turn, call),
      find: (key) => journal().find(key),
      list: (owner, filter) => journal().list(owner, filter),
      events: (key, after) => journal().events(key, after),
      cancel: (key) => journal().cancel(key),
      async *follow(key, after, signal) {
        onFollow(signal);
        for await (const event of journal().follow(key, after, signal)) {
          onTake();
          yield event;
        }
      },
    }),
  };
}
