import { describe, expect, test } from "vitest";
import { agent, capability, contextOf, grantOf, later, needs, now } from "../../test/deployment.ts";
import { answerOf, errorAnswer, httpWorldOf, jsonHeaders, requestFor, type Answer } from "../../test/http.ts";
import type { ActRequest, ActState } from "../contracts/index.ts";
import { memoryActs, memoryPermits } from "../testing/index.ts";

const request: ActRequest = {
  version: 1,
  id: "act-1",
  tool: "summarize",
  needs: [needs("notes", "today")],
  requestedAt: now,
  traceId: "trace-1",
};
const done = { version: 1, traceId: "trace-1", status: "succeeded", output: "short" };
const broken = {
  version: 1,
  traceId: "trace-1",
  status: "failed",
  error: { code: "no_disk", message: "No space." },
};
const allowed = { status: "allowed", id: "act-1", expiresAt: "2026-01-01T12:05:00.000Z", grants: ["notes"] };
const succeeded = { status: "succeeded", id: "act-1", completedAt: "2026-01-01T12:00:00Z", output: "short" };
const failed = {
  status: "failed",
  id: "act-1",
  completedAt: "2026-01-01T12:00:00Z",
  error: { code: "no_disk", message: "No space." },
};

interface ActWorld {
  /** The instant of the requests to come. */
  now: string;
  begin(changes?: Partial<ActRequest>): Promise<Answer>;
  finish(outcome: object, id?: string): Promise<Answer>;
  get(pathAndQuery: string): Promise<Answer>;
}

/** A service with a store of acts. */
function actWorldOf(options: Parameters<typeof httpWorldOf>[0] = {}): ActWorld {
  const { handler } = httpWorldOf({
    kernel: { acts: memoryActs(), grants: [grantOf("notes")] },
    context: () => Promise.resolve(contextOf({ now: world.now })),
    ...options,
  });
  const ask = async (method: string, path: string, body?: object): Promise<Answer> =>
    answerOf(await handler(requestFor({ method, path, body })));
  const world: ActWorld = {
    now,
    begin: (changes = {}) => ask("POST", "/v1/acts", { ...request, ...changes }),
    finish: (outcome, id = "act-1") => ask("POST", `/v1/acts/${id}/outcome`, outcome),
    get: (pathAndQuery) => ask("GET", `/v1/acts/${pathAndQuery}`),
  };
  return world;
}

describe("an act that begins", () => {
  test("is allowed until the end of its lease", async () => {
    const { begin } = actWorldOf();
    expect(await begin()).toStrictEqual({ status: 200, headers: jsonHeaders, body: allowed });
  });

  test("and is denied is an answer, not an error", async () => {
    const { begin } = actWorldOf();
    const answer = await begin({ needs: [needs("photos")] });
    expect(answer).toMatchObject({
      status: 200,
      headers: jsonHeaders,
      body: { status: "denied", id: "act-1", error: { code: "no_matching_grant" } },
    });
  });

  test("and waits for a person is accepted with 202", async () => {
    const guarded = grantOf("guarded", {
      capabilities: [{ ...capability("files", ["notes"], "read"), approval: "each" }],
    });
    const { begin, get } = actWorldOf({ kernel: { acts: memoryActs(), permits: memoryPermits(), grants: [guarded] } });
    const waiting = await begin();
    expect(waiting).toMatchObject({
      status: 202,
      headers: jsonHeaders,
      body: { status: "waiting", id: "act-1", escalationId: "escalation-1" },
    });
    expect(await get("act-1?traceId=trace-1")).toStrictEqual({ ...waiting, status: 200 });
    expect(await get("act-1?executionId=trace-1")).toMatchObject({ status: 404 });
  });

  for (const { name, outcome, state } of [
    { name: "succeeded", outcome: done, state: succeeded },
    { name: "failed", outcome: broken, state: failed },
  ])
    test(`again after it ${name} is answered with its outcome, which is marked as replayed`, async () => {
      const { begin, finish } = actWorldOf();
      await begin();
      expect(await finish(outcome)).toStrictEqual({ status: 200, headers: jsonHeaders, body: state });
      const headers = { ...jsonHeaders, "idempotency-replayed": "true" };
      expect(await begin()).toStrictEqual({ status: 200, headers, body: state });
    });

  for (const { name, at, changes, answer } of [
    {
      name: "within the lease is pending, and may be tried again in a second",
      at: now,
      changes: {},
      answer: errorAnswer(409, "replay_pending", "The same request is still running.", { "retry-after": "1" }),
    },
    {
      name: "after the lease is interrupted, and there is no time to try it again",
      at: later,
      changes: {},
      answer: errorAnswer(
        409,
        "replay_interrupted",
        "This act began before, and what became of it is not stored: its effect may have happened. Find out whether it did. If it did not, begin the act under a new id.",
      ),
    },
    {
      name: "for another act is a conflict",
      at: now,
      changes: { tool: "translate" },
      answer: errorAnswer(409, "replay_conflict", "This id was used for another request."),
    },
  ])
    test(`again ${name}`, async () => {
      const world = actWorldOf();
      await world.begin();
      world.now = at;
      expect(await world.begin(changes)).toStrictEqual(answer);
    });

  for (const id of [".", ".."])
    test(`as ${id} is refused, because no URL could name it in the report of its outcome`, async () => {
      const acts = memoryActs();
      const { begin } = actWorldOf({ kernel: { acts, grants: [grantOf("notes")] } });
      const answer = errorAnswer(400, "invalid_request", "/id: expected an id that a URL can name");
      expect(await begin({ id })).toStrictEqual(answer);
      expect(await acts.find({ namespaceId: "demo", actor: agent, scope: "trace trace-1", id })).toBeUndefined();
    });
});

describe("a request that prefers to wait", () => {
  /** Asks an api that holds requests, or not, and says what it was asked. */
  const askWith = async (headers: Record<string, string>, isHeld: boolean) => {
    const seen: unknown[] = [];
    const { handler } = httpWorldOf({
      kernel: { acts: memoryActs(), grants: [grantOf("notes")] },
      api: {
        beginAct(_context, _act, options) {
          seen.push(options?.waitSeconds);
          if (isHeld) options?.onHeld?.();
          return Promise.resolve(allowed as ActState);
        },
      },
    });
    const answer = await answerOf(
      await handler(requestFor({ method: "POST", path: "/v1/acts", body: request }, { headers })),
    );
    return { seen, answer };
  };

  for (const { name, headers, isHeld, waits, applied } of [
    { name: "and was held is told so", headers: { prefer: "wait=90" }, isHeld: true, waits: 60, applied: "wait=60" },
    {
      name: "and was answered at once is told nothing",
      headers: { prefer: "wait=9" },
      isHeld: false,
      waits: 9,
      applied: undefined,
    },
  ])
    test(name, async () => {
      const { seen, answer } = await askWith(headers, isHeld);
      expect(seen).toEqual([waits]);
      expect(answer).toStrictEqual({
        status: 200,
        headers: { ...jsonHeaders, ...(applied !== undefined && { "preference-applied": applied }) },
        body: allowed,
      });
    });

  test("not at all is not held", async () => {
    expect((await askWith({}, false)).seen).toEqual([undefined]);
  });
});

describe("the outcome of an act", () => {
  test("may be said again, and another one is a conflict", async () => {
    const { begin, finish } = actWorldOf();
    await begin();
    await finish(done);
    expect(await finish(done)).toStrictEqual({ status: 200, headers: jsonHeaders, body: succeeded });
    expect(await finish(broken)).toStrictEqual(
      errorAnswer(409, "outcome_conflict", "Another outcome of this act was reported before."),
    );
  });

  test("is taken for an id that its path encodes", async () => {
    const { begin, finish } = actWorldOf();
    await begin({ id: "a/b?c ä" });
    expect(await finish(done, "a%2Fb%3Fc%20%C3%A4")).toMatchObject({
      status: 200,
      body: { status: "succeeded", id: "a/b?c ä" },
    });
  });
});

describe("where an act is", () => {
  test("is found by its trace, and only there when it began without an execution", async () => {
    const { begin, get } = actWorldOf();
    await begin();
    expect(await get("act-1?traceId=trace-1")).toStrictEqual({ status: 200, headers: jsonHeaders, body: allowed });
    expect(await get("act-1?traceId=trace-2")).toMatchObject({ status: 404 });
    expect(await get("act-1?executionId=trace-1")).toMatchObject({ status: 404 });
  });

  test("is found by its execution, which counts before a trace", async () => {
    const { begin, get } = actWorldOf();
    await begin({ executionId: "turn-1" });
    const answer = { status: 200, headers: jsonHeaders, body: allowed };
    expect(await get("act-1?executionId=turn-1")).toStrictEqual(answer);
    expect(await get("act-1?executionId=turn-1&traceId=trace-2")).toStrictEqual(answer);
    expect(await get("act-1?traceId=trace-1")).toMatchObject({ status: 404 });
  });

  for (const { name, query, message } of [
    {
      name: "neither a trace nor an execution",
      query: "",
      message: "traceId: expected the traceId or the executionId that the act began with",
    },
    {
      name: "an empty trace",
      query: "?traceId=",
      message: "traceId: expected the traceId or the executionId that the act began with",
    },
    {
      name: "an empty execution beside a trace",
      query: "?executionId=&traceId=trace-1",
      message: "traceId: expected the traceId or the executionId that the act began with",
    },
    {
      name: "two traces",
      query: "?traceId=trace-1&traceId=trace-2",
      message: "traceId: expected one value",
    },
  ])
    test(`is not said to a request with ${name}`, async () => {
      const { begin, get } = actWorldOf();
      await begin();
      expect(await get(`act-1${query}`)).toStrictEqual(errorAnswer(400, "invalid_request", message));
    });
});

describe("an id that no act has", () => {
  const tooLong = "x".repeat(257);
  const nothing = errorAnswer(404, "not_found", "There is nothing of that name or at that path.");

  for (const { name, id } of [
    { name: "because none began under it", id: "act-9" },
    { name: "because it is too long for one", id: tooLong },
    { name: "because it is white space", id: "%20" },
  ])
    test(`is not found ${name}`, async () => {
      const { begin, finish, get } = actWorldOf();
      await begin();
      expect(await get(`${id}?traceId=trace-1`)).toStrictEqual(nothing);
      expect(await finish(done, id)).toStrictEqual(nothing);
    });
});

test("a service without a store of acts has nothing at their paths", async () => {
  const { begin, finish, get } = actWorldOf({ kernel: { grants: [grantOf("notes")] } });
  const nothing = errorAnswer(404, "not_found", "There is nothing at this path.");
  expect(await begin()).toStrictEqual(nothing);
  expect(await finish(done)).toStrictEqual(nothing);
  expect(await get("act-1?traceId=trace-1")).toStrictEqual(nothing);
});
