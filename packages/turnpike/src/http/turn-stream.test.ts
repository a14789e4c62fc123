import { afterEach, expect, test, vi } from "vitest";
import { answerOf, errorAnswer, exchanges, httpWorldOf, requestFor } from "../../test/http.ts";
import { deferred, rejection, untyped } from "../../test/deployment.ts";
import { aborted, completed, listenersOf, patience, pluginOf } from "../../test/turns.ts";
import type { TurnEvent, TurnResult } from "../contracts/index.ts";
import { KernelError } from "../kernel/index.ts";
import { standardRuntime } from "../runtime/index.ts";
import { scriptedDriver } from "../testing/index.ts";
import type { ServiceApi } from "./service-api.ts";
import { ServiceHttpError } from "./service-http-error.ts";

afterEach(() => {
  vi.useRealTimers();
});

const turn = exchanges.executeTurn;
const asStream = { headers: { accept: "text/event-stream" } };
const result: TurnResult = untyped({ ...turn.answer, events: [] });

function eventOf(sequence: number, data: string = "x"): TurnEvent {
  return {
    version: 1,
    eventId: `event-${sequence}`,
    executionId: "turn-1",
    traceId: "trace-1",
    sequence,
    type: "runtime.event",
    data,
    occurredAt: "2026-01-01T12:00:00Z",
  };
}

/** A turn that the test plays itself. */
function playedTurn(): {
  api: Partial<ServiceApi>;
  started: Promise<{ signal: AbortSignal; onEvent(event: TurnEvent): void }>;
  end(how: TurnResult | Error): void;
} {
  const started = deferred<{ signal: AbortSignal; onEvent(event: TurnEvent): void }>();
  const ended = deferred<TurnResult | Error>();
  return {
    started: started.promise,
    end: ended.resolve,
    api: {
      async executeTurn(_context, _request, options) {
        started.resolve(untyped(options));
        const how = await ended.promise;
        if (how instanceof Error) throw how;
        return how;
      },
    },
  };
}

/** A stream that is open, with its first event, and what the test plays it with. */
async function openStream(signal?: AbortSignal) {
  const played = playedTurn();
  const world = httpWorldOf({ api: played.api });
  const request = requestFor(turn, { ...asStream, ...(signal && { signal }) });
  const answering = world.handler(request);
  const options = await played.started;
  options.onEvent(eventOf(0));
  const { body } = await answering;
  if (body === null) throw new Error("The answer has no body.");
  const reader = body.getReader();
  const read = async (): Promise<string | undefined> => {
    const { done, value } = await reader.read();
    return done ? undefined : new TextDecoder().decode(value);
  };
  return { ...world, ...options, request, reader, read, end: played.end };
}

function written(event: TurnEvent): string {
  return `event: turn.event\nid: ${event.sequence}\ndata: ${JSON.stringify(event)}\n\n`;
}

test("a turn is streamed as its events and its result, to the byte", async () => {
  const response = await httpWorldOf().handler(requestFor(turn, asStream));
  expect([response.status, Object.fromEntries(response.headers)]).toStrictEqual([
    200,
    { "cache-control": "no-store", "content-type": "text/event-stream", "x-request-id": "request-1" },
  ]);
  expect(await response.text()).toBe(
    "event: turn.event\n" +
      "id: 0\n" +
      'data: {"version":1,"eventId":"event-1","executionId":"turn-1","traceId":"trace-1","sequence":0,' +
      '"type":"turn.started","data":{"runtime":{"id":"scripted","version":"1"},' +
      '"limits":{"maxSteps":16,"maxToolCalls":16,"timeoutMs":120000}},"occurredAt":"2026-01-01T12:00:00Z"}\n' +
      "\n" +
      "event: turn.event\n" +
      "id: 1\n" +
      'data: {"version":1,"eventId":"event-2","executionId":"turn-1","traceId":"trace-1","sequence":1,' +
      '"type":"turn.completed","data":{},"occurredAt":"2026-01-01T12:00:00Z"}\n' +
      "\n" +
      "event: turn.result\n" +
      `data: ${await (await httpWorldOf().handler(requestFor(turn))).text()}\n` +
      "\n",
  );
});

const calls = [{ tool: "files.read", arguments: { note: "a\nb\r\u2028\u0000é🚪" } }, { tool: "files.burn" }];
const endings = [
  { name: "succeeds after calling tools", runtime: standardRuntime(scriptedDriver([{ type: "tools", calls }])) },
  { name: "fails", runtime: pluginOf(() => Promise.reject(new Error("broken"))) },
  { name: "escalates without the tool", runtime: pluginOf(async () => ({ type: "escalate", reason: "May I?" })) },
  {
    name: "says things of its own",
    runtime: pluginOf(async (_turn, host) => {
      host.emit({ type: "thought", data: "line one\n\nevent: turn.result\ndata: {}\n\n" });
      return completed();
    }),
  },
  {
    name: "has another purpose than its context",
    runtime: pluginOf(async () => completed()),
    body: { ...turn.body, message: { ...turn.body.message, purpose: "other" } },
  },
  {
    name: "is another agent's",
    runtime: pluginOf(async () => completed()),
    body: { ...turn.body, agent: { kind: "agent", agentId: "other" } },
  },
];
for (const { name, runtime, body = turn.body } of endings) {
  test(`the stream of a turn that ${name} holds what its plain answer holds`, async () => {
    const plain = await (await httpWorldOf({ runtime }).handler(requestFor({ ...turn, body }))).text();
    const streamed = await (await httpWorldOf({ runtime }).handler(requestFor({ ...turn, body }, asStream))).text();
    const { events } = JSON.parse(plain) as TurnResult;
    expect(streamed).toBe(`${events.map(written).join("")}event: turn.result\ndata: ${plain}\n\n`);
    expect(events.map(({ sequence }) => sequence)).toStrictEqual(events.map((_, index) => index));
    expect(events.length).toBeGreaterThan(0);
  });
}

for (const row of [
  { accept: "text/event-stream", isStream: true },
  { accept: "Text/Event-Stream", isStream: true },
  { accept: "application/json, text/event-stream", isStream: true },
  { accept: "application/json;q=1,text/event-stream;q=0.1", isStream: true },
  { accept: "text/event-stream; q=0.001", isStream: true },
  { accept: "text/event-stream;charset=utf-8", isStream: true },
  { accept: " text/event-stream ", isStream: true },
  { accept: "text/event-stream;q=0", isStream: false },
  { accept: "text/event-stream; Q=0", isStream: false },
  { accept: "text/event-stream;q=0.000, application/json", isStream: false },
  { accept: "text/event-stream;charset=utf-8;q=0", isStream: false },
  { accept: "application/json", isStream: false },
  { accept: "*/*", isStream: false },
  { accept: "text/*", isStream: false },
  { accept: "text/event-streams", isStream: false },
  { accept: "application/json;x=text/event-stream", isStream: false },
  { accept: "", isStream: false },
]) {
  test(`a turn for a caller that accepts "${row.accept}" is ${row.isStream ? "streamed" : "answered whole"}`, async () => {
    const { headers } = await httpWorldOf().handler(requestFor(turn, { headers: { accept: row.accept } }));
    expect(headers.get("content-type")).toBe(row.isStream ? "text/event-stream" : "application/json");
  });
}

test("a stream hands each event on as it happens", async () => {
  const { read, onEvent, end } = await openStream();
  expect(await read()).toBe(written(eventOf(0)));
  const reading = read();
  onEvent(eventOf(1));
  expect(await reading).toBe(written(eventOf(1)));
  end(result);
  expect(await read()).toBe(`event: turn.result\ndata: ${JSON.stringify(result)}\n\n`);
  expect(await read()).toBeUndefined();
});

test("events wait for a slow reader, who gets all of them in order, and the turn does not wait", async () => {
  const { read, onEvent, end, request } = await openStream();
  const events = Array.from({ length: 1000 }, (_, index) => eventOf(index));
  for (const event of events.slice(1)) onEvent(event);
  end(result);
  await vi.waitFor(() => expect(listenersOf(request.signal)).toBe(0), patience);
  for (const event of events) expect(await read()).toBe(written(event));
  expect(await read()).toContain("event: turn.result");
  expect(await read()).toBeUndefined();
});

test("what is said after the result is not streamed", async () => {
  const { read, onEvent, end, request } = await openStream();
  end(result);
  await vi.waitFor(() => expect(listenersOf(request.signal)).toBe(0), patience);
  onEvent(eventOf(1));
  expect([await read(), await read(), await read()]).toStrictEqual([
    written(eventOf(0)),
    `event: turn.result\ndata: ${JSON.stringify(result)}\n\n`,
    undefined,
  ]);
});

test("a turn without events is streamed as its result", async () => {
  const { handler } = httpWorldOf({ api: { executeTurn: () => Promise.resolve(result) } });
  const response = await handler(requestFor(turn, asStream));
  expect(await response.text()).toBe(`event: turn.result\ndata: ${JSON.stringify(result)}\n\n`);
});

test("two streams at once do not mix", async () => {
  const one = await openStream();
  const other = await openStream();
  one.onEvent(eventOf(1, "one"));
  other.onEvent(eventOf(1, "other"));
  expect([await one.read(), await one.read()]).toStrictEqual([written(eventOf(0)), written(eventOf(1, "one"))]);
  expect([await other.read(), await other.read()]).toStrictEqual([written(eventOf(0)), written(eventOf(1, "other"))]);
});

test("every 15 seconds of silence there is a comment, and an event starts them anew", async () => {
  vi.useFakeTimers();
  const { read, onEvent, end } = await openStream();
  await read();
  let chunk: string | undefined;
  const next = (): Promise<void> => read().then((text) => void (chunk = text));
  for (const silence of [1, 2]) {
    const reading = next();
    await vi.advanceTimersByTimeAsync(14_999);
    expect([silence, chunk]).toStrictEqual([silence, undefined]);
    await vi.advanceTimersByTimeAsync(1);
    await reading;
    expect(chunk).toMatch(/^:[^\n]*\n\n$/);
    chunk = undefined;
  }
  const reading = next();
  await vi.advanceTimersByTimeAsync(14_000);
  onEvent(eventOf(1));
  await reading;
  expect(chunk).toBe(written(eventOf(1)));

  chunk = undefined;
  const quiet = next();
  await vi.advanceTimersByTimeAsync(14_999);
  expect(chunk).toBeUndefined();
  end(result);
  await quiet;
  expect(chunk).toContain("event: turn.result");
  expect(await read()).toBeUndefined();
  expect(vi.getTimerCount()).toBe(0);
});

for (const row of [
  { name: "while nothing is read", isReading: false },
  { name: "while it waits for an event", isReading: true },
]) {
  test(`a reader that goes away ${row.name} cancels the turn and leaves no timer`, async () => {
    vi.useFakeTimers();
    const { read, reader, signal, onEvent, end, told, request } = await openStream();
    await read();
    const reading = row.isReading ? read() : undefined;
    const reason = new Error("closed");
    await reader.cancel(reason);
    expect([signal.aborted, signal.reason]).toStrictEqual([true, reason]);
    expect(await reading).toBeUndefined();
    onEvent(eventOf(1));
    end(new Error("the turn was cut off"));
    await vi.advanceTimersByTimeAsync(60_000);
    expect([vi.getTimerCount(), listenersOf(request.signal), told]).toStrictEqual([0, 0, []]);
  });
}

test("a reader that goes away without a reason cancels the turn with one", async () => {
  const { reader, signal } = await openStream();
  await reader.cancel();
  expect(signal.reason).toBeInstanceOf(Error);
});

test("a reader that goes away ends the turn that the executor runs", async () => {
  const over = deferred<unknown>();
  const runtime = pluginOf(async (_turn, _host, signal) => {
    await aborted(signal);
    over.resolve(signal.reason);
    throw signal.reason;
  });
  const { handler, events } = httpWorldOf({ runtime });
  const { body } = await handler(requestFor(turn, asStream));
  const reason = new Error("closed");
  await body?.cancel(reason);
  expect(await over.promise).toBe(reason);
  await vi.waitFor(() => expect(events.at(-1)).toMatchObject({ type: "turn.ended", outcome: "cancelled" }), patience);
});

test("a caller that goes away cancels the turn, whose end is still on the stream", async () => {
  const caller = new AbortController();
  const runtime = pluginOf(async (_turn, _host, signal) => {
    await aborted(signal);
    throw signal.reason;
  });
  const { handler, told } = httpWorldOf({ runtime });
  const response = await handler(requestFor(turn, { ...asStream, signal: caller.signal }));
  caller.abort();
  const text = await response.text();
  expect(text).toContain('"type":"turn.cancelled"');
  expect(text).toMatch(/event: turn\.result\ndata: \{.*"status":"cancelled".*\}\n\n$/);
  expect(told).toStrictEqual([]);
});

const internal = errorAnswer(500, "internal_error", "Something failed inside; nothing more is said.");
for (const row of [
  {
    name: "a ServiceHttpError",
    error: new ServiceHttpError(429, "slow_down", "Wait.", { headers: { "retry-after": "3" } }),
    answer: errorAnswer(429, "slow_down", "Wait.", { "retry-after": "3" }),
  },
  {
    name: "a KernelError",
    error: new KernelError("audit_unavailable"),
    answer: errorAnswer(503, "audit_unavailable", "The decision could not be recorded, so nothing was done."),
  },
  { name: "a plain error", error: new Error("secret"), answer: internal },
]) {
  for (const isAtOnce of [true, false]) {
    test(`a turn that fails before its first event with ${row.name}, ${isAtOnce ? "at once" : "later"}, answers JSON`, async () => {
      const executeTurn = (): Promise<never> => {
        if (isAtOnce) throw row.error;
        return Promise.reject(row.error);
      };
      const { handler, told } = httpWorldOf({ api: { executeTurn } });
      const request = requestFor(turn, asStream);
      expect(await answerOf(await handler(request))).toStrictEqual(row.answer);
      expect(told).toStrictEqual([{ error: row.error, request, requestId: "request-1" }]);
      expect(listenersOf(request.signal)).toBe(0);
    });
  }
}

test("a streamed turn whose caller is already gone answers 499", async () => {
  const request = requestFor(turn, { ...asStream, signal: AbortSignal.abort() });
  expect(await answerOf(await httpWorldOf().handler(request))).toStrictEqual(
    errorAnswer(499, "request_aborted", "The caller went away before any effect."),
  );
});

for (const row of [
  { name: "a body that is no JSON", body: "", code: "invalid_json" },
  { name: "a body that is no turn", body: "{}", code: "invalid_request" },
]) {
  test(`${row.name} is refused in JSON although a stream was asked for`, async () => {
    const answer = await answerOf(await httpWorldOf().handler(requestFor({ ...turn, body: row.body }, asStream)));
    expect(answer).toStrictEqual(errorAnswer(400, row.code, expect.any(String)));
  });
}

test("a turn that fails after its first event breaks the stream, and the host is told once", async () => {
  const { read, onEvent, end, told, request, reader } = await openStream();
  onEvent(eventOf(1));
  const error = new Error("torn");
  end(error);
  expect([await read(), await read()]).toStrictEqual([written(eventOf(0)), written(eventOf(1))]);
  expect(await rejection(read())).toBe(error);
  expect(await rejection(reader.closed)).toBe(error);
  expect(told).toStrictEqual([{ error, request, requestId: "request-1" }]);
});

test("a turn that fails after its first event tells the host once, also when the stream is read no further", async () => {
  const { read, end, told, request } = await openStream();
  const error = new Error("torn");
  end(error);
  await vi.waitFor(() => expect(told).toStrictEqual([{ error, request, requestId: "request-1" }]), patience);
  expect(await read()).toBe(written(eventOf(0)));
  expect(await rejection(read())).toBe(error);
  expect(told).toHaveLength(1);
});

test("a result that is no JSON breaks the stream, and the host is told", async () => {
  const { read, end, told } = await openStream();
  end(untyped({ output: 1n }));
  await read();
  expect(await rejection(read())).toBeInstanceOf(TypeError);
  expect(told).toHaveLength(1);
});
