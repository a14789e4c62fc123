import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { requestFor } from "../../test/http.ts";
import { rejection } from "../../test/deployment.ts";
import { eventOf, journaledWorldOf, resultOf, turnRequest } from "../../test/journaled-turns.ts";
import { listenersOf } from "../../test/turns.ts";
import type { TurnEvent } from "../contracts/index.ts";
import { createServiceClient } from "./client.ts";
import { ServiceClientError } from "./service-client-error.ts";

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  // The longest of the pauses that chance may choose.
  vi.spyOn(Math, "random").mockReturnValue(1);
});
afterEach(() => {
  // In this order: what was spied on in between is a timer of the test's, and would come back behind the real one.
  vi.restoreAllMocks();
  vi.useRealTimers();
});

const streamType = "text/event-stream";

/** What one connection says: these events, then the result, a break, a clean end too early, or nothing more. */
interface Script {
  events: number[];
  last: "result" | "break" | "end" | "silence";
}

/** A service that says what each connection in turn is to say; a number is an error of that status. */
function scripted(...connections: (Script | number | "unreachable" | "nonsense" | "nothing")[]) {
  const asked: { url: string; headers: Headers }[] = [];
  const cancelled: unknown[] = [];
  const fetch: typeof globalThis.fetch = (input, init) => {
    asked.push({ url: String(input), headers: new Headers(init?.headers) });
    const next = connections.shift() ?? "unreachable";
    if (next === "unreachable") return Promise.reject(new TypeError("fetch failed"));
    if (next === "nothing") return Promise.resolve(new Response(null, { headers: { "content-type": streamType } }));
    if (next === "nonsense") return Promise.resolve(new Response("{}", { status: 200 }));
    if (typeof next === "number") return Promise.resolve(refusal(next));
    return Promise.resolve(streamOf(next, (reason) => cancelled.push(reason)));
  };
  const client = createServiceClient({ baseUrl: "http://service.test", fetch });
  const cursors = () => asked.map(({ headers }) => headers.get("last-event-id"));
  return { client, asked, cursors, cancelled };
}

function refusal(status: number): Response {
  const error = { code: "some_code", message: "No.", requestId: "request-1" };
  return Response.json({ error }, { status, headers: [429, 503].includes(status) ? { "retry-after": "20" } : {} });
}

function streamOf({ events, last }: Script, onCancel: (reason: unknown) => void): Response {
  const texts = events.map((sequence) => `event: turn.event\ndata: ${JSON.stringify(eventOf("turn-1", sequence))}\n\n`);
  if (last === "result") texts.push(`event: turn.result\ndata: ${JSON.stringify(resultOf("turn-1", 1))}\n\n`);
  const body = new ReadableStream<Uint8Array>(
    {
      pull(stream) {
        const text = texts.shift();
        if (text !== undefined) return stream.enqueue(new TextEncoder().encode(text));
        if (last === "silence") return new Promise(() => {});
        if (last === "break") return stream.error(new Error("connection reset"));
        stream.close();
      },
      cancel: onCancel,
    },
    { highWaterMark: 0 },
  );
  return new Response(body, { headers: { "content-type": streamType } });
}

/** Reads to the end, passing over the pauses; their lengths are counted. */
async function readAll(events: AsyncIterable<TurnEvent>): Promise<{ sequences: number[]; error: unknown }> {
  const sequences: number[] = [];
  let error: unknown;
  const progress = { isDone: false };
  const reading = (async () => {
    for await (const { sequence } of events) sequences.push(sequence);
  })()
    .catch((reason: unknown) => (error = reason))
    .finally(() => (progress.isDone = true));
  while (!progress.isDone) await vi.advanceTimersToNextTimerAsync();
  await reading;
  return { sequences, error };
}

describe("following a turn", () => {
  test("asks for the stream of its events, and gives them to its end", async () => {
    const { client, asked } = scripted({ events: [0, 1, 2], last: "result" });
    expect(await readAll(client.turnEvents("a/b ä"))).toEqual({ sequences: [0, 1, 2], error: undefined });
    expect(asked.map(({ url }) => url)).toEqual(["http://service.test/v1/turns/a%2Fb%20%C3%A4/events"]);
    expect(asked[0]?.headers.get("accept")).toBe("text/event-stream");
    expect(asked[0]?.headers.get("last-event-id")).toBe("-1");
    expect(vi.getTimerCount()).toBe(0);
  });

  test("begins behind the event that was seen last", async () => {
    const { client, cursors } = scripted({ events: [5], last: "result" });
    expect((await readAll(client.turnEvents("turn-1", { after: 4 }))).sequences).toEqual([5]);
    expect(cursors()).toEqual(["4"]);
  });

  test("continues behind the last event when a connection breaks, ends early or cannot be made", async () => {
    const { client, cursors } = scripted(
      { events: [0, 1], last: "break" },
      "unreachable",
      500,
      { events: [2], last: "end" },
      502,
      { events: [3], last: "result" },
    );
    expect(await readAll(client.turnEvents("turn-1"))).toEqual({ sequences: [0, 1, 2, 3], error: undefined });
    expect(cursors()).toEqual(["-1", "1", "1", "1", "2", "2"]);
  });

  test("gives no event twice, whatever the service sends", async () => {
    const { client } = scripted({ events: [0, 1], last: "break" }, { events: [0, 1, 2], last: "result" });
    expect((await readAll(client.turnEvents("turn-1"))).sequences).toEqual([0, 1, 2]);
  });

  test("a connection that is silent for 45 seconds is dead", async () => {
    const { client, cursors, cancelled } = scripted({ events: [0], last: "silence" }, { events: [1], last: "result" });
    const events = client.turnEvents("turn-1")[Symbol.asyncIterator]();
    await events.next();
    const next = events.next();
    await vi.advanceTimersByTimeAsync(44_999);
    expect(cursors()).toEqual(["-1"]);
    await vi.advanceTimersByTimeAsync(1 + 250);
    expect((await next).value).toMatchObject({ sequence: 1 });
    expect([cursors(), cancelled.length]).toEqual([["-1", "0"], 1]);
  });

  test("pauses longer each time, up to 15 seconds, and briefly again once something came", async () => {
    const waits: number[] = [];
    const real = setTimeout;
    vi.spyOn(globalThis, "setTimeout").mockImplementation(((run: () => void, ms: number) => {
      if (ms !== 45_000) waits.push(ms);
      return real(run, ms);
    }) as typeof setTimeout);
    const down = Array.from({ length: 8 }, () => "unreachable" as const);
    const { client } = scripted(...down, { events: [0], last: "break" }, 500, { events: [], last: "result" });
    await readAll(client.turnEvents("turn-1"));
    expect(waits).toEqual([250, 500, 1000, 2000, 4000, 8000, 15_000, 15_000, 250, 500]);
  });

  for (const status of [429, 503])
    test(`waits for as long as the service says with ${status}`, async () => {
      const { client, cursors } = scripted(status, { events: [0], last: "result" });
      const next = client.turnEvents("turn-1")[Symbol.asyncIterator]().next();
      await vi.advanceTimersByTimeAsync(19_999);
      expect(cursors()).toHaveLength(1);
      await vi.advanceTimersByTimeAsync(1);
      expect((await next).value).toMatchObject({ sequence: 0 });
    });

  for (const status of [400, 401, 403, 404, 409]) {
    test(`gives up when the service answers ${status}`, async () => {
      const { client, cursors } = scripted({ events: [0], last: "break" }, status, { events: [1], last: "result" });
      const { sequences, error } = await readAll(client.turnEvents("turn-1"));
      expect([sequences, cursors().length]).toEqual([[0], 2]);
      expect(error).toBeInstanceOf(ServiceClientError);
      expect(error).toMatchObject({ status, code: "some_code" });
    });
  }

  for (const answer of ["nonsense", "nothing"] as const) {
    test(`gives up when the service answers with ${answer} instead of a stream`, async () => {
      const { client } = scripted(answer, { events: [1], last: "result" });
      const { error } = await readAll(client.turnEvents("turn-1"));
      expect(error).toMatchObject({ status: 200, code: "invalid_response" });
    });
  }

  test("a signal ends it, in a pause and while it waits", async () => {
    for (const connection of ["unreachable", { events: [], last: "silence" }] as const) {
      const leaving = new AbortController();
      const { client } = scripted(connection === "unreachable" ? connection : { events: [], last: "silence" });
      const next = rejection(client.turnEvents("turn-1", { signal: leaving.signal })[Symbol.asyncIterator]().next());
      await vi.advanceTimersByTimeAsync(10);
      const reason = new Error("enough");
      leaving.abort(reason);
      if (connection !== "unreachable") await vi.advanceTimersByTimeAsync(45_000);
      expect(await next).toBe(reason);
      expect([listenersOf(leaving.signal), vi.getTimerCount()]).toEqual([0, 0]);
    }
  });

  test("a signal that has fired already sends nothing", async () => {
    const { client, asked } = scripted({ events: [0], last: "result" });
    const reason = new Error("enough");
    const events = client.turnEvents("turn-1", { signal: AbortSignal.abort(reason) });
    expect(await rejection(events[Symbol.asyncIterator]().next())).toBe(reason);
    expect(asked).toEqual([]);
  });

  test("leaving the loop closes the connection and asks for nothing else", async () => {
    const { client, asked, cancelled } = scripted({ events: [0, 1], last: "silence" });
    for await (const event of client.turnEvents("turn-1")) {
      expect(event.sequence).toBe(0);
      break;
    }
    expect([asked.length, cancelled.length, vi.getTimerCount()]).toEqual([1, 1, 0]);
  });
});

test("every event comes once from a real service whose connections all break after one piece", async () => {
  const world = journaledWorldOf();
  const body = turnRequest("turn-1");
  await world.handler(
    requestFor({ method: "POST", path: "/v1/turns", body }, { headers: { prefer: "respond-async" } }),
  );
  await world.played("turn-1").emit(5);
  await world.played("turn-1").end();
  const fetch: typeof globalThis.fetch = async (input, init) => {
    const { body: whole, headers } = await world.handler(new Request(input, init));
    const reader = whole?.getReader();
    let pieces = 0;
    const broken = new ReadableStream<Uint8Array>({
      async pull(stream) {
        pieces += 1;
        const piece = await reader?.read();
        if (pieces > 1 || piece?.value === undefined) return stream.error(new Error("connection reset"));
        stream.enqueue(piece.value);
      },
    });
    return new Response(broken, { headers });
  };
  const client = createServiceClient({ baseUrl: "http://service.test", fetch });
  expect(await readAll(client.turnEvents("turn-1"))).toEqual({ sequences: [0, 1, 2, 3, 4], error: undefined });
});
