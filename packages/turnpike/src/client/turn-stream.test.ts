import { afterEach, describe, expect, test } from "vitest";
import { exchanges, httpWorldOf, type HttpWorld, type HttpWorldOptions } from "../../test/http.ts";
import { transports, type Loopback, type Transport } from "../../test/loopback.ts";
import { deferred, rejection, untyped } from "../../test/deployment.ts";
import { aborted, pluginOf } from "../../test/turns.ts";
import type { TurnEvent } from "../contracts/index.ts";
import { ServiceHttpError } from "../http/index.ts";
import type { RuntimePlugin } from "../runtime/index.ts";
import { createServiceClient, type ServiceClient } from "./client.ts";
import { ServiceClientError } from "./service-client-error.ts";
import type { TurnStream } from "./turn-stream.ts";

const opened: Loopback[] = [];
afterEach(async () => {
  await Promise.all(opened.splice(0).map((server) => server.close()));
});

const { body: request, answer } = exchanges.executeTurn;

/** The events of a stream, read to its end. */
async function eventsOf(stream: TurnStream): Promise<TurnEvent[]> {
  const events: TurnEvent[] = [];
  for await (const event of stream) events.push(event);
  return events;
}

/** A turn that runs until it is cancelled, and the instant when it is. */
function endlessTurn(): { runtime: RuntimePlugin; cancelled: Promise<void> } {
  const cancelled = deferred<void>();
  const runtime = pluginOf(async (_turn, host, signal) => {
    host.emit({ type: "thinking", data: null });
    await aborted(signal);
    cancelled.resolve();
    throw signal.reason;
  });
  return { runtime, cancelled: cancelled.promise };
}

async function connectTo(
  transport: Transport,
  options: HttpWorldOptions,
): Promise<HttpWorld & { client: ServiceClient }> {
  const world = httpWorldOf(options);
  const server = await transport.open(world.handler);
  opened.push(server);
  const { baseUrl, fetch } = server;
  return { ...world, client: createServiceClient({ baseUrl, ...(fetch && { fetch }) }) };
}

for (const transport of transports) {
  const connect = (options: HttpWorldOptions = {}): ReturnType<typeof connectTo> => connectTo(transport, options);

  describe(transport.name, () => {
    test("a streamed turn shows its events and then its result", async () => {
      const { client } = await connect();
      const stream = client.streamTurn(request);
      expect(await eventsOf(stream)).toStrictEqual(answer.events);
      expect(await stream.result()).toStrictEqual(answer);
      expect(await stream.result()).toStrictEqual(answer);
    });

    test("the result can be had without the events", async () => {
      const { client } = await connect();
      expect(await client.streamTurn(request).result()).toStrictEqual(answer);
    });

    test("nothing is sent before the stream is read", async () => {
      const { client, resolved } = await connect();
      const stream = client.streamTurn(request);
      await client.reach();
      expect(resolved.map(({ method }) => method)).toStrictEqual(["GET"]);
      await stream.result();
      expect(resolved.map(({ method }) => method)).toStrictEqual(["GET", "POST"]);
    });

    test("events arrive while the turn is still running", async () => {
      const resume = deferred<void>();
      const runtime = pluginOf(async (_turn, host) => {
        host.emit({ type: "thinking", data: "hm" });
        await resume.promise;
        return { type: "complete", output: "done" };
      });
      const { client } = await connect({ runtime });
      const types: string[] = [];
      for await (const { type } of client.streamTurn(request)) {
        types.push(type);
        if (type === "runtime.event") resume.resolve();
      }
      expect(types).toStrictEqual(["turn.started", "runtime.event", "turn.completed"]);
    });

    test("leaving the loop cancels the turn, and there is no result then", async () => {
      const { runtime, cancelled } = endlessTurn();
      const { client } = await connect({ runtime });
      const stream = client.streamTurn(request);
      for await (const { type } of stream) if (type === "runtime.event") break;
      await cancelled;
      const error = await rejection(stream.result());
      expect(error).toBeInstanceOf(ServiceClientError);
      expect(error).toMatchObject({ code: "request_failed" });
    });

    test("an error thrown inside the loop cancels the turn", async () => {
      const { runtime, cancelled } = endlessTurn();
      const { client } = await connect({ runtime });
      const mine = new Error("mine");
      const reading = async (): Promise<void> => {
        for await (const { sequence } of client.streamTurn(request)) if (sequence === 0) throw mine;
      };
      expect(await rejection(reading())).toBe(mine);
      await cancelled;
    });

    test("a signal that fires while a turn is streamed rejects with its reason and cancels the turn", async () => {
      const { runtime, cancelled } = endlessTurn();
      const { client } = await connect({ runtime });
      const caller = new AbortController();
      const reason = new Error("changed my mind");
      const reading = async (): Promise<void> => {
        for await (const { type } of client.streamTurn(request, { signal: caller.signal })) {
          if (type === "runtime.event") caller.abort(reason);
        }
      };
      expect(await rejection(reading())).toBe(reason);
      await cancelled;
    });

    test("a turn that is refused before it starts rejects with the error of the answer", async () => {
      const slowDown = new ServiceHttpError(429, "slow_down", "Wait.", { headers: { "retry-after": "2" } });
      const { client } = await connect({ context: () => Promise.reject(slowDown) });
      const error = { status: 429, code: "slow_down", message: "Wait.", retryAfter: 2 };
      expect(await rejection(client.streamTurn(request).result())).toMatchObject(error);
      expect(await rejection(eventsOf(client.streamTurn(request)))).toMatchObject(error);
    });

    test("a body that does not fit rejects with the error of the answer", async () => {
      const { client } = await connect();
      expect(await rejection(client.streamTurn(untyped({ ...request, tools: [] })).result())).toMatchObject({
        status: 400,
        code: "invalid_request",
        message: "/tools: expected no such key",
      });
    });

    test("a stream that breaks off shows what came and rejects as request_failed", async () => {
      const broken = deferred<void>();
      const [first] = answer.events;
      const { client } = await connect({
        api: {
          async executeTurn(_context, _request, options) {
            options?.onEvent?.(first);
            await broken.promise;
            throw new Error("torn");
          },
        },
      });
      const seen: TurnEvent[] = [];
      const reading = async (): Promise<void> => {
        for await (const event of client.streamTurn(request)) {
          seen.push(event);
          broken.resolve();
        }
      };
      const error = await rejection(reading());
      expect(error).toBeInstanceOf(ServiceClientError);
      expect(error).toMatchObject({ status: 200, code: "request_failed" });
      expect(seen).toStrictEqual([first]);
    });
  });
}

const eventText = answer.events.map((event) => `event: turn.event\nid: 0\ndata: ${JSON.stringify(event)}\n\n`).join("");
const resultText = `event: turn.result\ndata: ${JSON.stringify(answer)}\n\n`;

/** The stream of a server that sends these pieces. */
function streamOf(pieces: readonly (string | Uint8Array)[], contentType = "text/event-stream"): TurnStream {
  const encoder = new TextEncoder();
  const body = new ReadableStream<Uint8Array>({
    start(stream) {
      for (const piece of pieces) stream.enqueue(typeof piece === "string" ? encoder.encode(piece) : piece);
      stream.close();
    },
  });
  const headers = { "content-type": contentType, "x-request-id": "request-1" };
  const fetch = () => Promise.resolve(new Response(body, { headers }));
  return createServiceClient({ baseUrl: "http://service.test", fetch }).streamTurn(request);
}

for (const row of [
  { name: "with a charset", pieces: [eventText, resultText], type: "text/event-stream; charset=utf-8" },
  { name: "with comments", pieces: [":\n\n", eventText, ": still here\n\n:\n\n", resultText] },
  { name: "with a comment inside an event", pieces: [eventText.replace("id: 0\n", ":\nid: 0\n"), resultText] },
  {
    name: "with events of another name",
    pieces: ["event: turn.paused\ndata: {}\n\ndata: hello\n\n", eventText, resultText],
  },
  { name: "with fields of another name", pieces: [eventText.replaceAll("id: 0", "retry: 5\nother\nid"), resultText] },
  { name: "without blanks after the colons", pieces: [(eventText + resultText).replaceAll(/^(\w+): /gm, "$1:")] },
  { name: "with a byte order mark", pieces: ["\ufeff", eventText, resultText] },
  { name: "with something after the result", pieces: [eventText, resultText, "event: turn.event\ndata: no JSON\n\n"] },
  { name: "in one piece", pieces: [eventText + resultText] },
]) {
  test(`a stream ${row.name} is read`, async () => {
    const stream = streamOf(row.pieces, row.type);
    expect(await eventsOf(stream)).toStrictEqual(answer.events);
    expect(await stream.result()).toStrictEqual(answer);
  });
}

test("data on several lines is one document", async () => {
  const pretty = JSON.stringify(answer, null, 1).replaceAll(/^/gm, "data: ");
  expect(await streamOf([`event: turn.result\n${pretty}\n\n`]).result()).toStrictEqual(answer);
});

test("fields that this client does not know are tolerated in events and in the result", async () => {
  const events = answer.events.map((event) => ({ ...event, extra: 1 }));
  const newer = { ...answer, events, extra: 1 };
  const texts = events.map((event) => `event: turn.event\ndata: ${JSON.stringify(event)}\n\n`);
  const stream = streamOf([...texts, `event: turn.result\ndata: ${JSON.stringify(newer)}\n\n`]);
  expect(await eventsOf(stream)).toStrictEqual(events);
  expect(await stream.result()).toStrictEqual(newer);
});

const bad = "event: turn.event\ndata: ";
for (const row of [
  {
    name: "an answer that is no stream",
    pieces: [JSON.stringify(answer)],
    type: "application/json",
    code: "invalid_response",
  },
  { name: "an event that is no JSON", pieces: [`${bad}{"a\n\n`], code: "invalid_response" },
  { name: "an event that is no turn event", pieces: [`${bad}{}\n\n`], code: "invalid_response" },
  { name: "a result that is no JSON", pieces: ["event: turn.result\ndata: done\n\n"], code: "invalid_response" },
  { name: "a result that is no turn result", pieces: ["event: turn.result\ndata: {}\n\n"], code: "invalid_response" },
  { name: "a stream without a result", pieces: [eventText], code: "request_failed" },
  { name: "a stream without anything", pieces: [], code: "request_failed" },
  { name: "a result that is cut off", pieces: [eventText, resultText.slice(0, -20)], code: "request_failed" },
  { name: "a result without its closing blank line", pieces: [resultText.slice(0, -1)], code: "request_failed" },
]) {
  test(`${row.name} rejects as ${row.code}`, async () => {
    const error = await rejection(streamOf(row.pieces, row.type).result());
    expect(error).toBeInstanceOf(ServiceClientError);
    const requestId = row.code === "invalid_response" ? "request-1" : undefined;
    expect(error).toMatchObject({ status: 200, code: row.code, requestId });
  });
}

test("an answer without a body rejects as invalid_response", async () => {
  const response = new Response(null, { headers: { "content-type": "text/event-stream" } });
  const client = createServiceClient({ baseUrl: "http://service.test", fetch: () => Promise.resolve(response) });
  expect(await rejection(client.streamTurn(request).result())).toMatchObject({ code: "invalid_response" });
});
