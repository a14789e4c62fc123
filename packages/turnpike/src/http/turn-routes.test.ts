import { describe, expect, test } from "vitest";
import { contextOf, untyped } from "../../test/deployment.ts";
import { answerOf, errorAnswer, jsonHeaders, requestFor, type Answer } from "../../test/http.ts";
import {
  contextByHeaders,
  escalation,
  eventsOf,
  journaledWorldOf,
  keyOf,
  resultOf,
  turnRequest,
  type JournaledWorld,
} from "../../test/journaled-turns.ts";
import { httpWorldOf } from "../../test/http.ts";
import { TurnPause, type TurnJournal } from "../runtime/index.ts";
import { ServiceHttpError } from "./service-http-error.ts";

const respondAsync = { headers: { prefer: "respond-async" } };
const post = (executionId: string, changes = {}) => ({
  method: "POST",
  path: "/v1/turns",
  body: turnRequest(executionId, changes),
});

async function answered(
  { handler }: Pick<JournaledWorld, "handler">,
  method: string,
  path: string,
  headers: Record<string, string> = {},
): Promise<Answer> {
  return answerOf(await handler(requestFor({ method, path }, { headers })));
}

/** A world where a turn of this id was started and runs without its caller. */
async function startedWorld(executionId = "turn-1", options: Parameters<typeof journaledWorldOf>[0] = {}) {
  const world = journaledWorldOf(options);
  const answer = await answerOf(await world.handler(requestFor(post(executionId), respondAsync)));
  return { ...world, answer, turn: world.played(executionId) };
}

const running = {
  version: 1,
  executionId: "turn-1",
  traceId: "trace-1",
  agent: { kind: "agent", agentId: "helper" },
  status: "running",
  startedAt: "2026-01-01T12:00:00Z",
  updatedAt: "2026-01-01T12:00:00Z",
  steps: 0,
  toolCalls: 0,
};
const ended = { ...running, status: "succeeded", completedAt: "2026-01-01T12:00:00Z", steps: 2 };
const notFound = errorAnswer(404, "not_found", "You have no turn with this id.");

describe("a turn that is started without its caller", () => {
  test("is answered with 202, where it is and its state, once its id is taken", async () => {
    const { answer } = await startedWorld();
    const headers = { ...jsonHeaders, location: "/v1/turns/turn-1", "preference-applied": "respond-async" };
    expect(answer).toStrictEqual({ status: 202, headers, body: running });
  });

  test("does not know its caller's signal", async () => {
    const caller = new AbortController();
    const world = journaledWorldOf();
    await world.handler(requestFor(post("turn-1"), { ...respondAsync, signal: caller.signal }));
    const { options } = world.played("turn-1");
    caller.abort();
    expect([options.isAsync, options.signal]).toEqual([true, undefined]);
    await world.played("turn-1").end();
    expect((await answered(world, "GET", "/v1/turns/turn-1")).body).toMatchObject({ status: "succeeded" });
  });

  test("is found where its location says, whatever its id", async () => {
    const id = "a/b?c#d%20 ä🚪";
    const world = await startedWorld(id);
    const { location = "" } = world.answer.headers;
    expect(location).toBe("/v1/turns/a%2Fb%3Fc%23d%2520%20%C3%A4%F0%9F%9A%AA");
    expect((await answered(world, "GET", location)).body).toMatchObject({ executionId: id });
    expect((await answered(world, "GET", `${location}/events`)).body).toEqual({ events: [] });
  });

  for (const id of ["\ud800", "a\udc00", ".", ".."]) {
    test(`is refused under the id ${JSON.stringify(id)}, which no URL can name, and nothing runs`, async () => {
      const world = journaledWorldOf();
      const answer = await answerOf(await world.handler(requestFor(post(id), respondAsync)));
      expect(answer).toEqual(errorAnswer(400, "invalid_request", "/executionId: expected an id that a URL can name"));
      expect(world.journal.unfinished()).toEqual([]);
    });
  }

  test("is an ordinary error when it fails before it begins", async () => {
    const overloaded = new ServiceHttpError(503, "overloaded", "Later.", { headers: { "retry-after": "1" } });
    const world = journaledWorldOf({ api: { executeTurn: () => Promise.reject(overloaded) } });
    const answer = await answerOf(await world.handler(requestFor(post("turn-1"), respondAsync)));
    expect(answer).toEqual(errorAnswer(503, "overloaded", "Later.", { "retry-after": "1" }));
    expect(world.told).toHaveLength(1);
  });

  test("tells the host of an error that comes later, and of no pause", async () => {
    const world = await startedWorld("turn-1");
    world.turn.fail(new TurnPause("The host stops."));
    await world.handler(requestFor(post("turn-2"), respondAsync));
    const error = new Error("The store is down.");
    world.played("turn-2").fail(error);
    await expect.poll(() => world.told.map((told) => told.error)).toEqual([error]);
  });

  test("is answered with its result by an api that begins no such turns", async () => {
    const world = journaledWorldOf({ api: { executeTurn: () => Promise.resolve(resultOf("turn-1", 0)) } });
    const answer = await answerOf(await world.handler(requestFor(post("turn-1"), respondAsync)));
    expect(answer).toEqual({ status: 200, headers: jsonHeaders, body: resultOf("turn-1", 0) });
  });
});

describe("without a journal", () => {
  const world = httpWorldOf();

  test("prefer is ignored", async () => {
    const answer = await answerOf(await world.handler(requestFor(post("turn-1"), respondAsync)));
    expect(answer).toMatchObject({ status: 200, headers: jsonHeaders, body: { status: "succeeded" } });
  });

  for (const [method, path] of [
    ["GET", "/v1/turns/turn-1"],
    ["GET", "/v1/turns/turn-1/events"],
    ["POST", "/v1/turns/turn-1/cancel"],
  ] as const) {
    test(`${method} ${path} is at no path`, async () => {
      expect(await answered(world, method, path)).toEqual(
        errorAnswer(404, "not_found", "There is nothing at this path."),
      );
    });
  }

  test("turns cannot be listed", async () => {
    expect(await answered(world, "GET", "/v1/turns")).toEqual(
      errorAnswer(405, "method_not_allowed", "This path knows POST.", { allow: "POST" }),
    );
  });
});

describe("paths of turns", () => {
  for (const [method, path, allow] of [
    ["DELETE", "/v1/turns", "GET, POST"],
    ["POST", "/v1/turns/turn-1", "GET"],
    ["PUT", "/v1/turns/turn-1/events", "GET"],
    ["GET", "/v1/turns/turn-1/cancel", "POST"],
  ] as const) {
    test(`${method} ${path} is 405`, async () => {
      const answer = await answered(journaledWorldOf(), method, path);
      expect(answer).toEqual(errorAnswer(405, "method_not_allowed", `This path knows ${allow}.`, { allow }));
    });
  }

  for (const path of ["/v1/turns/", "/v1/turns/turn-1/", "/v1/turns/turn-1/x", "/v1/turns/%E4", "/v1/turns/%/events"]) {
    test(`GET ${path} is at no path`, async () => {
      const answer = await answered(await startedWorld(), "GET", path);
      expect(answer).toEqual(errorAnswer(404, "not_found", "There is nothing at this path."));
    });
  }

  for (const id of ["turn-2", "a".repeat(257), "%20"]) {
    test(`a turn with the id ${id.slice(0, 9)} is not found`, async () => {
      expect(await answered(await startedWorld(), "GET", `/v1/turns/${id}`)).toEqual(notFound);
    });
  }
});

describe("the state of a turn", () => {
  test("says that it runs, that it waits and for what, and how it ended", async () => {
    const world = await startedWorld();
    const state = () => answered(world, "GET", "/v1/turns/turn-1?anything=1");
    expect(await state()).toEqual({ status: 200, headers: jsonHeaders, body: running });
    await world.turn.emit(2);
    await world.turn.wait();
    expect((await state()).body).toEqual({ ...running, status: "waiting", steps: 2, escalation });
    await world.turn.end();
    expect((await state()).body).toEqual({ ...ended, result: resultOf("turn-1", 2) });
  });

  test("needs no authority, and neither do its events, its cancelling and the list", async () => {
    const { authority: _none, ...context } = contextOf();
    let resolved: ReturnType<typeof contextOf> = contextOf();
    const world = await startedWorld("turn-1", { context: () => Promise.resolve(resolved) });
    resolved = untyped(context);
    for (const [method, path, status] of [
      ["GET", "/v1/turns", 200],
      ["GET", "/v1/turns/turn-1", 200],
      ["GET", "/v1/turns/turn-1/events", 200],
      ["POST", "/v1/turns/turn-1/cancel", 202],
    ] as const) {
      expect((await answered(world, method, path)).status).toBe(status);
    }
  });
});

describe("another caller's turn", () => {
  for (const [who, headers] of [
    ["another actor", { "x-actor": "other" }],
    ["another tenant", { "x-tenant": "other" }],
  ] as const) {
    for (const [method, path, accept] of [
      ["GET", "/v1/turns/turn-1", "*/*"],
      ["GET", "/v1/turns/turn-1/events", "*/*"],
      ["GET", "/v1/turns/turn-1/events", "text/event-stream"],
      ["POST", "/v1/turns/turn-1/cancel", "*/*"],
    ] as const) {
      test(`is not found by ${who} with ${method} ${path} (${accept}), like one that does not exist`, async () => {
        const world = await startedWorld("turn-1", { context: contextByHeaders });
        expect(await answered(world, method, path, { ...headers, accept })).toEqual(notFound);
        expect(await answered(world, method, path.replace("turn-1", "turn-2"), { accept })).toEqual(notFound);
        expect(world.turn.writer.stop.aborted).toBe(false);
      });
    }

    test(`is not in the list of ${who}`, async () => {
      const world = await startedWorld("turn-1", { context: contextByHeaders });
      expect((await answered(world, "GET", "/v1/turns", headers)).body).toEqual({ turns: [] });
    });
  }
});

describe("the list of turns", () => {
  async function listWorld(count: number): Promise<JournaledWorld> {
    const world = journaledWorldOf();
    for (let turn = 1; turn <= count; turn += 1) await world.handler(requestFor(post(`turn-${turn}`), respondAsync));
    return world;
  }
  async function listed(world: JournaledWorld, query: string): Promise<{ ids: string[]; next: string | undefined }> {
    const { body } = await answered(world, "GET", `/v1/turns${query}`);
    const { turns, next } = untyped<{ turns: { executionId: string }[]; next?: string }>(body);
    return { ids: turns.map(({ executionId }) => executionId), next };
  }

  test("has the newest first, page by page", async () => {
    const world = await listWorld(5);
    const first = await listed(world, "?limit=2");
    expect(first.ids).toEqual(["turn-5", "turn-4"]);
    const second = await listed(world, `?limit=2&before=${first.next}`);
    expect(second.ids).toEqual(["turn-3", "turn-2"]);
    expect(await listed(world, `?limit=2&before=${second.next}`)).toEqual({ ids: ["turn-1"], next: undefined });
  });

  test("has fifty on a page unless another number is asked for", async () => {
    const world = await listWorld(51);
    expect((await listed(world, "")).ids).toHaveLength(50);
    expect((await listed(world, "?limit=200")).ids).toHaveLength(51);
  });

  test("has the turns of the statuses that are asked for", async () => {
    const world = await listWorld(3);
    await world.played("turn-1").end();
    await world.played("turn-2").wait();
    expect((await listed(world, "?status=waiting,running")).ids).toEqual(["turn-3", "turn-2"]);
    expect((await listed(world, "?status=succeeded")).ids).toEqual(["turn-1"]);
    expect((await listed(world, "?status=denied&unknown=1#x?status=y")).ids).toEqual([]);
  });

  const statuses = "running, waiting, succeeded, denied, failed, cancelled, escalated, or several with commas";
  for (const [query, message] of [
    ["?limit=0", "limit: expected an integer from 1 to 200"],
    ["?limit=201", "limit: expected an integer from 1 to 200"],
    ["?limit=1.5", "limit: expected an integer from 1 to 200"],
    ["?limit=-1", "limit: expected an integer from 1 to 200"],
    ["?limit=", "limit: expected an integer from 1 to 200"],
    ["?limit=1&limit=2", "limit: expected one value"],
    ["?status=", `status: expected ${statuses}`],
    ["?status=running,done", `status: expected ${statuses}`],
    ["?status=Running", `status: expected ${statuses}`],
    ["?before=", "before: expected the `next` of a page of turns"],
    [`?before=${"1".repeat(257)}`, "before: expected the `next` of a page of turns"],
  ] as const) {
    test(`refuses ${query.slice(0, 30)}`, async () => {
      expect(await answered(journaledWorldOf(), "GET", `/v1/turns${query}`)).toEqual(
        errorAnswer(400, "invalid_request", message),
      );
    });
  }
});

describe("the events of a turn", () => {
  for (const [query, seen, from] of [
    ["", undefined, 0],
    ["?after=-1", undefined, 0],
    ["?after=0", undefined, 1],
    ["?after=2", undefined, 3],
    ["?after=99", undefined, 3],
    ["", "1", 2],
    ["", "-1", 0],
    ["", "", 0],
    // A browser that reconnects sends the URL it has, and what it has seen since.
    ["?after=0", "1", 2],
  ] as const) {
    test(`begin behind the cursor (${query}, ${seen})`, async () => {
      const world = await startedWorld();
      await world.turn.emit(3);
      const headers: Record<string, string> = seen === undefined ? {} : { "last-event-id": seen };
      const answer = await answered(world, "GET", `/v1/turns/turn-1/events${query}`, headers);
      expect(answer).toEqual({ status: 200, headers: jsonHeaders, body: { events: eventsOf("turn-1", from, 3) } });
    });
  }

  for (const [query, headers, message] of [
    ["?after=-2", {}, "after: expected the sequence of an event, or -1"],
    ["?after=x", {}, "after: expected the sequence of an event, or -1"],
    ["?after=", {}, "after: expected the sequence of an event, or -1"],
    ["?after=1&after=2", {}, "after: expected one value"],
    ["?after=1", { "last-event-id": "1e3" }, "last-event-id: expected the sequence of an event, or -1"],
  ] as const) {
    test(`are refused behind a cursor that is none (${query}, ${JSON.stringify(headers)})`, async () => {
      for (const accept of ["application/json", "text/event-stream"]) {
        const answer = await answered(await startedWorld(), "GET", `/v1/turns/turn-1/events${query}`, {
          ...headers,
          accept,
        });
        expect(answer).toEqual(errorAnswer(400, "invalid_request", message));
      }
    });
  }
});

describe("cancelling a turn", () => {
  test("answers 202 and the state while it runs, and its run is told", async () => {
    const world = await startedWorld();
    expect(await answered(world, "POST", "/v1/turns/turn-1/cancel")).toEqual({
      status: 202,
      headers: jsonHeaders,
      body: running,
    });
    expect(world.turn.writer.stop.aborted).toBe(true);
  });

  test("answers 202 while it waits: it runs again, so that a run can end it", async () => {
    const world = await startedWorld();
    await world.turn.wait();
    expect(world.journal.unfinished()).toEqual([]);
    expect(await answered(world, "POST", "/v1/turns/turn-1/cancel")).toMatchObject({
      status: 202,
      body: { status: "running" },
    });
    expect(world.journal.unfinished()).toEqual([keyOf("turn-1")]);
  });

  test("changes nothing once it has ended", async () => {
    const world = await startedWorld();
    await world.turn.emit(2);
    await world.turn.end();
    expect(await answered(world, "POST", "/v1/turns/turn-1/cancel")).toEqual({
      status: 200,
      headers: jsonHeaders,
      body: { ...ended, result: resultOf("turn-1", 2) },
    });
    expect(world.turn.writer.stop.aborted).toBe(false);
  });
});

describe("an outage of the journal", () => {
  const down = (): Promise<never> => Promise.reject(new Error("The disk is full."));
  const journal = untyped<TurnJournal>({ find: down, list: down, events: down, cancel: down });
  for (const [method, path] of [
    ["GET", "/v1/turns"],
    ["GET", "/v1/turns/turn-1"],
    ["GET", "/v1/turns/turn-1/events"],
    ["POST", "/v1/turns/turn-1/cancel"],
  ] as const) {
    test(`is an error of ${method} ${path}, and says nothing of what failed`, async () => {
      const world = httpWorldOf({ journal });
      const message = "Something failed inside; nothing more is said.";
      expect(await answered(world, method, path)).toEqual(errorAnswer(500, "internal_error", message));
      expect(world.told).toHaveLength(1);
    });
  }

  test("does not concern what can be the id of no turn: the journal is not asked for it", async () => {
    expect(await answered(httpWorldOf({ journal }), "GET", "/v1/turns/%20")).toEqual(notFound);
  });
});
