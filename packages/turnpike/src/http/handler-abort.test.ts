import { expect, test } from "vitest";
import {
  answerOf,
  errorAnswer,
  exchanges,
  httpWorldOf,
  jsonHeaders,
  requestFor,
  type Exchange,
} from "../../test/http.ts";
import { deferred, noteTool, untyped } from "../../test/deployment.ts";
import { aborted, listenersOf, pluginOf } from "../../test/turns.ts";
import { ServiceHttpError } from "./service-http-error.ts";

const { health: _open, ...guarded } = exchanges;
const gone = errorAnswer(499, "request_aborted", "The caller went away before any effect.");

for (const [name, exchange] of Object.entries<Exchange>(guarded)) {
  test(`${name} for a caller that is already gone answers 499 and does nothing`, async () => {
    const tool = noteTool();
    const { handler, told } = httpWorldOf({ kernel: { tools: [tool] } });
    const request = requestFor(exchange, { signal: AbortSignal.abort() });
    expect(await answerOf(await handler(request))).toStrictEqual(gone);
    expect([told.length, tool.calls]).toStrictEqual([1, []]);
  });

  test(`the signal of ${name} fires when the caller goes away`, async () => {
    const started = deferred<AbortSignal>();
    const wait = async (...args: unknown[]): Promise<never> => {
      const { signal } = args.at(-1) as { signal: AbortSignal };
      started.resolve(signal);
      await aborted(signal);
      throw signal.reason;
    };
    const { handler, told } = httpWorldOf({ api: untyped({ [name]: wait }) });
    const caller = new AbortController();
    const answering = handler(requestFor(exchange, { signal: caller.signal }));
    const signal = await started.promise;
    expect(signal.aborted).toBe(false);
    const reason = new Error("gone");
    caller.abort(reason);
    expect(await answerOf(await answering)).toStrictEqual(gone);
    expect([signal.aborted, signal.reason]).toStrictEqual([true, reason]);
    expect(told).toHaveLength(1);
    expect(told[0]?.error).toBe(reason);
  });
}

test("a caller that goes away while it is being identified answers 499", async () => {
  const caller = new AbortController();
  const { handler } = httpWorldOf({
    context(request) {
      caller.abort();
      return Promise.reject(request.signal.reason);
    },
  });
  expect(await answerOf(await handler(requestFor(exchanges.reach, { signal: caller.signal })))).toStrictEqual(gone);
});

test("a caller that goes away while it sends its body answers 499", async () => {
  const caller = new AbortController();
  const body = new ReadableStream<Uint8Array>({
    pull(stream) {
      caller.abort();
      stream.error(new TypeError("terminated"));
    },
  });
  const request = new Request(
    "http://service.test/v1/authorize",
    untyped<RequestInit>({
      method: "POST",
      body,
      duplex: "half",
      signal: caller.signal,
      headers: { "x-request-id": "request-1" },
    }),
  );
  expect(await answerOf(await httpWorldOf().handler(request))).toStrictEqual(gone);
});

test("an error made for the caller is passed on even to one that went away", async () => {
  const { handler } = httpWorldOf({
    context: () => Promise.reject(new ServiceHttpError(401, "who_are_you", "Say so.")),
  });
  const request = requestFor(exchanges.reach, { signal: AbortSignal.abort() });
  expect(await answerOf(await handler(request))).toStrictEqual(errorAnswer(401, "who_are_you", "Say so."));
});

test("what a tool did before its caller went away is answered, not hidden behind a 499", async () => {
  const caller = new AbortController();
  const tool = noteTool({
    invoke(context, call) {
      caller.abort();
      return Promise.resolve({
        status: "succeeded",
        callId: call.id,
        tool: call.tool,
        completedAt: context.now,
        output: "text of today",
      });
    },
  });
  const { handler, told } = httpWorldOf({ kernel: { tools: [tool] } });
  const response = await handler(requestFor(exchanges.invokeTool, { signal: caller.signal }));
  expect(await answerOf(response)).toStrictEqual({
    status: 200,
    headers: jsonHeaders,
    body: exchanges.invokeTool.answer,
  });
  expect(told).toStrictEqual([]);
});

test("a turn that was running when its caller went away is answered as cancelled", async () => {
  const caller = new AbortController();
  const runtime = pluginOf(async (_turn, _host, signal) => {
    caller.abort();
    await aborted(signal);
    throw signal.reason;
  });
  const response = await httpWorldOf({ runtime }).handler(requestFor(exchanges.executeTurn, { signal: caller.signal }));
  expect(await answerOf(response)).toMatchObject({
    status: 200,
    body: { status: "cancelled", error: { code: "turn_cancelled" } },
  });
});

for (const accept of ["application/json", "text/event-stream"]) {
  test(`a turn that has ended, asked for as ${accept}, leaves nothing behind on its caller's signal`, async () => {
    const request = requestFor(exchanges.executeTurn, { headers: { accept } });
    const response = await httpWorldOf().handler(request);
    await response.text();
    expect(listenersOf(request.signal)).toBe(0);
  });
}
